"""Files that a command cannot read or write are named in a line, whichever command it is."""

import pytest
from conftest import invoke

from regret_envs.benchmarks.running.results import read

RUN = (
    "run",
    "--suite",
    "weighted_rps_t20",
    "--agents",
    "hedge,uniform",
    "--runs",
    2,
    "--executor",
    "local:1",
)


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    invoke(*RUN, "--results", "r.jsonl")
    return tmp_path / "r.jsonl"


@pytest.mark.parametrize(
    "command",
    [
        RUN,
        ("leaderboard",),
        ("status",),
        ("compare", "hedge", "uniform"),
        ("report",),
        ("plot",),
        ("export",),
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize(("name", "says"), [("", "it is empty"), (" ", "it is empty"), (".", "is a folder")])
def test_results_that_are_no_file(tmp_path, monkeypatch, command, name, says):
    monkeypatch.chdir(tmp_path)
    error = invoke(*command, "--results", name, code=2).stderr
    assert f"Invalid value for '--results': {says}" in error or f"'--results': . {says}" in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        ("report", "--out", "/proc/none"),
        ("plot", "--out", "/proc/none.png"),
        ("export", "--parquet", "/proc/none/x.parquet"),
        ("merge", "r.jsonl", "--out", "/proc/none"),
        (*RUN[:-4], "--results", "/proc/none/r.jsonl"),
    ],
    ids=lambda command: " ".join(map(str, command[:2])),
)
def test_what_cannot_be_written_is_named(results, command):
    pytest.importorskip("matplotlib")
    pytest.importorskip("pyarrow")
    where = ("--results", "r.jsonl") if command[0] in ("report", "plot", "export") else ()
    result = invoke(*command, *where, code=1)
    assert "/proc/none" in result.stderr and "Traceback" not in result.stderr
    assert len(read("r.jsonl").rows) > 0


def test_game_files_of_one_name_are_two_tasks(tmp_path, monkeypatch):
    """Coordination, where uniform play has a CE gap of 1/4, and a cycle, of which it is the equilibrium."""
    monkeypatch.chdir(tmp_path)
    games = {
        "a": 'NFG 1 R "coordination" { "a" "b" } { 2 2 }\n\n1 1 0 0 0 0 2 2\n',
        "b": 'NFG 1 R "cycle" { "a" "b" } { 3 3 }\n\n0 0 1 -1 -1 1 -1 1 0 0 1 -1 1 -1 -1 1 0 0\n',
    }
    for folder, text in games.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "game.nfg").write_text(text)
    args = [x for folder in games for x in ("--game", f"{folder}/game.nfg")]
    for order in (args, [args[2], args[3], args[0], args[1]]):
        invoke(
            "run", *order, "--agents", "uniform", "--runs", 1, "--executor", "local:1", "--results", "r.jsonl"
        )
    rows = [row for row in read("r.jsonl").rows if row.metric == "ce_gap"]
    last = {row.task: row.values[0] for row in rows if row.round == 1000}
    assert len(last) == 2 and all(task.startswith("game-") for task in last)
    assert sorted(last.values()) == pytest.approx([0.0, 0.25])
