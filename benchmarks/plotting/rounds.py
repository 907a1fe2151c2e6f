"""Figures over rounds and steps: a metric by round, how regret grows, a training."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.analysis.task_results import TaskResults, task_results
from regret_envs.benchmarks.analysis.vanishing import Verdict
from regret_envs.benchmarks.plotting.looks import (
    BOUND_DASHES,
    COLORS,
    GRAY,
    MOST_AGENTS,
    REFERENCE,
    gray_note,
    in_style,
    look,
    on_axes,
    outside_legend,
    power,
    shown_and_others,
    write_caption,
)
from regret_envs.benchmarks.running.rows import Row
from regret_envs.metrics.catalog import regret_unit
from regret_envs.names import lookup

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Scale = Literal["auto", "linear", "log", "symlog"]

# The factor of ρ √(T ln d / 2), Hedge's bound at its best step; Blum–Mansour's is that of d copies of Hedge.
_BOUNDS: dict[str, Callable[[int], float]] = {
    "external_regret": lambda d: 1.0,
    "cce_gap": lambda d: 1.0,
    "swap_regret": np.sqrt,
    "ce_gap": np.sqrt,
    "swap_gap": np.sqrt,
}


@in_style
def curves(
    rows: Iterable[Row] | TaskResults,
    metric: str | None = None,
    *,
    task: str | None = None,
    agents: Sequence[str] | None = None,
    scale: Scale = "auto",
    most: int = MOST_AGENTS,
    axes: Axes | None = None,
    legend: bool = True,
    caption: bool = True,
) -> Axes:
    """A metric by round: the mean over runs with a mark wherever play was measured, and a 95 % band.

    A regret is divided by ρ √(t ln d / 2), where ρ is the range of the losses: this is Hedge's bound for t
    rounds at its best step (Cesa-Bianchi and Lugosi 2006, theorem 2.2), so that the bound is the line at 1,
    or at √d for swap regret. Gaps are drawn with the bound over t.

    Args:
        rows: result rows.
        metric: what to draw; None: the task's first metric.
        task: which task's rows; None: the only one there is.
        agents: who is drawn, the most important ones first; None: all, the best at the horizon first.
        scale: of the vertical axis. "auto": logarithmic where all values are above 0 and span more than a
            factor of 20, symlog where they span as much on either side of 0, else linear.
        most: so many agents have a color; the others are gray, and the caption names them.
        axes: where to draw; None: a new figure.
        legend, caption: whether to write them.

    Raises:
        ValueError: if the rows are of several tasks and none is named, or of none.
        UnknownNameError: if there is no such task, metric or agent in the rows.
    """
    r, left_out = (rows, []) if isinstance(rows, TaskResults) else _only(list(rows), task)
    metric = r.metrics[0] if metric is None else metric
    lookup("metric of the task", metric, dict.fromkeys(r.metrics))
    best = sorted(r.played, key=lambda a: r.metric(metric).sign * r.values(a, metric).mean())
    for agent in agents or ():
        lookup("agent in the results", agent, dict.fromkeys(r.agents))
    drawn = best if agents is None else [a for a in dict.fromkeys(agents) if a in best]
    absent = [a for a in r.agents if a not in best and (agents is None or a in agents)]
    shown, others = shown_and_others(drawn, most)

    from matplotlib.ticker import MaxNLocator

    axes = on_axes(axes, (6.4, 3.6))
    found = {agent: _curve(r, agent, metric) for agent in drawn}
    for agent in others:
        axes.plot(*found[agent][:2], color=GRAY, linewidth=0.8, zorder=1, gid=f"agent {agent}")
    for agent in shown:
        rounds, mean, error = found[agent]
        axes.plot(rounds, mean, label=agent, zorder=3, gid=f"agent {agent}", **look(agent).line())
        if error is not None:
            low, high = mean - 1.96 * error, mean + 1.96 * error
            shade: dict[str, Any] = {"color": look(agent).color, "alpha": 0.12, "linewidth": 0, "zorder": 2}
            axes.fill_between(rounds, low, high, gid=f"band {agent}", **shade)
    label = _draw_bound(axes, r, metric)
    axes.set_xlim(1, r.horizon)
    if r.horizon > 30:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(power)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.margins(y=0.05)
    _set_scale(axes, scale, [found[a][1] for a in shown or others])
    axes.set_xlabel("round t")
    axes.set_ylabel(label)
    axes.set_title(r.task)
    if legend:
        outside_legend(axes)
    if caption:
        write_caption(axes, [*_curve_notes(r, shown, others, absent), *left_out])
    return axes


def _only(rows: Sequence[Row], task: str | None) -> tuple[TaskResults, list[str]]:
    """The results of the one task that is meant, and notes on what of them is left out."""
    results = {r.task: r for r in task_results(rows)[0]}
    if not results:
        raise ValueError("the rows hold no results of a task")
    if task is None and len(results) > 1:
        raise ValueError(f"the rows are of several tasks: name one of {', '.join(results)}")
    task = next(iter(results)) if task is None else task
    lookup("task in the results", task, results)
    return results[task], task_results(rows, tasks=[task])[1]


def _curve(r: TaskResults, agent: str, metric: str) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Rounds, means and standard errors (None of a single run) as they are drawn, arrays (num_rounds,)."""
    rounds, values = r.by_round(agent, metric)
    values = values / _units(r, metric, rounds)[:, None]
    runs = values.shape[1]
    error = values.std(axis=1, ddof=1) / np.sqrt(runs) if runs > 1 else None
    return rounds, values.mean(1), error


def _units(r: TaskResults, metric: str, rounds: FloatArray) -> FloatArray:
    """What values at these rounds are divided by: regrets by ρ √(t ln d / 2), others by 1."""
    if r.metric(metric).normalize != "regret" or r.num_actions < 2:
        return np.ones(len(rounds))
    return np.array([regret_unit(r.loss_scale, int(t), r.num_actions) for t in rounds])


def _draw_bound(axes: Axes, r: TaskResults, metric: str) -> str:
    """Draw the line of theory, where there is one, and return the label of the vertical axis."""
    title = r.metric(metric).title
    is_regret = r.metric(metric).normalize == "regret" and r.num_actions > 1
    label = f"{title} / (ρ √(t ln d / 2))" if is_regret else title
    if metric in _BOUNDS and r.num_actions > 1:
        t = np.geomspace(1, r.horizon, 100)
        factor = _BOUNDS[metric](r.num_actions)
        unit = regret_unit(r.loss_scale, 1, r.num_actions)
        height = np.full(len(t), factor) if is_regret else factor * unit / np.sqrt(t)
        whose, root = ("Hedge", "") if factor == 1 else ("Blum–Mansour", "d ")
        root += "t ln d / 2" if is_regret else "ln d / 2t"
        name = f"{whose}'s bound for\nlosses of range ρ:\nρ √({root})"
        axes.plot(
            t, height, color=REFERENCE, linewidth=1.2, linestyle=(0, BOUND_DASHES), zorder=4, label=name
        )
    return label


def _set_scale(axes: Axes, scale: Scale, means: Sequence[FloatArray]) -> None:
    values = np.concatenate(means) if means else np.zeros(1)
    positive, negative = values[values > 0], -values[values < 0]
    if scale == "auto":
        wide = max(map(_span, (positive, negative)))
        over: Scale = "log" if len(positive) == len(values) else "symlog"
        scale = over if wide > 20 else "linear"
    if scale == "symlog":
        small = np.abs(values[values != 0])
        # Three decades at most on either side of 0.
        threshold = max(float(np.quantile(small, 0.1)), float(small.max()) / 300) if len(small) else 1.0
        axes.set_yscale("symlog", linthresh=10 ** np.floor(np.log10(threshold)))
    else:
        axes.set_yscale(scale)
    if scale in ("log", "symlog"):
        axes.yaxis.set_major_formatter(power)
        axes.yaxis.set_minor_formatter("")
    if scale != "log" and len(negative):
        axes.axhline(0, color="#888888", linewidth=0.6, zorder=0)


def _span(values: FloatArray) -> float:
    return float(values.max() / values.min()) if len(values) else 1.0


def _curve_notes(
    r: TaskResults, shown: Sequence[str], others: Sequence[str], absent: Sequence[str]
) -> list[str]:
    runs = sorted({len(r.runs(agent)) for agent in shown})
    count = " to ".join(str(n) for n in dict.fromkeys((runs[0], runs[-1]))) if runs else "0"
    band = "; band: 95 % confidence interval of the mean (± 1.96 standard errors)" if runs[-1:] > [1] else ""
    lines = [
        f"{'One run' if count == '1' else f'Mean over {count} runs'} at the rounds where play was measured "
        f"(marks){band}. "
        f"d = {r.num_actions} actions, ρ = {r.loss_scale:g}, T = {r.horizon:,}."
    ]
    lines += gray_note(others)
    statuses: dict[str, list[str]] = {}
    for agent in absent:
        statuses.setdefault(r.status(agent) or "", []).append(agent)
    lines += [f"Not drawn ({status}): {', '.join(names)}." for status, names in statuses.items()]
    return lines


@in_style
def growth(found: Sequence[Verdict], *, axes: Axes | None = None) -> Axes:
    """Mean regret by round on logarithmic axes with the fitted power laws, of one task's agents."""
    axes = on_axes(axes, (6.4, 3.6))
    _, others = shown_and_others([verdict.agent for verdict in found], MOST_AGENTS)
    for verdict in found:
        t = np.arange(1, len(verdict.regret) + 1)
        regret = np.array(verdict.regret)
        line = look(verdict.agent).line(linewidth=1.1, marker="")
        label: str | None = verdict.agent
        if verdict.agent in others:
            line, label = {"color": GRAY, "linewidth": 0.8}, None
        if verdict.growth.exponent is not None and verdict.growth.constant is not None:
            label = label and f"{label}, β = {verdict.growth.exponent:.2f}"
            axes.plot(t, np.exp(verdict.growth.constant) * t**verdict.growth.exponent, **line)
        above = regret > 0
        axes.plot(t[above], regret[above], "o", markersize=3, color=line["color"], label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(power)
    axes.yaxis.set_major_formatter(power)
    axes.set_xlabel("round t")
    axes.set_ylabel("mean external regret")
    outside_legend(axes)
    notes = ["Marks: mean over runs, where it is above 0; lines: the fitted c t^β."]
    write_caption(axes, [*notes, *gray_note(others)])
    return axes


@in_style
def training(
    log: str | PathLike[str] | Mapping[str, Sequence[float]],
    column: str | None = None,
    *,
    scale: Scale = "auto",
    axes: Axes | None = None,
) -> Axes:
    """What a training logged, by step.

    Args:
        log: the training's folder, its CSV file, or its columns by name as of `training_log`.
        column: what to draw; None: the first one after the steps.
        scale: of the vertical axis, as in `curves`.
        axes: where to draw; None: a new figure.

    Raises:
        ValueError: if the log has no column of steps, or none beside it.
        UnknownNameError: if there is no such column.
        FileNotFoundError: if there is no such log.
    """
    table = dict(log if isinstance(log, Mapping) else training_log(log))
    if "step" not in table or len(table) < 2:
        raise ValueError(f"a log of a training has a column step and others, this one has {', '.join(table)}")
    steps = np.asarray(table.pop("step"), dtype=np.float64)
    column = next(iter(table)) if column is None else column
    values = np.asarray(lookup("column of the log", column, table), dtype=np.float64)
    known = np.isfinite(values)
    axes = on_axes(axes, (5.2, 3.0))
    marker = "o" if known.sum() <= 60 else ""
    axes.plot(steps[known], values[known], color=COLORS[0], marker=marker, markersize=3, linewidth=1.2)
    _set_scale(axes, scale, [values[known]])
    axes.set_xlabel("training step")
    axes.set_ylabel(column.replace("_", " "))
    return axes


def training_log(path: str | PathLike[str]) -> dict[str, list[float]]:
    """The columns of a training's log, NaN where a line has no value.

    Args:
        path: the training's folder or its CSV file.

    Raises:
        ValueError: if the file is not a table of numbers.
        FileNotFoundError: if there is no such file, or the folder holds none whose first column is `step`.
    """
    path = Path(path)
    if path.is_dir():
        logs = [p for p in sorted(path.glob("*.csv")) if p.read_text(encoding="utf-8").startswith("step,")]
        if not logs:
            raise FileNotFoundError(
                f"{path} holds no log of a training, a CSV file whose first column is step"
            )
        path = logs[0]
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    try:
        names = list(lines[0]) if lines else []
        return {name: [float(line[name] or "nan") for line in lines] for name in names}
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a table of numbers: {error}") from None
