import csv
import math
import sys
import types

import numpy as np
import pytest
from click.testing import CliRunner

from regret_envs.benchmarks.reproduce import command
from regret_envs.benchmarks.reproduce.checks import (
    COLUMNS,
    Check,
    Options,
    Report,
    write_checks,
    write_curves,
)


def test_a_row_with_a_bound_holds_within_it_and_one_without_only_reports():
    assert Check("f", "q", 1.0).holds == "n/a" and Check("f", "q", 1.0).accept == ""
    assert Check("f", "q", 1.0, at_most=1.0).holds == "yes"
    assert Check("f", "q", 1.1, at_most=1.0).holds == "no"
    assert Check("f", "q", 0.9, at_least=1.0).holds == "no"
    both = Check("f", "q", 0.09, at_least=0.083, at_most=0.092)
    assert both.holds == "yes" and both.accept == "0.083 to 0.092"
    assert Check("f", "q", math.nan, at_most=1.0).holds == "no"


def test_the_row_of_several_seeds_is_their_mean_with_its_standard_error():
    check = Check.of("f", "q", [1.0, 2.0, 6.0], published=4.0)
    assert (check.ours, check.published) == (3.0, 4.0)
    assert check.standard_error == pytest.approx(math.sqrt(7.0 / 3.0))
    assert Check.of("f", "q", [1.0]).standard_error is None


def test_checks_csv_has_its_columns_and_whole_numbers(tmp_path):
    path = tmp_path / "checks.csv"
    write_checks(
        path, [Check("fig4", "gap, one layer", 1 / 3, 0.0832, 0.001, at_most=0.5), Check("f", "q", 2.0)]
    )
    rows = list(csv.reader(path.open()))
    assert tuple(rows[0]) == COLUMNS
    assert rows[1] == ["fig4", "gap, one layer", "0.0832", repr(1 / 3), "0.001", "at most 0.5", "yes"]
    assert rows[2] == ["f", "q", "", "2.0", "", "", "n/a"]


def test_curves_are_columns(tmp_path):
    write_curves(tmp_path / "c.csv", {"t": [1, 2], "gap": np.array([0.5, 0.25])})
    assert (tmp_path / "c.csv").read_text() == "t,gap\n1,0.5\n2,0.25\n"
    with pytest.raises(ValueError):
        write_curves(tmp_path / "c.csv", {"t": [1, 2], "gap": [0.5]})


def room(options: Options) -> Report:
    (options.out / "drawn").touch()
    return Report([Check("toy", "one", 1.0, published=2.0, at_most=3.0)], ["a setting is ours"])


def other_room(options: Options) -> Report:
    return Report([Check("other", "quick" if options.quick else "whole", 1.0)])


def test_a_room_is_run_by_name_printed_and_written_and_all_is_what_is_entered_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(
        command,
        "REPRODUCTIONS",
        {
            "toy": command.Reproduction(f"{__name__}:room", "a toy", in_all=True),
            "other": command.Reproduction(f"{__name__}:other_room", "another"),
        },
    )
    monkeypatch.setitem(sys.modules, __name__, types.SimpleNamespace(**globals()))
    run = CliRunner().invoke(command.reproduce, ["all", "--out", str(tmp_path / "a")])
    assert run.exit_code == 0, run.output
    assert "a setting is ours" in run.output and "-1" in run.output and "at most 3" in run.output
    assert (tmp_path / "a" / "drawn").exists()
    assert [row["figure"] for row in csv.DictReader((tmp_path / "a" / "checks.csv").open())] == ["toy"]
    run = CliRunner().invoke(command.reproduce, ["other", "--quick", "--out", str(tmp_path / "b")])
    assert run.exit_code == 0 and "quick" in run.output
    assert CliRunner().invoke(command.reproduce, ["nothing"]).exit_code == 2
    assert CliRunner().invoke(command.reproduce, ["toy", "--quick", "--retrain"]).exit_code == 2


def test_a_room_whose_extra_is_missing_says_how_to_install_it(tmp_path, monkeypatch):
    room = command.Reproduction("no_such_library.room:run", "lacks something", requires="torch")
    monkeypatch.setattr(command, "REPRODUCTIONS", {"toy": room})
    run = CliRunner().invoke(command.reproduce, ["toy", "--out", str(tmp_path)])
    assert run.exit_code == 1
    assert 'no_such_library is not installed: pip install "regret-envs[torch]"' in run.output
