import csv
import math
import sys
import time
import types

import numpy as np
import pytest
from click.testing import CliRunner

from regret_envs.benchmarks.cli import reproduce as command
from regret_envs.benchmarks.cli.main import main
from regret_envs.benchmarks.reproduce.checks import (
    COLUMNS,
    Check,
    KnownMiss,
    Options,
    Reference,
    Report,
    write_checks,
    write_curves,
)
from regret_envs.benchmarks.reproduce.papers import PAPERS


def test_a_reference_is_read_as_printed():
    reference = Reference("0.0832 ± 0.0028", "arXiv 2607.23333, 3.4")
    assert (reference.value, reference.error) == (0.0832, 0.0028)
    assert reference.rounding == pytest.approx(0.00005)
    assert Reference("2.1e-4", "x").rounding == pytest.approx(0.5e-5)
    assert Reference("12", "x").rounding == 0.5 and Reference("-0.5", "x").value == -0.5
    for text in ("", "about 3", "0.1 +- 0.2", "1 ± x"):
        with pytest.raises(ValueError, match=r"as printed|float"):
            Reference(text, "x")


def test_a_bound_has_its_reason_and_can_say_no():
    def row(value, **bound):
        return Check("f", "q", value, reason="a theorem", **bound)

    assert Check("f", "q", 1.0).holds == "n/a" and Check("f", "q", 1.0).bound == ""
    assert row(1.0, at_most=1.0).holds == "yes"
    assert row(1.1, at_most=1.0).holds == row(0.9, at_least=1.0).holds == "no"
    both = row(0.09, at_least=0.083, at_most=0.092)
    assert both.holds == "yes" and both.bound == "0.083 to 0.092"
    assert row(math.nan, at_most=1.0).holds == "no"
    for settings in ({"at_most": 1.0}, {"reason": "none"}):
        with pytest.raises(ValueError, match="a bound and its reason"):
            Check("f", "q", 1.0, **settings)


@pytest.mark.parametrize(
    ("ours", "error", "lower_is_better", "holds"),
    [
        (1.05, None, False, "yes"),  # rounded to 1.0 or 1.1
        (1.35, None, False, "yes"),  # 3 published errors of 0.1 and rounding
        (1.36, None, False, "differs"),
        (0.64, None, False, "differs"),
        (0.64, None, True, "below by 3.1 errors"),
        (0.64, 0.05, True, "yes"),
        (1.36, None, True, "differs"),
        (math.nan, 0.1, True, "differs"),
    ],
)
def test_comparisons_are_two_sided(ours, error, lower_is_better, holds):
    for kind in ("published", "independent"):
        settings = {kind: Reference("1.0 ± 0.1", "x"), "lower_is_better": lower_is_better}
        assert Check("f", "q", ours, standard_error=error, **settings).holds == holds


def test_an_exact_value_is_missed_beyond_three_errors_and_rounding():
    assert Check("f", "q", 1 / 9, exact=0.1111111111).holds == "yes"
    assert Check("f", "q", 0.1111, exact=1 / 9).holds == "no"
    assert Check("f", "q", 1.29, exact=1.0, standard_error=0.1).holds == "yes"
    assert Check("f", "q", 0.69, exact=1.0, standard_error=0.1).holds == "no"
    assert Check("f", "q", math.nan, exact=1.0, standard_error=0.1).holds == "no"


def test_the_worst_of_several_comparisons_is_what_a_row_says():
    near, far = Reference("1.0", "x"), Reference("2.0", "y")
    assert Check("f", "q", 1.0, published=near, independent=near, exact=1.0).holds == "yes"
    assert Check("f", "q", 1.0, published=near, independent=far).holds == "differs"
    assert Check("f", "q", 1.0, published=far, exact=3.0).holds == "no"
    assert Check("f", "q", 1.0, published=far, independent=near, lower_is_better=True).holds == "below"


def test_a_known_miss_fails_again_when_it_moves_either_way():
    def row(ours, error=None):
        miss = KnownMiss(2.0, 0.1, "the bound was too bold")
        return Check(
            "f", "q", ours, standard_error=error, at_most=1.0, reason="a target", known_miss=miss
        ).holds

    assert row(2.0) == row(2.29) == row(1.71) == "known miss"
    assert row(2.31) == row(1.69) == row(0.9) == row(math.nan) == "no"
    assert row(2.4, error=0.1) == "known miss"
    with pytest.raises(ValueError, match="compared with nothing"):
        Check("f", "q", 1.0, known_miss=KnownMiss(1.0, 0.1, "why"))


def test_the_row_of_several_seeds_is_their_mean_with_its_standard_error():
    check = Check.of("f", "q", [1.0, 2.0, 6.0], stored=True)
    assert check.ours == 3.0 and check.stored
    assert check.standard_error == pytest.approx(math.sqrt(7.0 / 3.0))
    assert Check.of("f", "q", [1.0]).standard_error is None


def test_checks_csv_has_its_columns_and_whole_numbers(tmp_path):
    path = tmp_path / "checks.csv"
    rows = [
        Check(
            "fig4",
            "gap, one layer",
            1 / 3,
            standard_error=0.001,
            published=Reference("0.0832 ± 0.0028", "arXiv 2607.23333, 3.4"),
            independent=Reference("0.333", "prototype"),
            at_most=0.5,
            reason="a theorem",
            stored=True,
        ),
        Check("f", "q", 2.0, exact=1.0, known_miss=KnownMiss(2.0, 0.1, "why")),
    ]
    write_checks(path, rows)
    header, first, second = csv.reader(path.open())
    assert tuple(header) == COLUMNS
    assert dict(zip(header, first, strict=True)) == {
        "figure": "fig4",
        "quantity": "gap, one layer",
        "published": "0.0832",
        "published_error": "0.0028",
        "section": "arXiv 2607.23333, 3.4",
        "paper": f"arXiv 2607.23333: {PAPERS['arXiv 2607.23333']}.",
        "exact": "",
        "independent": "0.333",
        "independent_error": "",
        "implementation": "prototype",
        "ours": repr(1 / 3),
        "standard_error": "0.001",
        "stored": "stored",
        "bound": "at most 0.5",
        "reason": "a theorem",
        "known_miss": "",
        "holds": "differs",
    }
    assert second[-3:] == ["2 ± 0.1: why", "known miss", ""] and second[5] == "1.0"


def test_curves_are_columns(tmp_path):
    write_curves(tmp_path / "c.csv", {"t": [1, 2], "gap": np.array([0.5, 0.25])})
    assert (tmp_path / "c.csv").read_text() == "t,gap\n1,0.5\n2,0.25\n"
    with pytest.raises(ValueError):
        write_curves(tmp_path / "c.csv", {"t": [1, 2], "gap": [0.5]})


def room(options: Options) -> Report:
    (options.out / "drawn").touch()
    return Report(
        [
            Check(
                "toy",
                "one",
                1.0,
                published=Reference("2.0", "arXiv 2607.23333, 9"),
                at_most=3.0,
                reason="a theorem",
            )
        ],
        ["a setting is ours"],
    )


def failing_room(options: Options) -> Report:
    return Report([Check("failing", "theirs", 1.0, exact=2.0), Check("failing", "mine", 1.0)])


def other_room(options: Options) -> Report:
    return Report([Check("other", "quick" if options.quick else "whole", 1.0)])


def test_a_room_is_run_by_name_printed_and_written_and_all_is_what_is_entered_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(
        command,
        "REPRODUCTIONS",
        {
            "toy": command.Reproduction(f"{__name__}:room", "a toy", in_all=True),
            "other": command.Reproduction(f"{__name__}:other_room", "another"),
            "failing": command.Reproduction(f"{__name__}:failing_room", "a third"),
        },
    )
    monkeypatch.setitem(sys.modules, __name__, types.SimpleNamespace(**globals()))
    run = CliRunner().invoke(command.reproduce, ["all", "--out", str(tmp_path / "a")])
    assert run.exit_code == 0, run.output
    assert "a setting is ours" in run.output and "at most 3" in run.output and "differs" in run.output
    assert "Training with (Swap) Regret Loss" in " ".join(run.output.split())
    assert (tmp_path / "a" / "drawn").exists()
    assert [row["figure"] for row in csv.DictReader((tmp_path / "a" / "checks.csv").open())] == ["toy"]
    run = CliRunner().invoke(command.reproduce, ["other", "--quick", "--out", str(tmp_path / "b")])
    assert run.exit_code == 0 and "quick" in run.output
    assert CliRunner().invoke(command.reproduce, ["nothing"]).exit_code == 2
    run = CliRunner().invoke(command.reproduce, ["failing", "--out", str(tmp_path / "c")])
    assert run.exit_code == 1 and "does not hold: failing: theirs" in run.output
    assert (tmp_path / "c" / "checks.csv").exists()


def test_a_room_whose_extra_is_missing_says_how_to_install_it(tmp_path, monkeypatch):
    room = command.Reproduction("no_such_library.room:run", "lacks something", requires="torch")
    monkeypatch.setattr(command, "REPRODUCTIONS", {"toy": room})
    run = CliRunner().invoke(command.reproduce, ["toy", "--out", str(tmp_path)])
    assert run.exit_code == 1
    assert 'no_such_library is not installed: pip install "regret-envs[torch]"' in run.output


def test_without_a_terminal_a_line_a_minute_says_what_is_done(tmp_path, monkeypatch):
    def slow(options):
        options.say("counting to ten")
        time.sleep(0.3)
        return Report([Check("slow", "one", 1.0)])

    entries = {"slow": command.Reproduction(f"{__name__}:slow", "slow", in_all=True)}
    monkeypatch.setattr(command, "REPRODUCTIONS", {**entries, "again": entries["slow"]})
    monkeypatch.setitem(sys.modules, __name__, types.SimpleNamespace(slow=slow))
    monkeypatch.setattr("regret_envs.progress.LINE_SECONDS", 0.05)
    run = CliRunner().invoke(main, ["reproduce", "all", "--out", str(tmp_path)])
    assert run.exit_code == 0
    assert "again, 2 of 2, counting to ten: 0 s so far" in run.stderr
    quiet = CliRunner().invoke(main, ["reproduce", "all", "--out", str(tmp_path), "--log-level", "error"])
    assert "so far" not in quiet.stderr
