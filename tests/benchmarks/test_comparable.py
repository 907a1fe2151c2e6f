"""Only results measured on the same task and data are compared, whoever the agents are."""

import shutil

import msgspec
import pytest
from conftest import cell, invoke, regrets

from regret_envs.benchmarks.analysis.comparable import comparable
from regret_envs.benchmarks.analysis.comparison import compare
from regret_envs.benchmarks.analysis.export import export_parquet
from regret_envs.benchmarks.analysis.leaderboard import leaderboard
from regret_envs.benchmarks.analysis.standings import tournament
from regret_envs.benchmarks.running import planning, runner
from regret_envs.benchmarks.running.results import Writer, read
from regret_envs.benchmarks.running.rows import complete_cells
from regret_envs.benchmarks.tasks.core import TASKS
from regret_envs.benchmarks.tasks.game import tournament_task

SUITE = """
[[task]]
id = "mine"
world = "streams.recorded"
settings = { source = "losses.csv" }
horizon = 3
num_runs = 1
metrics = ["external_regret", "swap_regret"]
loss_scale = 1.0
summary = "three rounds"
"""
LOSSES = "0.1,0.9\n0.8,0.3\n0.2,0.7\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.toml").write_text(SUITE)
    (tmp_path / "losses.csv").write_text(LOSSES)
    return tmp_path


def run(*args, **fields):
    return invoke("run", *args, "--results", "r.jsonl", "--executor", "local:1", **fields)


def last(agent):
    """The rows of the agent in the file."""
    return [row for row in read("r.jsonl").rows if row.agent == agent]


def test_results_on_edited_data_do_not_meet(folder):
    run("--suite", "my.toml", "--agents", "hedge")
    (folder / "losses.csv").write_text("10,90\n80,30\n20,70\n")
    out = run("--suite", "my.toml", "--agents", "rm+").stdout
    assert "hedge" not in out  # it was not asked for
    day = last("hedge")[0].date
    out = invoke("leaderboard", "--results", "r.jsonl").stdout
    why = "mine: hedge was measured on other data (row of "
    assert why in out.replace("\n", " ") and day[:4] in out
    assert "run it again or pass --rerun" in out.replace("\n", " ")
    scored = invoke("leaderboard", "--results", "r.jsonl", "--format", "json").stdout
    board = msgspec.json.decode(scored)
    assert [entry["agent"] for entry in board["tasks"][0]["entries"]] == ["rm+"]
    result = invoke("compare", "hedge", "rm+", "--results", "r.jsonl", code=1)
    assert why in result.stderr and "no runs in common" in result.stderr
    # Back on the first data, what was measured then counts again, in what `run` shows.
    (folder / "losses.csv").write_text(LOSSES)
    result = run("--suite", "my.toml", "--agents", "hedge,rm+")
    assert "1 cell to run, 1 already" in result.stderr
    a, b = (last(agent)[-1].measured_on for agent in ("hedge", "rm+"))
    assert a == b != last("rm+")[0].measured_on


def test_a_suite_that_is_moved_is_the_same(folder):
    run("--suite", "my.toml", "--agents", "hedge")
    shutil.copytree(folder, folder / "elsewhere", ignore=shutil.ignore_patterns("r.jsonl*", "elsewhere"))
    text = SUITE.replace("losses.csv", str(folder / "elsewhere" / "losses.csv"))
    (folder / "my.toml").write_text(text)
    assert "0 cells to run" in run("--suite", "my.toml", "--agents", "hedge").stderr


def test_rows_of_another_engine_or_definition_are_told_apart():
    def rows(agent, **fields):
        return cell(agent, regrets(1.0, 2.0), identity=f"{agent} {fields}", **fields)

    every = [
        *rows("a", engine="jax", task_hash="j", date="2026-05-03"),
        *rows("b", task_hash="other", date="2026-05-04"),
        *rows("c", data_hash="x", date="2026-05-05"),
        *rows("old", task_hash=None, schema=1),
        *rows("x", date="2026-05-06"),
        *rows("y", date="2026-05-06"),
        *rows("stale", data_hash="x", date="2026-05-06"),
        *rows("stale", date="2026-05-07"),
    ]
    board = leaderboard(every)
    assert [entry.agent for entry in board.tasks[0].entries] == ["stale", "x", "y"]
    again = "run it again or pass --rerun"
    assert set(board.notes) == {
        "t: 1 cells from before a change of its data or definition are left out",
        f"t: a was measured on another engine, jax (row of 3 May 2026); {again}",
        f"t: b was measured on another definition of the task (row of 4 May 2026); {again}",
        f"t: c was measured on other data (row of 5 May 2026); {again}",
        f"t: old was measured on data that cannot be verified (row of an earlier version); {again}",
    }
    assert compare(every, "a", "x") == []
    assert {d.task for d in compare(every, "y", "x")} == {"t", "all"}


def test_rows_without_a_hash_meet_each_other_and_are_marked():
    old = [r for a in "ab" for r in cell(a, regrets(1.0, 2.0), task_hash=None, schema=1)]
    board = leaderboard(old)
    assert len(board.tasks[0].entries) == 2
    assert board.notes == ["data not verified on t: rows of an earlier version do not say what they are of"]


def without_hashes(rows):
    fields = {"task_hash": None, "data_hash": None, "date": None, "schema": 1}
    return [msgspec.structs.replace(row, **fields) for row in rows]


def test_rows_of_built_in_tasks_from_before_are_verified_by_their_identity():
    tasks = [TASKS["nyse_o_windows"], TASKS["weighted_rps_t20"]]
    made = [c for c in planning.plan("s", tasks, ["uniform", "hedge"], runs=2, seed=0)]
    rows = {c.agent: [] for c in made}
    for c in made:
        rows[c.agent] += runner.measure(c)
    every = [*without_hashes(rows["uniform"]), *rows["hedge"]]
    kept, notes = comparable(complete_cells(every).values())
    assert notes == [] and len(kept) == 4
    assert len({c[0].measured_on for c in kept}) == 2
    # An identity that is not that of the built-in task verifies nothing.
    every = [msgspec.structs.replace(row, identity="?") for row in without_hashes(rows["uniform"])]
    kept, notes = comparable(complete_cells([*every, *rows["hedge"]]).values())
    assert len(kept) == 2 and len(notes) == 2


def test_keys_of_built_in_tasks_stay_what_they_were():
    (made,) = planning.plan("s", [TASKS["weighted_rps_t1000"]], ["hedge"], runs=64, seed=0)
    assert (made.key, made.identity) == ("a621f2a9e678ce01", "9aad8f817cbd9b3a")


def test_pairings_on_another_game_are_left_out():
    task, _ = tournament_task("chicken", 5)
    rows = [
        row for c in planning.plan_tournament(task, ["uniform", "hedge"], runs=1, seed=0)
        for row in runner.measure(c)
    ]  # fmt: skip
    assert tournament(rows, task.id).agents == ["hedge", "uniform"]
    assert tournament(without_hashes(rows), task.id).notes == []  # verified by their identities
    other = [
        msgspec.structs.replace(row, data_hash="x", key=row.key + "x", identity=row.identity + "x")
        if "uniform" in row.seats
        else row
        for row in rows
    ]
    found = tournament([*other, *(row for row in rows if row.seats == ("hedge", "hedge"))], task.id)
    assert found.agents == ["hedge"]
    assert any("hedge against uniform" in note and "on other data" in note for note in found.notes)


def test_the_export_has_only_what_may_be_compared(tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    rows = [*cell("a", regrets(1.0), data_hash="x"), *cell("b", regrets(1.0))]
    lines, notes = export_parquet(rows, tmp_path / "x.parquet")
    assert lines == 4 and "a was measured on other data" in notes[0]
    assert {line["agent"] for line in pq.read_table(tmp_path / "x.parquet").to_pylist()} == {"b"}


@pytest.mark.parametrize("seed", [2**63, 2**64 - 1, 2**64])
def test_large_seeds_are_exported(tmp_path, seed):
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    rows = [*cell("a", regrets(1.0), seed=seed), *cell("b", regrets(1.0), seed=3)]
    export_parquet(rows, tmp_path / "x.parquet")
    found = {str(line["seed"]) for line in pq.read_table(tmp_path / "x.parquet").to_pylist()}
    assert found == {str(seed), "3"}


def test_rows_say_what_they_are_of(tmp_path):
    (made,) = planning.plan("s", [TASKS["djia"]], ["uniform"], runs=1, seed=0)
    with Writer(tmp_path / "r.jsonl") as writer:
        writer.append(runner.measure(made))
    (row, *_) = read(tmp_path / "r.jsonl").rows
    assert row.schema == 2 and row.task_hash == made.task_hash and row.data_hash == made.data
    assert row.data_hash is not None and row.date is not None


def test_a_named_agent_that_is_left_out_is_not_status_0(folder):
    with Writer("r.jsonl") as writer:
        writer.append(cell("a", regrets(1.0, 2.0), data_hash="x"))
        writer.append(cell("b", regrets(1.0, 2.0)))
    invoke("leaderboard", "--results", "r.jsonl")
    result = invoke("leaderboard", "--agents", "a,b", "--results", "r.jsonl", code=1)
    assert "a was measured on other data" in result.stdout.replace("\n", " ")
