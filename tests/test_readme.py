"""Everything in the README is run: its Python, its commands, and the output that it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from snippets import assert_same_answer, run_page, snippets

README = (Path(__file__).parents[1] / "README.md").read_text()
COMMANDS = [snippet.text.strip() for snippet in snippets(README) if snippet.language == "sh"]


def test_an_answer_is_told_from_another():
    shown = "### t: T\n\n| # | agent | x |\n| --- | --- | --: |\n| 1 ~ | a | 1.0 ± 0.1 |\n| 2 | b | [0, 1] |"
    assert_same_answer(shown, shown.replace("1.0 ±", "1.3 ±").replace("[0, 1]", "[0.5, 2]"))
    for old, new in (("1.0 ±", "1.7 ±"), ("| a |", "| c |"), ("[0, 1]", "[2, 3]"), ("agent", "name")):
        with pytest.raises(AssertionError):
            assert_same_answer(shown, shown.replace(old, new))


def test_the_first_two_commands_install_and_run_and_test():
    # Continuous integration runs these two lines in a fresh virtual environment.
    install = r"pip install -c constraints\.txt -e \S+ && "
    assert re.fullmatch(install + "regret-envs run", COMMANDS[0])
    assert re.fullmatch(install + "pytest -n 2", COMMANDS[1])


def test_the_readme_runs_from_top_to_bottom(tmp_path):
    # What needs a library that is not here is run by tests/rl where it is.
    run_page(README, tmp_path, skip_commands=2)


def test_the_constants_in_the_first_example():
    from regret_envs import games, simulate
    from regret_envs.agents import BlumMansour

    play = simulate(games.weighted_rps(), [BlumMansour(), BlumMansour()], horizon=20)
    assert play.gaps().ce.max == pytest.approx([0.0617213], abs=1e-7)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\((?!https:)([^)#]+)(?:#[^)]*)?\)", README))))
def test_links_lead_somewhere(target):
    assert (Path(__file__).parents[1] / target).exists()
