"""The leaderboard as tables of text and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from regret_envs.benchmarks.analysis.board import (
    MARGIN,
    MARK,
    Entry,
    Leaderboard,
    Score,
    ScoreTable,
    TaskTable,
)
from regret_envs.benchmarks.analysis.tables import WIDTH, Table, csv_cell, headed, mean_and_error, shown_agent

_AGENT_WIDTH = 24

SCORE_COLUMNS: dict[str, Callable[[Score], str]] = {
    "score": lambda s: "–" if s.score is None else f"{s.score:z.4f}",
    "interval": lambda s: "–" if s.low is None else f"[{s.low:z.4f}, {s.high:z.4f}]",
    "mean_rank": lambda s: "–" if s.mean_rank is None else f"{s.mean_rank:.2f}",
    "iqm": lambda s: "–" if s.iqm is None else f"{s.iqm:z.4f}",
    "iqm_interval": lambda s: "–" if s.iqm_low is None else f"[{s.iqm_low:z.4f}, {s.iqm_high:z.4f}]",
    "worst": lambda s: "–" if s.worst is None else f"{s.worst:z.3f}",
    "worst_task": lambda s: s.worst_task or "–",
    "runs": lambda s: str(s.num_runs),
    "n/a": lambda s: str(s.not_applicable),
    "failed": lambda s: str(s.failed),
}
"""What the table of scores can show, by name."""


_DEFAULT_COLUMNS = ("score", "interval", "mean_rank", "iqm", "worst", "worst_task", "n/a", "failed")


_HEADS = {
    "interval": "95 % interval",
    "iqm": "IQM",
    "iqm_interval": "95 % of IQM",
    "mean_rank": "mean rank",
    "worst_task": "on task",
}


def leaderboard_tables(board: Leaderboard, columns: Sequence[str] = ()) -> list[Table]:
    """One table per task and, last, the scores over tasks with the notes below.

    Args:
        board: the leaderboard.
        columns: metrics to show of the tasks and `SCORE_COLUMNS` of the scores; none of a kind: as
            many metrics as fit in 80 columns, and all but the interval of the interquartile mean.
    """
    shown = [c for c in columns if c in SCORE_COLUMNS] or _DEFAULT_COLUMNS
    metrics = [c for c in columns if c not in SCORE_COLUMNS]
    # Where the scores count the tasks that an agent does not play, their tables leave it out.
    marked = board.fallbacks
    tables = [_task_table(t, metrics, show_na=not board.overall, marked=marked) for t in board.tasks]
    tables += [_score_table(t, shown, marked) for t in board.overall]
    if not tables:
        return []
    margins = {t.margin for t in board.overall}
    note = [*([_SCORE_NOTE] if board.overall else []), rank_note(*margins)]
    if any("*" in row[1] for table in tables for row in table.rows):
        note.append("*: an agent of your own.")
    note += [f"{headed(t.metric, t.higher_is_better)}: {line}" for t in board.overall for line in _lines(t)]
    note += board.notes
    return [*tables[:-1], replace(tables[-1], note="\n".join(note))]


def _task_table(task: TaskTable, metrics: Sequence[str], *, show_na: bool, marked: Collection[str]) -> Table:
    """The metrics, or as many as fit beside the agents, at least the first."""
    columns = [m for m in metrics if m in task.metrics] or task.metrics
    entries = [e for e in task.entries if show_na or e.status != "n/a"]
    entries = entries or task.entries
    texts = [[mean_and_error(e.estimates[m]) if e.estimates else e.status for m in columns] for e in entries]
    room = WIDTH - len("|  #   |") - min(max(len(e.agent) for e in entries), _AGENT_WIDTH) - len("  |")
    shown = 0
    for i, metric in enumerate(columns):
        room -= max(len(metric), *(len(row[i]) for row in texts)) + len("  |")
        if i and room < 0 and not metrics:
            break
        shown += 1
    rows = [[_rank(e, marked), shown_agent(e.agent), *t[:shown]] for e, t in zip(entries, texts, strict=True)]
    runs = sorted({e.num_runs for entry in entries for e in entry.estimates.values()})
    count = " or ".join(map(str, runs)) + (" run" if runs == [1] else " runs")
    return Table(
        f"{task.task} (version {task.version}): T = {task.horizon}, {count}",
        ["#", "agent", *(headed(m, m in task.higher_is_better) for m in columns[:shown])],
        rows,
        numbers=shown,
    )


def _score_table(table: ScoreTable, columns: Sequence[str], marked: Collection[str]) -> Table:
    partial = {p.agent for p in table.partial}
    shown = [s for s in table.scores if s.agent not in partial]
    rows = [[_rank(s, marked), shown_agent(s.agent), *(SCORE_COLUMNS[c](s) for c in columns)] for s in shown]
    count = len(table.common_tasks)
    heads = ["#", "agent", *(_HEADS.get(c, c) for c in columns)]
    title = f"{headed(table.metric, table.higher_is_better)}: scores over {count} task{'s' * (count != 1)}"
    optional = ("on task", "worst", "IQM", "mean rank")
    return Table(title, heads, rows, numbers=len(columns), optional=optional)


def _lines(table: ScoreTable) -> list[str]:
    """A line for each agent that plays little, and why there are no scores."""
    lines = [
        f"{shown_agent(p.agent)} finished {len(p.tasks)} of {p.num_tasks} tasks ({', '.join(p.tasks)}), "
        f"mean {p.mean:z.4f}"
        for p in table.partial
    ]
    return [*([table.reason] if table.reason else []), *lines]


def _rank(e: Entry | Score, marked: Collection[str]) -> str:
    rank = "–" if e.rank is None else f"{e.rank}{' ~' * e.overlaps}"
    return f"{rank} {MARK}" if e.agent in marked and e.rank is not None else rank


_SCORE_NOTE = (
    "score: the mean, over the tasks that all agents with a score have in common, of the normalized metric: "
    "a regret (a gap times T) divided by loss_scale · sqrt(T ln d / 2), 0 at d = 1; below 0 is better than "
    "the best fixed choice in hindsight. ↓ lower is better, ↑ higher. A few tasks on which agents differ a "
    "lot can decide the mean; mean rank counts only who is better on how many tasks. Interval: 95 %, "
    "bootstrap over runs. IQM: the mean of the middle half of all runs. worst: the worst task's score. n/a, "
    "failed: tasks that the agent does not play, or failed in."
)


def rank_note(margin: float = MARGIN) -> str:
    """What decides a rank."""
    return (
        "#: agents share a rank if a paired test on common runs cannot tell them apart (5 %, Holm's "
        f"correction) or they differ by at most the equivalence margin, {100 * margin:g} % of the "
        "normalization; ~: the 95 % interval meets a neighbor's."
    )


_CSV_COLUMNS = (
    *("task", "version", "horizon", "rank", "overlaps", "agent", "status", "metric", "mean"),
    *("standard_error", "runs", "low", "high", "iqm", "iqm_low", "iqm_high", "mean_rank"),
    *("worst_task", "worst"),
)


def leaderboard_csv(board: Leaderboard) -> str:
    """One line per task, agent and metric, with all digits; a score has the number of tasks for its task."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")

    def write(line: Sequence[Any]) -> None:
        writer.writerow(map(csv_cell, line))

    write(_CSV_COLUMNS)
    for task in board.tasks:
        for e in task.entries:
            where = [task.task, task.version, task.horizon, e.rank, e.overlaps, e.agent, e.status]
            for metric, x in e.estimates.items():
                write([*where, metric, x.mean, x.standard_error, x.num_runs, *[None] * 8])
            if not e.estimates:
                write([*where, *[None] * 12])
    for table in board.overall:
        for s in table.scores:
            status = "ok" if s.score is not None else "no score"
            count = len(table.common_tasks)
            where = [f"{count} task{'s' * (count != 1)}", None, None, s.rank, s.overlaps, s.agent, status]
            more = [s.low, s.high, s.iqm, s.iqm_low, s.iqm_high, s.mean_rank, s.worst_task, s.worst]
            write([*where, f"normalized {table.metric}", s.score, None, s.num_runs, *more])
    return out.getvalue()
