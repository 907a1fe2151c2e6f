import csv
import io

import msgspec
import numpy as np
import pytest
from conftest import cell, regrets
from scipy.stats import trim_mean

from regret_envs.benchmarks.analysis import tables
from regret_envs.benchmarks.analysis.board import Estimate
from regret_envs.benchmarks.analysis.board_tables import leaderboard_csv, leaderboard_tables
from regret_envs.benchmarks.analysis.comparison import compare
from regret_envs.benchmarks.analysis.leaderboard import estimate, leaderboard
from regret_envs.metrics.catalog import regret_unit
from regret_envs.names import UnknownNameError


def test_mean_and_standard_error_of_known_values():
    assert estimate([1, 2, 3, 4]) == Estimate(2.5, pytest.approx(np.sqrt(5 / 3) / 2), 4)
    assert estimate([7.0]) == Estimate(7.0, None, 1)


def test_a_task_table_by_hand():
    rows = [
        *cell("b", regrets(1, 2, 3, 4)),
        *cell("a", regrets(5, 5), block=1),
        *cell("a", regrets(1, 1), block=0),
        *cell("c", {}, status="n/a"),
    ]
    (table,) = leaderboard(rows).tasks
    assert (table.task, table.version, table.horizon) == ("t", 1, 50)
    assert table.metrics == ("external_regret", "swap_regret")
    assert [(e.agent, e.rank, e.status) for e in table.entries] == [
        ("b", 1, "ok"),
        ("a", 1, "ok"),
        ("c", None, "n/a"),
    ]
    assert table.entries[0].estimates["swap_regret"] == Estimate(5.0, pytest.approx(np.sqrt(5 / 3)), 4)
    # Blocks and seeds are put together.
    assert table.entries[1].estimates["external_regret"] == Estimate(3.0, pytest.approx(4 / np.sqrt(12)), 4)
    assert table.entries[2].message == "why"


def test_scores_are_the_means_of_normalized_regrets_over_the_common_tasks():
    u = {"a": regret_unit(2.0, 50, 3), "b": regret_unit(0.5, 200, 8)}
    assert u["a"] == 2 * np.sqrt(50 * np.log(3) / 2)
    other = {"task": "b", "loss_scale": 0.5, "num_actions": 8, "rounds": (200,)}
    rows = [
        *cell("x", regrets(1.0, 3.0), task="a"),
        *cell("x", regrets(5.0), **other),
        *cell("y", regrets(4.0, 4.0), task="a"),
        *cell("y", regrets(1.0), **other),
        *cell("x", regrets(100.0), task="only x"),
        *cell("z", {}, task="a", status="n/a"),
        *cell("z", {}, status="failed", **other),
    ]
    external, swap = leaderboard(rows).overall
    assert (external.metric, swap.metric) == ("external_regret", "swap_regret")
    assert external.common_tasks == ["a", "b"]
    scores = {s.agent: s for s in external.scores}
    assert scores["x"].score == pytest.approx((2 / u["a"] + 5 / u["b"]) / 2, rel=1e-12)
    assert scores["y"].score == pytest.approx((4 / u["a"] + 1 / u["b"]) / 2, rel=1e-12)
    # One run more of each would tell them apart; with one degree of freedom nothing does.
    assert [s.agent for s in external.scores] == ["y", "x", "z"]
    assert scores["y"].rank == scores["x"].rank == 1
    assert (scores["z"].rank, scores["z"].score) == (None, None)
    assert (scores["z"].not_applicable, scores["z"].failed) == (1, 1)
    assert leaderboard(rows).notes == ["z: n/a (why) on a", "z: failed on b"]
    assert {s.agent: s.score for s in swap.scores}["x"] == pytest.approx(2 * scores["x"].score)
    # y's runs are copies of one, x's differ by 2 in one task of two.
    assert scores["y"].low is scores["y"].high is None
    assert scores["x"].high - scores["x"].low == pytest.approx(2 / u["a"] / 2)


def test_an_agent_that_plays_little_does_not_leave_little_to_the_others():
    tasks = ["a", "b", "c"]
    rows = [row for agent in "xy" for t in tasks for row in cell(agent, regrets(1.0, 2.0), task=t)]
    rows += [*cell("z", regrets(3.0, 4.0), task="b"), *cell("z", {}, task="a", status="n/a")]
    board = leaderboard(rows, metric="external_regret")
    (table,) = board.overall
    assert table.common_tasks == tasks
    scores = {s.agent: s for s in table.scores}
    assert (scores["z"].score, scores["z"].rank, scores["z"].not_applicable) == (None, None, 1)
    assert scores["x"].num_runs == 6
    (partial,) = table.partial
    assert (partial.agent, partial.tasks, partial.num_tasks) == ("z", ["b"], 3)
    assert partial.mean == pytest.approx(3.5 / regret_unit(2.0, 50, 3))
    *_, shown = leaderboard_tables(board)
    assert [row[1] for row in shown.rows] == ["x", "y"]
    assert "z finished 1 of 3 tasks (b), mean 0.3" in shown.note
    lines = list(csv.DictReader(io.StringIO(leaderboard_csv(board))))
    assert [x["task"] for x in lines if x["metric"] == "normalized external_regret"] == ["3 tasks"] * 3


def test_agents_of_one_reason_share_a_line():
    rows = [row for t in "ab" for agent in "xy" for row in cell(agent, {}, task=t, status="n/a")]
    rows += [row for t in "ab" for row in cell("z", regrets(1.0), task=t)]
    rows += [row for agent in "vw" for row in cell(agent, {}, task="a", status="failed")]
    notes = leaderboard(rows).notes
    assert sorted(notes) == ["v, w: failed on a", "x, y: n/a (why) on all tasks"]


def test_a_gap_is_made_a_regret_before_it_is_normalized():
    rows = cell("x", {"cce_gap": (0.1, 0.3), "external_regret": (5.0, 15.0)})
    (by_gap,) = leaderboard(rows, metric="cce_gap").overall
    (by_regret,) = leaderboard(rows, metric="external_regret").overall
    assert (
        by_gap.scores[0].score
        == pytest.approx(by_regret.scores[0].score)
        == pytest.approx(10 / regret_unit(2, 50, 3))
    )


def test_one_action_scores_zero():
    (external, _) = leaderboard(cell("x", regrets(0.0, 0.0), num_actions=1)).overall
    assert external.scores[0].score == 0


def test_an_agent_that_failed_in_a_block_has_no_score_there():
    rows = [
        *cell("x", regrets(1.0, 2.0)),
        *cell("x", {}, status="failed", block=1),
        *cell("y", regrets(1.0, 2.0)),
    ]
    board = leaderboard(rows)
    assert [(e.agent, e.status) for e in board.tasks[0].entries] == [("y", "ok"), ("x", "failed")]
    assert [(s.agent, s.rank, s.failed) for s in board.overall[0].scores] == [("y", 1, 0), ("x", None, 1)]


def test_task_versions_never_mix():
    rows = [
        *cell("x", regrets(1.0), task_version=2, identity="x2"),
        *cell("x", regrets(50.0), task_version=1, identity="x1"),
        *cell("y", regrets(9.0), task_version=1, identity="y1"),
    ]
    board = leaderboard(rows)
    assert board.tasks[0].version == 2
    assert [e.agent for e in board.tasks[0].entries] == ["x"]
    assert board.tasks[0].entries[0].estimates["external_regret"].mean == 1.0
    assert board.notes == ["t: 2 cells of versions before 2 are left out"]


def test_results_of_an_edited_agent_do_not_mix_with_those_from_before():
    old = [*cell("x", regrets(1.0), identity="old"), *cell("x", regrets(1.0), identity="old", block=1)]
    board = leaderboard([*old, *cell("x", regrets(3.0, 4.0), identity="new")])
    assert board.tasks[0].entries[0].estimates["external_regret"].mean == 3.5
    assert board.notes == ["x: 2 cells from before a change are left out"]


def test_a_block_that_was_run_with_more_runs_counts_once():
    short, long = cell("x", regrets(1.0)), cell("x", regrets(1.0, 2.0))
    for rows in ([*short, *long], [*long, *short]):
        assert leaderboard(rows).tasks[0].entries[0].estimates["external_regret"].num_runs == 2


def test_the_order_of_cells_does_not_show():
    rng = np.random.default_rng(0)
    cells = [
        cell(agent, regrets(*rng.random(5)), task=task, block=block)
        for agent in "xyz"
        for task in ("a", "b")
        for block in (0, 1)
    ]
    board = leaderboard([row for c in cells for row in c])
    for _ in range(5):
        order = rng.permutation(len(cells))
        assert leaderboard([row for i in order for row in cells[i]]) == board
    backwards = leaderboard([row for c in cells for row in c], tasks=["b", "a"])
    assert [t.task for t in backwards.tasks] == ["b", "a"] and backwards.overall == board.overall


def test_filters():
    rows = [*cell("x", regrets(1.0), task="a"), *cell("y", regrets(2.0), task="a"), *cell("x", regrets(3.0))]
    board = leaderboard(rows, tasks=["a"], agents=["y"])
    assert [(t.task, [e.agent for e in t.entries]) for t in board.tasks] == [("a", ["y"])]


@pytest.mark.parametrize(
    "chosen", [{"tasks": ["a", "aa"]}, {"agents": ["x", "hegde"]}, {"metric": "external_regrets"}]
)
def test_a_name_that_no_row_has_is_no_empty_table(chosen):
    rows = [*cell("x", regrets(1.0), task="a"), *cell("y", regrets(2.0), task="a")]
    with pytest.raises(UnknownNameError, match="in the results"):
        leaderboard(rows, **chosen)
    with pytest.raises(UnknownNameError, match="in the results"):
        compare(rows, *chosen.pop("agents", ["x", "y"]), **chosen)


def test_agents_that_cannot_be_told_apart_share_a_rank():
    rng = np.random.default_rng(0)
    base = rng.normal(5.0, 3.0, 64)
    # On common runs a shift of 0.3 shows, though each mean is uncertain by 0.4.
    agents = {"a": base, "b": base + rng.normal(0.3, 0.2, 64), "c": rng.normal(5.2, 3.0, 64), "d": base + 20}
    board = leaderboard([row for a, x in agents.items() for row in cell(a, regrets(*x))])
    (external, _), (table,) = board.overall, board.tasks
    told_apart = leaderboard([row for a in "abd" for row in cell(a, regrets(*agents[a]))])
    assert {e.agent: e.rank for e in told_apart.tasks[0].entries} == {"a": 1, "b": 2, "d": 3}
    assert {s.agent: s.rank for s in told_apart.overall[0].scores} == {"a": 1, "b": 2, "d": 3}
    ranks = {e.agent: e.rank for e in table.entries}
    assert ranks["c"] == ranks[table.entries[0].agent] == 1 and ranks["d"] == 4
    # The intervals of a, b and c meet one another's, that of d no other.
    for entries in (table.entries, external.scores):
        assert {e.agent: e.overlaps for e in entries} == {"a": True, "b": True, "c": True, "d": False}


def test_runs_are_paired_by_seed_and_number_whatever_their_order():
    rng = np.random.default_rng(0)
    x, y = rng.normal(0, 5, 40), rng.normal(0, 5, 40)
    rows = [
        *cell("a", regrets(*x), seed=1),
        *cell("a", regrets(*y), seed=2),
        *cell("b", regrets(*(y + 0.1 + 0.01 * x)), seed=2),
        *cell("b", regrets(*(x + 0.1 + 0.01 * y)), seed=1),
    ]
    assert [e.rank for e in leaderboard(rows).tasks[0].entries] == [1, 2]


def test_one_run_and_no_test():
    board = leaderboard(
        [*cell("a", regrets(1.0)), *cell("b", regrets(2.0)), *cell("c", regrets(1.0 + 1e-12))]
    )
    assert [(e.agent, e.rank, e.overlaps) for e in board.tasks[0].entries] == [
        ("a", 1, False),
        ("c", 1, False),
        ("b", 3, False),
    ]
    assert [(s.rank, s.low) for s in board.overall[0].scores] == [(1, None), (1, None), (3, None)]


def test_the_interquartile_mean_and_on_request_its_interval():
    x = [np.arange(20.0), np.arange(20.0) ** 2]
    rows = [*cell("a", regrets(*x[0]), task="s"), *cell("a", regrets(*x[1]), task="t")]
    score = leaderboard(rows, iqm_intervals=True).overall[0].scores[0]
    expected = trim_mean(np.concatenate(x) / regret_unit(2.0, 50, 3), 0.25)
    assert score.iqm == pytest.approx(expected, rel=1e-12)
    assert score.iqm_low < expected < score.iqm_high and score.num_runs == 40
    without = leaderboard(rows).overall[0].scores[0]
    assert (without.iqm, without.iqm_low, without.iqm_high) == (score.iqm, None, None)


@pytest.mark.parametrize(
    ("mean", "error", "text"),
    [
        (7.0213, 0.0524, "7.021 ± 0.052"),
        (1234.567, 12.3, "1235 ± 12"),
        (-828.52, 0.995, "-828.52 ± 0.99"),
        (0.10405243, None, "0.10405"),
        (0.5, 0.0, "0.5 ± 0"),
        (3.0, 1e-17, "3 ± 0"),
        (0.0, None, "0"),
        (123456.0, None, "123456"),
    ],
)
def test_numbers_as_text(mean, error, text):
    assert tables.mean_and_error(Estimate(mean, error, 2 if error is not None else 1)) == text


def test_csv_and_json_hold_every_digit():
    board = leaderboard([*cell("x[a=1,b=2]", regrets(0.1, 1 / 3)), *cell("y", {}, status="failed")])
    lines = list(csv.DictReader(io.StringIO(leaderboard_csv(board))))
    first = lines[0]
    assert (first["task"], first["agent"], first["metric"]) == ("t", "x[a=1,b=2]", "external_regret")
    assert float(first["mean"]) == np.mean([0.1, 1 / 3]) and first["runs"] == "2"
    assert [line["status"] for line in lines if line["agent"] == "y"] == ["failed", "no score", "no score"]
    assert msgspec.json.decode(msgspec.json.encode(board), type=type(board)) == board


def test_markdown():
    table = tables.Table(
        "Title", ["agent", "score"], [["a", "1"], ["long name", "22.5"]], numbers=1, note="Note."
    )
    assert tables.markdown([table]) == (
        "### Title\n\n"
        "| agent     | score |\n"
        "| --------- | ----: |\n"
        "| a         |     1 |\n"
        "| long name |  22.5 |\n\n"
        "Note.\n"
    )


def test_nothing_in_common_and_nothing_at_all():
    assert leaderboard([]).tasks == []
    board = leaderboard([*cell("x", regrets(1.0), task="a"), *cell("y", regrets(1.0), task="b")])
    assert board.overall[0].common_tasks == []
    assert all(s.score is None for s in board.overall[0].scores)
    text = tables.markdown(leaderboard_tables(board))
    assert "no task was finished by all agents: x has no result on b; y has no result on a" in text


def test_a_task_table_leaves_out_who_does_not_play_it_where_scores_count_that():
    rows = [*cell("b", regrets(1, 2)), *cell("c", {}, status="n/a")]
    board = leaderboard(rows)
    task, score, *_ = leaderboard_tables(board)
    assert [row[1] for row in task.rows] == ["b"] and [row[1] for row in score.rows] == ["b", "c"]
    (task,) = leaderboard_tables(msgspec.structs.replace(board, overall=[]))
    assert [row[1] for row in task.rows] == ["b", "c"]


def test_more_is_better_where_the_metric_says_so():
    rng = np.random.default_rng(0)
    base = rng.uniform(0.4, 0.6, 40)
    agents = {"good": base + 0.3, "middle": base + 0.1, "bad": base}
    rows = [row for a, x in agents.items() for row in cell(a, {"efficiency": x})]
    board = leaderboard(rows)
    (table,), (scores,) = board.tasks, board.overall
    assert [(e.agent, e.rank) for e in table.entries] == [("good", 1), ("middle", 2), ("bad", 3)]
    assert [(s.agent, s.rank, s.mean_rank) for s in scores.scores] == [
        ("good", 1, 1.0),
        ("middle", 2, 2.0),
        ("bad", 3, 3.0),
    ]
    assert scores.scores[0].score == pytest.approx(base.mean() + 0.3)  # a share is its own score
    assert table.higher_is_better == ("efficiency",) and scores.higher_is_better
    assert "efficiency ↑" in tables.markdown(leaderboard_tables(board))


def test_the_direction_of_a_plug_ins_metric_is_read_from_its_rows():
    facts = {"higher_is_better": True, "unit": "boats", "normalize": "loss"}
    rows = [*cell("a", {"harbor": (1.0, 2.0)}, **facts), *cell("b", {"harbor": (5.0, 7.0)}, **facts)]
    board = leaderboard(rows)
    assert [e.agent for e in board.tasks[0].entries] == ["b", "a"]
    assert board.overall[0].scores[0].score == pytest.approx(6.0 / 2.0)  # over the range of the losses


def test_no_rank_is_decided_by_rounding():
    rng = np.random.default_rng(0)
    x = rng.normal(5.0, 1.0, 64)
    unit = regret_unit(2.0, 50, 3)
    near, far = x + 1e-8, x + 0.002 * unit
    rows = [row for a, v in (("x", x), ("near", near), ("far", far)) for row in cell(a, regrets(*v))]
    for board, ranks in (
        (leaderboard(rows, metric="external_regret"), [1, 1, 3]),
        (leaderboard(rows, metric="external_regret", margin=0.01), [1, 1, 1]),
        (leaderboard(rows, metric="external_regret", margin=0.0), [1, 2, 3]),
    ):
        assert [e.rank for e in board.tasks[0].entries] == ranks
        assert [s.rank for s in board.overall[0].scores] == ranks
        assert f"{board.overall[0].margin * 100:g} % of the normalization" in tables.markdown(
            leaderboard_tables(board)
        )
    scores = {s.agent: s.mean_rank for s in leaderboard(rows, metric="external_regret").overall[0].scores}
    assert scores == {"x": 1.5, "near": 1.5, "far": 3.0}
    for margin in (-0.1, np.nan, np.inf):
        with pytest.raises(ValueError, match="equivalence margin"):
            leaderboard(rows, margin=margin)


def test_copies_are_one_observation():
    rows = [*cell("a", regrets(*[1.0] * 64)), *cell("b", regrets(*[1.5] * 64))]
    board = leaderboard(rows)
    assert [(e.agent, e.rank) for e in board.tasks[0].entries] == [("a", 1), ("b", 2)]
    assert all(x.standard_error is None for e in board.tasks[0].entries for x in e.estimates.values())
    assert all((s.low, s.high) == (None, None) for s in board.overall[0].scores)


def test_the_worst_task_and_the_mean_rank_stand_beside_the_mean():
    # a is far ahead on one task and slightly behind on two: first by the mean, second by mean rank.
    rows = []
    for task, a, b in (("s", -50.0, 0.0), ("t", 4.0, 3.0), ("u", 6.0, 2.0)):
        rows += [*cell("a", regrets(a, a + 1), task=task), *cell("b", regrets(b, b + 1), task=task)]
    first, second = leaderboard(rows, metric="external_regret").overall[0].scores
    assert (first.agent, second.agent) == ("a", "b")
    assert (first.mean_rank, second.mean_rank) == (pytest.approx(5 / 3), pytest.approx(4 / 3))
    assert (first.worst_task, second.worst_task) == ("u", "t")
    assert first.worst == pytest.approx(6.5 / regret_unit(2.0, 50, 3))


def test_own_agents_are_marked():
    rows = [*cell("mine:Mine[a=1]", regrets(1.0, 2.0)), *cell("hedge[step_size=0.1]", regrets(3.0, 4.0))]
    text = tables.markdown(leaderboard_tables(leaderboard(rows)))
    assert "mine:Mine[a=1] *" in text and "hedge[step_size=0.1] *" not in text and "your own" in text
