from collections import Counter

from conftest import cell, invoke, regrets

from regret_envs.benchmarks.analysis.status import (
    Asked,
    CellCounts,
    asked_for,
    count_cells,
    planned_states,
    states_of_rows,
)
from regret_envs.benchmarks.running import planning, runner
from regret_envs.benchmarks.running.rows import complete_cells
from regret_envs.benchmarks.tasks.core import TASKS


def test_what_a_file_was_made_for():
    rows = [
        *cell("hedge", regrets(1.0, 2.0), task="free", seed=3, block=1, suite="one"),
        *cell("ftl", regrets(1.0, 2.0), task="fixed", seed=0, suite="one"),
        *cell("ftl", regrets(*range(22)), task="fixed", seed=0, suite="two"),
    ]
    assert asked_for(rows, {"fixed"}) == [
        Asked("two", ("ftl",), 22, 0),
        Asked("one", ("hedge", "ftl"), 66, 3),
    ]


def test_counts_by_task_and_by_agent():
    tasks = [TASKS["weighted_rps_t20"], TASKS["biased_gaussian_d3_t20"]]
    cells = planning.plan("s", tasks, ["hedge", "ftl"], runs=70, seed=0)
    assert Counter(c.task.id for c in cells) == {"weighted_rps_t20": 2, "biased_gaussian_d3_t20": 4}
    done = complete_cells([row for c in cells if c.agent == "hedge" for row in runner.measure(c)])
    failed = next(c for c in cells if c.agent == "ftl" and c.block == 1)
    done[failed.key] = [runner.failed_row(failed, "why")]
    asked = Asked("s", ("hedge", "ftl"), 70, 0)
    by_task, by_agent = count_cells(planned_states(asked, tasks, done).values())
    assert set(by_agent) == {
        CellCounts("hedge", 3, 3, 0, 0, 0),
        CellCounts("ftl", 3, 0, 0, 1, 2),
        CellCounts("all", 6, 3, 0, 1, 2),
    }
    assert by_task[-1] == by_agent[-1] and by_task[0].name == "biased_gaussian_d3_t20"


def test_what_is_known_from_rows_alone():
    rows = [
        *cell("hedge", regrets(1.0, 2.0), task="game"),
        *cell("hedge", regrets(1.0, 2.0), task="game", block=1),
        *cell("m:Mine", regrets(1.0, 2.0), task="game"),
        *cell("m:Mine", {}, status="failed", task="other"),
    ]
    states = states_of_rows({"game", "other"}, ["hedge", "m:Mine"], complete_cells(rows))
    assert set(states.values()) == {
        ("game", "hedge", "ok"),
        ("game", "m:Mine", "ok"),
        ("game", "m:Mine", "missing"),
        ("other", "hedge", "missing"),
        ("other", "m:Mine", "failed"),
    }


def test_a_custom_agent_on_a_built_in_task_is_counted_without_being_imported():
    asked = Asked("s", ("nowhere:Mine",), 70, 0)
    rows = cell("nowhere:Mine", regrets(*range(64)), task="biased_gaussian_d3_t20")
    states = planned_states(asked, [TASKS["biased_gaussian_d3_t20"]], complete_cells(rows))
    assert Counter(state for _, _, state in states.values()) == {"ok": 1, "missing": 1}


def test_status_and_leaderboard_know_games_from_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "game.nfg").write_text('NFG 1 R "two" { "a" "b" } { 2 2 }\n\n1 1 0 0 0 0 1 1\n')
    invoke("run", "--game", "game.nfg", "--agents", "uniform", "--runs", 1, "--executor", "local:1")
    (tmp_path / "game.nfg").unlink()
    assert "|     1 |    1 |   0 |      0 |       0 |" in invoke("status").stdout
    assert "uniform" in invoke("leaderboard", "--suite", "game").stdout
    assert "uniform" in invoke("leaderboard", "--tasks", "game").stdout
    assert "|     1 |    1 |" in invoke("status", "--suite", "game").stdout
