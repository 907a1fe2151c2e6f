"""What the shell completes."""

import os
import subprocess
import sys

import pytest
from click.shell_completion import BashComplete

from regret_envs.agents.catalogue import AGENTS
from regret_envs.benchmarks.cli.main import main
from regret_envs.benchmarks.cli.reproduce import REPRODUCTIONS
from regret_envs.benchmarks.tasks.core import SUITES, TASKS


def completed(*words):
    *before, last = words
    items = BashComplete(main, {}, "regret-envs", "_REGRET_ENVS_COMPLETE").get_completions(before, last)
    return [item.value for item in items if item.type == "plain"]


def test_everything_with_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in (["run", "--agents"], ["check"], ["compare"], ["compare", "hedge"], ["plot", "--agents"]):
        assert set(completed(*command, "")) >= set(AGENTS)
    for command in (["run", "--suite"], ["status", "--suite"], ["list"]):
        assert set(completed(*command, "")) >= {*SUITES, *TASKS}
    assert set(completed("leaderboard", "--tasks", "")) >= set(TASKS)
    assert set(completed("reproduce", "")) == {*REPRODUCTIONS, "all"}
    assert completed("leaderboard", "--metric", "nash") == ["nash_conv"]
    assert completed("list", "env") == ["environments"]
    assert "inspect" in completed("")


def test_the_last_of_several_names():
    assert completed("run", "--agents", "rm+,mine:Mine,unifo") == ["rm+,mine:Mine,uniform"]
    assert completed("run", "--suite", "core,shap") == [f"core,{id}" for id in TASKS if id.startswith("shap")]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("run", "--suite", "mi"), {"mine.toml", "minority_n51_t1000"}),
        (("run", "--game", "mi"), {"mine.toml", "mine.nfg", "minority"}),
        (("run", "--game", "games/"), {"games/a.nfg"}),
        (("run", "--game", "ga"), {"games/"}),
        (("run", "--suite", "core,mi"), {"core,mine.toml", "core,minority_n51_t1000"}),
        (("run", "--suite", "nowhere/"), set()),
    ],
)
def test_files(tmp_path, monkeypatch, words, found):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "games").mkdir()
    for name in ("mine.toml", "mine.nfg", "mine.txt", "games/a.nfg", "games/b.txt"):
        (tmp_path / name).write_text("")
    assert set(completed(*words)) == found


def test_results_are_completed_as_files():
    complete = BashComplete(main, {}, "regret-envs", "_REGRET_ENVS_COMPLETE")
    for command in ("run", "leaderboard"):
        (item,) = complete.get_completions([command, "--results"], "mi")
        assert (item.type, item.value) == ("file", "mi")


def test_what_the_shell_asks(tmp_path):
    words = "regret-envs run --agents hedge,ada"
    asked = {"_REGRET_ENVS_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "3"}
    program = "from regret_envs.benchmarks.cli.main import main; main(prog_name='regret-envs')"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, check=True, cwd=tmp_path, env={**os.environ, **asked},
    )  # fmt: skip
    assert "plain,hedge,adahedge" in done.stdout.splitlines()
