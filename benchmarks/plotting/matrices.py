"""Heat maps: the payoffs of a tournament, or the scores of agents by task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.analysis.leaderboard import leaderboard
from regret_envs.benchmarks.analysis.standings import Tournament, tournament
from regret_envs.benchmarks.analysis.task_results import task_results
from regret_envs.benchmarks.plotting.looks import figure_of, in_style, on_axes, power, write_caption
from regret_envs.benchmarks.running.rows import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NUMBERS = 24
"""With more rows or columns, the cells have colors alone."""


@in_style
def heatmap(
    rows: Iterable[Row] | Tournament,
    metric: str | None = None,
    *,
    task: str | None = None,
    tasks: Sequence[str] | None = None,
    agents: Sequence[str] | None = None,
    axes: Axes | None = None,
    caption: bool = True,
) -> Axes:
    """The payoffs of a tournament, or how every agent does on every task, best first.

    Args:
        rows: result rows, or a tournament.
        metric: of the scores by task; None: the leaderboard's first.
        task: a tournament's, such as "tournament_chicken_t1000", for its payoffs; None: scores by task.
        tasks, agents: which; None: all.
        axes: where to draw; None: a new figure that holds all names whole.
        caption: whether to write what is drawn.

    Raises:
        ValueError: if there is nothing to draw; says why.
    """
    if isinstance(rows, Tournament):
        return _payoffs(rows, axes, caption)
    if task is not None:
        return _payoffs(tournament(rows, task, agents), axes, caption)
    return _scores(list(rows), metric, tasks, agents, axes, caption)


def _payoffs(found: Tournament, axes: Axes | None, caption: bool) -> Axes:
    if not found.agents:
        raise ValueError(
            f"the rows hold no pairings of {found.task}: {'; '.join(found.notes) or 'none are there'}"
        )
    order = [found.agents.index(s.agent) for s in found.standings]
    values = found.payoffs()[np.ix_(order, order)]
    names = [found.agents[i] for i in order]
    axes = _draw(values, names, names, "payoff to seat 0", axes, linear=True)
    axes.set_xlabel("agent in seat 1")
    axes.set_ylabel("agent in seat 0")
    axes.set_title(found.task)
    if caption:
        write_caption(
            axes, ["Mean payoff per round to seat 0; agents by mean payoff over both seats, best first."]
        )
    return axes


def _scores(
    rows: list[Row],
    metric: str | None,
    tasks: Sequence[str] | None,
    agents: Sequence[str] | None,
    axes: Axes | None,
    caption: bool,
) -> Axes:
    board = leaderboard(rows, metric=metric, tasks=tasks, agents=agents)
    if not board.overall:
        raise ValueError("there are no scores to draw: the rows hold no results of a task")
    table = board.overall[0]
    results = [r for r in task_results(rows, tasks=tasks, agents=agents)[0] if table.metric in r.metrics]
    names = [s.agent for s in table.scores if any(r.status(s.agent) == "ok" for r in results)]
    if not names:
        raise ValueError(f"there are no scores to draw: {table.reason or 'no agent finished a task'}")
    values = np.full((len(names), len(results)), np.nan)
    for j, r in enumerate(results):
        for i, agent in enumerate(names):
            if r.status(agent) == "ok":
                values[i, j] = r.normalized(r.values(agent, table.metric), table.metric).mean()
    title = f"normalized {table.metric.replace('_', ' ')}"
    axes = _draw(values, names, [r.task for r in results], title, axes, reverse=not table.higher_is_better)
    axes.set_xlabel("task")
    if caption:
        lines = ["Agents by their score over the tasks that all have in common, best first."]
        if np.isnan(values).any():
            lines.append("Gray: not played.")
        write_caption(axes, lines)
    return axes


def _draw(
    values: FloatArray,
    rows: Sequence[str],
    columns: Sequence[str],
    label: str,
    axes: Axes | None,
    *,
    linear: bool = False,
    reverse: bool = False,
) -> Axes:
    """Cells with their numbers; colors diverge from 0 and reach over all values."""
    import matplotlib
    from matplotlib.colors import Normalize, SymLogNorm

    height, width = values.shape
    longest = max(map(len, columns)), max(map(len, rows))
    new = axes is None
    axes = on_axes(axes, (1.6 + 0.075 * longest[1] + 0.45 * width, 1.0 + 0.07 * longest[0] + 0.24 * height))
    most = float(np.nanmax(np.abs(values))) or 1.0
    norm: Normalize = Normalize(-most, most)
    if not linear and most > 10 * float(np.nanmedian(np.abs(values))):
        norm = SymLogNorm(1.0, vmin=-most, vmax=most)
    colors: Any = matplotlib.colormaps["RdBu_r" if reverse else "RdBu"].with_extremes(bad="#d9d9d9")
    image = axes.pcolormesh(
        np.ma.masked_invalid(values), cmap=colors, norm=norm, edgecolors="white", linewidth=0.5
    )
    axes.set_yticks(np.arange(height) + 0.5, rows)
    axes.set_xticks(np.arange(width) + 0.5, columns, rotation=60, ha="right", rotation_mode="anchor")
    axes.invert_yaxis()
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if max(height, width) <= MOST_NUMBERS or new:
        decimals = 2 if most < 10 else 1
        for i, j in np.ndindex(height, width):
            if np.isfinite(values[i, j]):
                color = "#ffffff" if _is_dark(colors(norm(values[i, j]))) else "#000000"
                text = number(float(values[i, j]), decimals)
                axes.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=7, color=color)
    bar = figure_of(axes).colorbar(image, ax=axes, label=label, fraction=0.04, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_formatter(power)
    return axes


def number(value: float, decimals: int = 2) -> str:
    """A number with that many decimals, a minus sign where it is negative after rounding."""
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def _is_dark(color: Sequence[float]) -> bool:
    """Whether white text is more legible on the color than black: by WCAG's relative luminance."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color[:3]]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722])) < 0.18
