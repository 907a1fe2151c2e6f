"""Tables of text: Markdown for files and pipes, drawn for a terminal; and the leaderboard as such."""

from __future__ import annotations

import csv
import io
import re
import shutil
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from regret_envs.agents.llm.transcripts import Exchange
from regret_envs.agents.usage import Usage
from regret_envs.benchmarks.analysis.leaderboard import (
    MARGIN,
    MARK,
    Entry,
    Estimate,
    Leaderboard,
    Score,
    ScoreTable,
    TaskTable,
)

if TYPE_CHECKING:
    from regret_envs.benchmarks.analysis.comparison import Difference
    from regret_envs.benchmarks.analysis.standings import Tournament
    from regret_envs.benchmarks.analysis.status import Progress

WIDTH = 80
_AGENT_WIDTH = 24


@dataclass(frozen=True)
class Table:
    """Cells of text under column heads.

    Attributes:
        title: above the table.
        columns: heads.
        rows: as many cells as columns.
        numbers: how many of the last columns are numbers: to the right, and never cut or wrapped.
        note: below the table.
        optional: columns that a narrow terminal leaves out, the first ones first.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: int = 0
    note: str = ""
    optional: Sequence[str] = ()


def markdown(tables: Sequence[Table]) -> str:
    """The tables in Markdown."""
    blocks = []
    for table in tables:
        widths = [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]
        left = len(widths) - table.numbers
        rule = [f"{'-' * (max(w, 3) - (i >= left))}{':' * (i >= left)}" for i, w in enumerate(widths)]
        lines = [
            "| "
            + " | ".join(
                cell.rjust(max(w, 3)) if i >= left else cell.ljust(max(w, 3))
                for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
            + " |"
            for row in (table.columns, rule, *table.rows)
        ]
        blocks.append(
            "\n".join([f"### {table.title}", "", *lines, *(["", table.note] if table.note else [])])
        )
    return "\n\n".join(blocks) + "\n"


def show(tables: Sequence[Table]) -> None:
    """Print the tables: drawn as wide as the terminal, from 80 to 140 columns; elsewhere in Markdown.

    A narrower terminal breaks the lines, which loses no digit.
    """
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(width=min(max(shutil.get_terminal_size((WIDTH, 24)).columns, WIDTH), 140))
    if not console.is_terminal:
        print(markdown(tables), end="")
        return
    for whole in tables:
        table = _fitted(whole, console.width)
        console.print(Text(table.title, style="bold"))
        drawn = RichTable(box=None, header_style="dim")
        left = len(table.columns) - table.numbers
        for i, column in enumerate(table.columns):
            number = i >= left
            drawn.add_column(
                Text(column), justify="right" if number else "left", no_wrap=number, overflow="fold"
            )
        for row in table.rows:
            drawn.add_row(*map(Text, row))
        console.print(drawn)
        if table.note:
            console.print(Text(table.note, style="dim"))
        console.print()


def _fitted(table: Table, width: int) -> Table:
    """The table without optional columns for which there is no room; its note then says so."""

    def needed(shown: Sequence[int]) -> int:
        left = len(table.columns) - table.numbers
        widths = [max(len(table.columns[i]), *(len(row[i]) for row in table.rows), 0) for i in shown]
        # Text columns are folded at most to a third of the width; columns are two blanks apart.
        return sum(
            w if i >= left else min(w, width // 3) for i, w in zip(shown, widths, strict=True)
        ) + 2 * len(shown)

    shown = list(range(len(table.columns)))
    dropped = []
    for name in table.optional:
        if name in table.columns and needed(shown) > width:
            shown.remove(list(table.columns).index(name))
            dropped.append(name)
    if not dropped:
        return table
    line = f"{', '.join(dropped)}: no room for it in {width} columns."
    return replace(
        table,
        columns=[table.columns[i] for i in shown],
        rows=[[row[i] for i in shown] for row in table.rows],
        numbers=table.numbers - len(dropped),
        note="\n".join([*([table.note] if table.note else []), line]),
    )


def print_as(format_: str, content: Any, tables: Sequence[Table]) -> None:
    """Print `content` as "json", or the tables as "csv" (each under its own heads), "md" or "table"."""
    if format_ == "json":
        import msgspec

        print(msgspec.json.format(msgspec.json.encode(content), indent=2).decode())
    elif format_ == "csv":
        for table in tables:
            lines = [table.columns, *table.rows]
            csv.writer(sys.stdout, lineterminator="\n").writerows([map(csv_cell, line) for line in lines])
    elif format_ == "md":
        print(markdown(tables), end="")
    else:
        show(tables)


def csv_cell(value: Any) -> Any:
    """A cell of a CSV file; text that spreadsheets would take for a formula has an apostrophe in front."""
    if isinstance(value, str) and value[:1] in _FORMULA and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?( ± \d+(\.\d+)?(e[+-]?\d+)?)?")


def number(value: float) -> str:
    """Five significant digits, or all before the point."""
    return f"{value:.0f}" if abs(value) >= 1e5 else f"{value:.5g}"


def mean_and_error(e: Estimate) -> str:
    """mean ± standard error, the error with two significant digits; the mean alone of a single run."""
    if e.standard_error is None:
        return number(e.mean)
    if e.standard_error <= 1e-9 * abs(e.mean):
        return f"{number(e.mean)} ± 0"
    decimals = int(np.clip(1 - np.floor(np.log10(e.standard_error)), 0, 6))
    return f"{e.mean:z.{decimals}f} ± {e.standard_error:.{decimals}f}"


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
    """A table a task and, last, the scores over tasks with the notes below.

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
    note += [f"{_headed(t.metric, t.higher_is_better)}: {line}" for t in board.overall for line in _lines(t)]
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
        ["#", "agent", *(_headed(m, m in task.higher_is_better) for m in columns[:shown])],
        rows,
        numbers=shown,
    )


def _headed(metric: str, higher_is_better: bool) -> str:
    """A metric's name, with an arrow in the direction that is better."""
    return f"{metric.replace('_', ' ')} {'↑' if higher_is_better else '↓'}"


def is_own(agent: str) -> bool:
    """Whether a spec names the user's own code or weights ("module:Class", "checkpoint:folder")."""
    return ":" in agent.partition("[")[0]


def shown_agent(agent: str) -> str:
    """A spec for tables: the user's own agents have a star."""
    return f"{agent} *" if is_own(agent) else agent


def _score_table(table: ScoreTable, columns: Sequence[str], marked: Collection[str]) -> Table:
    partial = {p.agent for p in table.partial}
    shown = [s for s in table.scores if s.agent not in partial]
    rows = [[_rank(s, marked), shown_agent(s.agent), *(SCORE_COLUMNS[c](s) for c in columns)] for s in shown]
    count = len(table.common_tasks)
    heads = ["#", "agent", *(_HEADS.get(c, c) for c in columns)]
    title = f"{_headed(table.metric, table.higher_is_better)}: scores over {count} task{'s' * (count != 1)}"
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
    """One line a task, agent and metric, numbers whole; the scores with how many tasks for the task."""
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


def compare_table(found: Sequence[Difference], first: str, second: str, margin: float = MARGIN) -> Table:
    """A line a task and metric."""
    rows = [
        [
            d.task,
            _headed(d.metric, d.higher_is_better),
            str(d.num_runs),
            mean_and_error(Estimate(d.difference, d.standard_error, d.num_runs)),
            "–" if d.p is None else f"{d.p:.2g}",
            {first: "first", second: "second", None: "="}[d.better],
            f"{d.improvement.estimate:.2f}",
        ]
        for d in found
    ]
    columns = ["task", "metric", "runs", "difference", "p", "better", "P(first)"]
    return Table(
        f"{first} (first) and {second} (second)", columns, rows, numbers=5, note=_compare_note(margin)
    )


def _compare_note(margin: float) -> str:
    return (
        "On the runs that both played. difference: first − second ± standard error; ↓ lower is better, ↑ "
        "higher. p: paired t-test, over tasks with Holm's correction; – where one run, or copies of one, "
        "leave nothing to test. better: at 5 %, by the mean where there is no test; = where the test cannot "
        f"tell them apart or they differ by at most the equivalence margin, {100 * margin:g} % of the "
        "normalization (p is then 1). P(first): the chance that a run of the first is better than one of the "
        "second, runs within the margin count as half. all: the normalized metric over the tasks."
    )


def progress_table(what: str, lines: Sequence[Progress]) -> Table:
    """A line a task or agent."""
    rows = [[x.name, *map(str, (x.cells, x.ok, x.not_applicable, x.failed, x.missing))] for x in lines]
    columns = [what, "cells", "done", "n/a", "failed", "missing"]
    return Table(f"Cells by {what}", columns, rows, numbers=5)


def usage_table(used: Mapping[str, Usage]) -> Table:
    """One row for each agent."""
    columns = [
        "agent",
        "decisions",
        "fallbacks",
        "malformed",
        "requests",
        "retries",
        "tokens in",
        "tokens out",
        "seconds",
        "cost",
    ]
    rows = [
        [
            agent,
            f"{usage.decisions:,}",
            f"{usage.fallbacks:,}",
            f"{usage.malformed:,}",
            f"{usage.requests:,}",
            f"{usage.retries:,}",
            f"{usage.prompt_tokens:,}",
            f"{usage.completion_tokens:,}",
            f"{usage.seconds:,.0f}",
            "–" if usage.cost is None else f"{usage.cost:,.2f}",
        ]
        for agent, usage in used.items()
    ]
    note = (
        "What producing these results took, whether now or earlier (from the cache). Fallbacks: decisions "
        "that uniform play took the place of, since no answer could be read."
    )
    return Table("Used", columns, rows, numbers=len(columns) - 1, note=note)


def example_table(used: Mapping[str, Usage]) -> Table:
    """Answers from which no policy could be read, some for each agent."""
    rows = [[agent, example] for agent, usage in used.items() for example in usage.examples]
    return Table("Answers that could not be used", ["agent", "what was wrong, and the answer"], rows)


def transcript_table(name: str, rounds: Sequence[Exchange]) -> Table:
    """One run's conversation: rounds as rows, what was asked, said, played and lost."""
    rows = [
        [
            str(exchange.round),
            exchange.messages[1]["content"] if len(exchange.messages) > 1 else "",
            "\n".join(exchange.answers) + ("\n(played uniform)" if exchange.fallback else ""),
            _by_name(exchange.policy),
            _by_name(exchange.losses),
        ]
        for exchange in rounds
    ]
    return Table(f"Transcript {name}", ["round", "asked", "said", "played", "lost"], rows)


def _by_name(values: Mapping[str, float]) -> str:
    return "\n".join(f"{name} {number(value)}" for name, value in values.items())


def tournament_tables(found: Tournament, *, pairings: bool = False) -> list[Table]:
    """The ranking, the payoff matrix of at most 12 agents, and every pairing if asked."""
    rows = [
        [
            str(s.rank),
            s.agent,
            mean_and_error(Estimate(s.mean_payoff, s.error, 1)),
            f"{s.nash:z.3f}",
            f"{s.nash_payoff:z.4f}",
        ]
        for s in found.standings
    ]
    columns = ["#", "agent", "mean payoff", "nash", "payoff to nash"]
    note = f"{_TOURNAMENT_NOTE} #: shared by agents within {found.margin:.3g}, the equivalence margin."
    tables = [Table(f"{found.task}: ranking", columns, rows, numbers=3, note=note)]
    order = [found.agents.index(s.agent) for s in found.standings]
    if len(order) <= 12:
        payoffs = found.payoffs()[np.ix_(order, order)]
        rows = [
            [str(i + 1), found.agents[a], *(f"{x:z.3f}" for x in payoffs[i])] for i, a in enumerate(order)
        ]
        heads = ["", "agent in seat 0", *(str(i + 1) for i in range(len(order)))]
        tables.append(Table("Payoff to seat 0, by row; seat 1 by column", heads, rows, numbers=len(order)))
    if pairings:
        rows = [
            [
                p.row,
                p.column,
                *(mean_and_error(Estimate(p.payoff[i], p.payoff_error[i], p.num_runs)) for i in (0, 1)),
                *(number(x) for x in (*p.external_regret, *p.swap_regret, p.cce_gap, p.ce_gap)),
            ]
            for p in found.pairings
        ]
        heads = ["seat 0", "seat 1", "payoff 0", "payoff 1", "regret 0", "regret 1"]
        heads += ["swap 0", "swap 1", "cce gap", "ce gap"]
        tables.append(Table("Pairings", heads, rows, numbers=8))
    return tables


_TOURNAMENT_NOTE = (
    "mean payoff: a round, over all opponents and both seats. nash: weight in the maximum-entropy "
    "equilibrium of the game of choosing an agent, which pays half of what one gets more than the "
    "opponent; payoff to nash: against that equilibrium, at most 0."
)
