"""Everything in the README is run: its Python, its commands, and the output that it shows."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()
BLOCKS = re.findall(r"^(?:<!-- run with: (\w+) -->\n)?```(\w+)\n(.*?)^```$", README, flags=re.M | re.S)
COMMANDS = [text.strip() for _, language, text in BLOCKS if language == "sh"]


def shell(command, folder):
    """Run a command as a reader would, in `folder`; what it printed."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


NUMBER = r"-?\d+(?:\.\d+)?"


def rows_of(text):
    """The lines of a printed answer, tables without their order and padding: who is where may be chance."""
    lines = [re.sub(r" +", " ", line) for line in text.strip().splitlines()]
    lines = [re.sub("-{3,}:?", "---", line) for line in lines]
    return sorted(re.sub(r"^\| (\d+|–)( ~)? \|", "| # |", line) for line in lines)


def assert_same_answer(shown, printed):
    """The same tables, agents and words; means within four standard errors, and intervals that meet."""
    words = [[re.sub(NUMBER, "0", row) for row in rows_of(text)] for text in (shown, printed)]
    assert sorted(words[0]) == sorted(words[1])
    for ours, theirs in zip(*map(by_agent, (shown, printed)), strict=True):
        for (a, e), (b, f) in zip(ours[1], theirs[1], strict=True):
            assert abs(a - b) <= 4 * (e**2 + f**2) ** 0.5, (ours, theirs)
        for (low, high), (other_low, other_high) in zip(ours[2], theirs[2], strict=True):
            assert low <= other_high and other_low <= high, (ours, theirs)


def by_agent(text):
    """Per table and agent: its means with their errors, and its intervals."""
    found = []
    table = ""
    for line in text.splitlines():
        table = line if line.startswith("#") else table
        if line.startswith("|"):
            means = re.findall(rf"({NUMBER}) ± ({NUMBER})", line)
            intervals = re.findall(rf"\[({NUMBER}), ({NUMBER})\]", line)
            pairs = [[tuple(map(float, pair)) for pair in x] for x in (means, intervals)]
            if any(pairs):
                found.append(((table.partition(":")[0], line.split("|")[2].strip()), *pairs))
    return sorted(found)


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
    commands = 0
    printed = ""
    for needs, language, text in BLOCKS:
        if needs and importlib.util.find_spec(needs) is None:
            continue  # tests/rl runs it where the library is
        if language == "python":
            name = re.match(r"# (\w+\.py)\n", text)
            file = tmp_path / (name[1] if name else "block.py")
            file.write_text(text)
            shell(f"python {file.name}", tmp_path)
        elif language == "sh":
            commands += 1
            if commands > 2:
                printed = shell(text, tmp_path)
        elif language == "text":
            assert_same_answer(text, printed)
        else:
            pytest.fail(f"no rule for a block in {language}")


def test_the_constants_in_the_first_example():
    from regret_envs import games, simulate
    from regret_envs.agents import BlumMansour

    play = simulate(games.weighted_rps(), [BlumMansour(), BlumMansour()], horizon=20)
    assert play.gaps().ce.max == pytest.approx([0.0617213], abs=1e-7)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#]+)\)", README))))
def test_links_lead_somewhere(target):
    assert (Path(__file__).parents[1] / target).exists()
