"""What the report says: its tables, figures and sentences, as data for the templates."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import PackageNotFoundError, version

from markupsafe import Markup

from regret_envs.benchmarks.analysis.board import ScoreTable
from regret_envs.benchmarks.analysis.tables import Table, is_own
from regret_envs.benchmarks.running.rows import Row, complete_cells
from regret_envs.metrics import METRICS

TERMS: Mapping[str, str] = {
    "#": (
        "the rank, shared by agents that a paired test on common runs cannot tell apart; ~: its interval "
        "meets a neighbor's; †: over 1 % of its decisions are uniform play in place of a missing answer"
    ),
    "agent": "the agent's name, with its settings in brackets; * marks agents of your own",
    "score": (
        "the mean over the tasks of the normalized metric: a regret (a gap times T) over "
        "ρ √(T ln d / 2), about what the best algorithms guarantee. Below 0 is better than the best fixed "
        "choice in hindsight"
    ),
    "95 % interval": "of the score, by a bootstrap over the runs of every task",
    "mean rank": (
        "the agent's rank on a task, averaged over the tasks; 1 is best. No single task can decide it, as a "
        "few can decide the mean"
    ),
    "IQM": "interquartile mean: the mean of the middle half of all runs, which extreme runs do not move",
    "95 % of IQM": "a bootstrap interval of the interquartile mean",
    "worst": "the score on the agent's worst task",
    "on task": "that task",
    "runs": "independent runs",
    "n/a": "tasks that the agent does not play, for instance since it needs other feedback",
    "failed": "tasks on which the agent raised an error or played no policy",
    "mean payoff": "per round, over all opponents and both seats",
    "nash": "the agent's weight in the maximum-entropy equilibrium of the game of choosing an agent",
    "payoff to nash": "the agent's payoff against that equilibrium, at most 0",
    "T": "rounds",
    "d": "the number of actions, the largest over players",
    "best": "the agent with the lowest value of the task's first metric, or the highest where ↑ says so",
}  # fmt: skip
"""What the heads of columns stand for."""


def meaning(head: str) -> str:
    """What a column's head stands for; empty if it speaks for itself."""
    if head in TERMS:
        return TERMS[head]
    metric = METRICS.get(head.rstrip(" ↓↑").replace(" ", "_"))
    if metric is None:
        return ""
    better = "higher" if metric.higher_is_better else "lower"
    return f"{metric.summary} ({metric.unit}); {better} is better"


@dataclass(frozen=True)
class Line:
    """A row of a grid: its cells, whether it is of the user's own agent, and what its first name links to."""

    cells: Sequence[str]
    own: bool = False
    link: str = ""


@dataclass(frozen=True)
class Grid:
    """A table of the page.

    Attributes:
        name: its id.
        title: the caption.
        heads: of the columns.
        lines: the rows.
        left: how many of the first columns are text.
        folded: rows that stand in a table of their own, folded away.
        fold: what those are.
        notes: paragraphs below.
        terms: what the heads stand for.
        talk: whether line breaks in cells count.
    """

    name: str
    title: str
    heads: Sequence[str]
    lines: Sequence[Line]
    left: int
    folded: Sequence[Line] = ()
    fold: str = ""
    notes: Sequence[str] = ()
    terms: Sequence[tuple[str, str]] = ()
    talk: bool = False


def grid(
    name: str,
    table: Table,
    *,
    agent: int | None = None,
    fold: Callable[[Sequence[str]], bool] = lambda cells: cells[0] == "–",
    what: str = "without a rank",
    notes: bool = False,
    links: Mapping[str, str] | None = None,
    talk: bool = False,
) -> Grid:
    """A grid of a table of text.

    Args:
        name: its id.
        table: the table.
        agent: the column of the agent's spec; None: there is none.
        fold: which rows are folded away.
        what: what those have in common.
        notes: whether the table's note stands below.
        links: what the first column's cells link to.
        talk: whether line breaks in cells count.
    """
    lines = [
        Line(
            cells,
            agent is not None and is_own(cells[agent].removesuffix(" *")),
            (links or {}).get(cells[0], ""),
        )
        for cells in table.rows
    ]
    # Where every row would be folded away, none is.
    folded = [line for line in lines if fold(line.cells)]
    folded = folded if len(folded) < len(lines) else []
    return Grid(
        name=name,
        title=table.title,
        heads=table.columns,
        lines=[line for line in lines if line not in folded],
        left=len(table.columns) - table.numbers,
        folded=folded,
        fold=f"{len(folded)} more {what}",
        notes=[line for line in table.note.split("\n") if line] if notes else [],
        terms=[(head, meaning(head)) for head in table.columns if meaning(head)],
        talk=talk,
    )


@dataclass(frozen=True)
class Picture:
    """A figure of the page: the SVG element and the caption below."""

    svg: Markup
    caption: str


@dataclass(frozen=True)
class Key:
    """An entry of a legend: an agent's name, how its line looks, and whether the line is drawn at first."""

    agent: str
    color: str
    dashes: str
    shown: bool
    own: bool


@dataclass(frozen=True)
class ScoreSection:
    """The scores in one metric."""

    title: str
    pictures: Sequence[Picture]
    grid: Grid | None
    reason: str = ""


@dataclass(frozen=True)
class TaskSection:
    """A task: curves with their keys, other figures, and the table."""

    id: str
    name: str
    summary: str
    facts: str
    curves: Sequence[Picture]
    keys: Sequence[Key]
    others: Sequence[Picture]
    grid: Grid


@dataclass(frozen=True)
class Content:
    """Everything on the page."""

    title: str
    answer: Sequence[str]
    scores: Sequence[ScoreSection] = ()
    index: Grid | None = None
    tasks: Sequence[TaskSection] = ()
    tournaments: Sequence[tuple[Grid, Picture]] = ()
    language: Sequence[Grid] = ()
    run: Sequence[Grid] = ()
    left_out: Sequence[str] = ()
    terms: Mapping[str, str] = field(default_factory=lambda: TERMS)


def answers(tables: Sequence[ScoreTable]) -> list[str]:
    """For each metric of the scores: who is best, by how much, and where the user's agents stand."""
    sentences = []
    for table in tables:
        scored = [s for s in table.scores if s.score is not None]
        metric = table.metric.replace("_", " ")
        if not scored:
            sentences.append(f"There are no scores in {metric}: {table.reason or 'there are no results'}.")
            continue
        first = [s.agent for s in scored if s.rank == 1]
        low, high = scored[0].low, scored[0].high
        interval = (
            "" if low is None or high is None else f" (95 % interval {_number(low)} to {_number(high)})"
        )
        count, tasks = len(scored), len(table.common_tasks)
        best = f"{first[0]} has the {'highest' if table.higher_is_better else 'lowest'} normalized {metric}"
        over = (
            f"of {count} agents on {tasks} task{'s' * (tasks != 1)}" if count > 1 else f"on {tasks} task(s)"
        )
        sentence = f"{best} {over}: {_number(scored[0].score or 0.0)}{interval}."
        if len(first) > 1:
            sentence += f" A test cannot tell {_listed(first[1:])} apart from it."
        by_rank = min(scored, key=lambda s: s.mean_rank or float("inf"))
        if by_rank.agent != first[0] and by_rank.mean_rank is not None:
            sentence += f" By mean rank, {by_rank.agent} leads with {by_rank.mean_rank:.1f}."
        for s in scored:
            if is_own(s.agent) and s.agent != first[0]:
                sentence += f" Your {s.agent} has rank {s.rank} with {_number(s.score or 0.0)}."
        sentences.append(sentence)
    return sentences


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _number(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")


def never(cells: Sequence[str]) -> bool:
    """Of a grid in which no line is folded away."""
    return False


def run_facts(rows: list[Row]) -> list[Grid]:
    """Where the rows and the report come from, and the cells that failed."""
    cells = list(complete_cells(rows).values())
    failed = [c[0] for c in cells if c[0].status == "failed"]
    facts = {
        "cells": f"{len(cells)}, of which {len(failed)} failed",
        "suites": ", ".join(sorted({c[0].suite for c in cells})),
        "seeds": ", ".join(map(str, sorted({c[0].seed for c in cells}))),
        "agents": ", ".join(sorted({c[0].agent for c in cells})),
        "measured with": "regret-envs " + ", ".join(sorted({c[0].code_version for c in cells})),
        "report made with": ", ".join(
            [
                f"Python {platform.python_version()}",
                *map(_version, ("numpy", "scipy", "matplotlib", "jinja2")),
            ]
        ),
        "report made on": f"{platform.platform()}, {os.cpu_count()} cores, {date.today()}",
    }
    made = Table("Versions, seeds and machine", ["what", "value"], list(map(list, facts.items())))
    found = [grid("made", made, fold=never)]
    if failed:
        lines = [[c.agent, c.task, str(c.seed), str(c.block), c.reason] for c in failed]
        table = Table("Failures", ["agent", "task", "seed", "block", "why"], lines)
        found.append(grid("failures", table, agent=0, fold=never))
    return found


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} –"
