"""Figures over tasks: the score of every agent, and performance profiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from regret_envs.benchmarks.analysis import statistics
from regret_envs.benchmarks.analysis.board import Leaderboard, ScoreTable
from regret_envs.benchmarks.analysis.leaderboard import leaderboard
from regret_envs.benchmarks.analysis.tables import is_own, shown_agent
from regret_envs.benchmarks.analysis.task_results import task_results
from regret_envs.benchmarks.plotting.looks import (
    GRAY,
    MOST_AGENTS,
    gray_note,
    in_lines,
    in_style,
    look,
    on_axes,
    outside_legend,
    shown_and_others,
    write_caption,
)
from regret_envs.benchmarks.running.rows import Row
from regret_envs.names import lookup

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@in_style
def scores(
    rows: Iterable[Row] | Leaderboard,
    metric: str | None = None,
    *,
    tasks: Sequence[str] | None = None,
    agents: Sequence[str] | None = None,
    scale: Literal["auto", "linear", "symlog"] = "auto",
    axes: Axes | None = None,
    caption: bool = True,
) -> Axes:
    """Every agent's score with its 95 % interval, best first, and beside it the mean rank.

    Args:
        rows: result rows, or their leaderboard.
        metric: the metric of the scores; None: the leaderboard's first.
        tasks, agents: which; None: all. Of rows alone, a leaderboard has its own.
        scale: of the scores. "auto": linear, or symlog where the largest is over ten times the median.
        axes: where to draw; None: a new figure, as tall as it has agents.
        caption: whether to write what the marks are.

    Raises:
        ValueError: if the agents have no task in common; says why.
        UnknownNameError: if there are no scores in that metric.
    """
    board = (
        rows
        if isinstance(rows, Leaderboard)
        else leaderboard(rows, metric=metric, tasks=tasks, agents=agents)
    )
    table = _table(board, metric)
    scored = [s for s in table.scores if s.score is not None]
    if not scored:
        raise ValueError(f"there are no scores to draw: {table.reason or 'there are no results'}")
    labels = [label(s.agent) for s in scored]
    # A label of several lines takes the room of as many agents.
    lines = np.array([text.count("\n") + 1 for text in labels])
    places = np.cumsum(lines) - (lines + 1) / 2
    axes = on_axes(axes, (6.4, 1.3 + 0.19 * lines.sum()))
    for place, s in zip(places, scored, strict=True):
        assert s.score is not None
        error = None if s.low is None or s.high is None else [[s.score - s.low], [s.high - s.score]]
        line = look(s.agent).line(linestyle="none", markersize=5, elinewidth=1.6)
        axes.errorbar(s.score, place, xerr=error, zorder=3, gid=f"agent {s.agent}", **line)
        rank = "" if s.mean_rank is None else f"{s.mean_rank:.1f}"
        axes.text(1.03, place, rank, transform=axes.get_yaxis_transform(), va="center", fontsize=8)
    axes.text(
        1.03,
        -0.9,
        "mean rank",
        transform=axes.get_yaxis_transform(),
        va="center",
        fontsize=8,
        color="#555555",
    )
    axes.set_yticks(places, labels)
    for written, s in zip(axes.get_yticklabels(), scored, strict=True):
        written.set_fontweight("bold" if is_own(s.agent) else "normal")
    axes.set_ylim(lines.sum() - 0.5, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.axvline(0, color="#888888", linewidth=0.6, zorder=1)
    sizes = np.abs([s.score or 0.0 for s in scored])
    if scale == "symlog" or (scale == "auto" and sizes.max() > 10 * np.median(sizes) > 0):
        axes.set_xscale("symlog", linthresh=1.0)
        low, high = min(s.score or 0.0 for s in scored), max(s.score or 0.0 for s in scored)
        ticks = [t for t in (-100, -30, -10, -3, -1, 0, 1, 3, 10, 30, 100) if low - 2 < t < 1.5 * high + 1]
        axes.set_xticks(ticks, [f"{t}".replace("-", "−") for t in ticks])
        axes.minorticks_off()
    count = len(table.common_tasks)
    title = table.metric.replace("_", " ")
    axes.set_xlabel(f"normalized {title} ({'higher' if table.higher_is_better else 'lower'} is better)")
    if caption:
        write_caption(axes, _score_notes(table, count))
    return axes


def label(agent: str) -> str:
    """A spec beside an axis: in lines of at most 34 characters, own agents with a star."""
    return in_lines(shown_agent(agent))


def _table(board: Leaderboard, metric: str | None) -> ScoreTable:
    tables = {table.metric: table for table in board.overall}
    if not tables:
        raise ValueError("there are no scores to draw: the rows hold no results of a task")
    return next(iter(tables.values())) if metric is None else lookup("metric of the scores", metric, tables)


def _score_notes(table: ScoreTable, count: int) -> list[str]:
    lines = [
        f"Mean over {count} task{'s' * (count != 1)} of the metric divided by its normalization (a regret by "
        "ρ √(T ln d / 2)), with a 95 % bootstrap interval over runs. Mean rank: over the tasks, 1 is best."
    ]
    partial = [p.agent for p in table.partial]
    if partial:
        lines.append(
            f"Without a score, since they finished less than half of the tasks: {', '.join(partial)}."
        )
    left = [s.agent for s in table.scores if s.score is None and s.agent not in partial]
    return [*lines, *([f"Without a score: {', '.join(left)}."] if left else [])]


@in_style
def profile(
    rows: Iterable[Row],
    metric: str | None = None,
    *,
    tasks: Sequence[str] | None = None,
    agents: Sequence[str] | None = None,
    most: int = MOST_AGENTS,
    axes: Axes | None = None,
    legend: bool = True,
    caption: bool = True,
) -> Axes:
    """Performance profiles: the share of runs, averaged over tasks, that score τ or better.

    The higher the curve the better (Dolan and Moré 2002; Agarwal et al. 2021).

    Args:
        rows: result rows.
        metric: the metric of the scores; None: the leaderboard's first.
        tasks, agents: which; None: all.
        most: so many agents have a color; the others are gray, and the caption names them.
        axes: where to draw; None: a new figure.
        legend, caption: whether to write them.

    Raises:
        ValueError: if the agents have no task in common; says why.
        UnknownNameError: if there are no scores in that metric.
    """
    rows = list(rows)
    board = leaderboard(rows, metric=metric, tasks=tasks, agents=agents)
    table = _table(board, metric)
    names = [s.agent for s in table.scores if s.score is not None]
    if not names:
        raise ValueError(f"there is no profile to draw: {table.reason or 'there are no results'}")
    results = [r for r in task_results(rows, tasks=tasks, agents=agents)[0] if r.task in table.common_tasks]
    sign = results[0].metric(table.metric).sign
    samples = {a: [r.normalized(r.values(a, table.metric), table.metric) for r in results] for a in names}
    shown, others = shown_and_others(names, most)
    every = np.concatenate([x for a in shown for x in samples[a]])
    low, high = np.quantile(every, [0.01, 0.99])
    thresholds = np.linspace(low, high, 300)
    axes = on_axes(axes, (6.4, 3.6))
    for agent in [*others, *shown]:
        share = statistics.performance_profile([sign * x for x in samples[agent]], sign * thresholds)
        if agent in others:
            axes.plot(thresholds, share, color=GRAY, linewidth=0.8, gid=f"agent {agent}")
        else:
            line = look(agent).line(marker="", drawstyle="steps-post")
            axes.plot(thresholds, share, label=agent, gid=f"agent {agent}", **line)
    axes.set_xlabel(f"τ, normalized {results[0].metric(table.metric).title}")
    axes.set_ylabel(f"share of runs at {'most' if sign > 0 else 'least'} τ")
    axes.set_ylim(-0.02, 1.02)
    axes.margins(x=0)
    if legend:
        outside_legend(axes)
    if caption:
        count = len(results)
        note = f"Averaged over {count} task{'s' * (count != 1)}; the higher the curve, the better."
        write_caption(
            axes, [f"{note} τ from the 1st to the 99th percentile of all scores.", *gray_note(others)]
        )
    return axes
