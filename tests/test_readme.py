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
            assert text.strip() == printed.strip()
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
