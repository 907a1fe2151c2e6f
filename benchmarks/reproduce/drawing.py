"""Figures without a display. Imports matplotlib, so that its lack is told before anything is computed."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from regret_envs.benchmarks import plotting
from regret_envs.benchmarks.plotting.looks import power
from regret_envs.benchmarks.reproduce.checks import Reference
from regret_envs.benchmarks.reproduce.papers import cited

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito's, which color-blind readers tell apart."""


def panels(count: int, *, size: tuple[float, float] = (3.9, 3.3)) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels side by side, lettered (a), (b), … where there are several.

    Args:
        count: panels.
        size: of one panel, in inches.
    """
    with plotting.style():
        figure = Figure(figsize=(size[0] * count, size[1]), layout="constrained")
        axes = list(np.ravel(figure.subplots(1, count)))
    for letter, panel in zip(ascii_lowercase, axes, strict=False):
        if count > 1:
            panel.set_title(f"({letter})", loc="left", fontweight="bold", fontsize=10)
    return figure, axes


def band(
    axes: Axes, x: npt.ArrayLike, curves: npt.ArrayLike, label: str, color: str, **settings: Any
) -> None:
    """The mean of curves (seeds, points), and ± one standard error where there are several."""
    array = np.atleast_2d(np.asarray(curves, dtype=np.float64))
    mean = array.mean(0)
    axes.plot(x, mean, color=color, label=label, **settings)
    if len(array) > 1:
        error = array.std(0, ddof=1) / np.sqrt(len(array))
        axes.fill_between(x, mean - error, mean + error, color=color, alpha=0.25, linewidth=0)


def published(axes: Axes, x: float, number: Reference, color: str, label: str | None = None) -> None:
    """A published number beside ours: a hollow mark with its error, in the color of our curve."""
    axes.errorbar(
        x,
        number.value,
        yerr=number.error or None,
        fmt="D",
        markersize=5,
        color=color,
        mfc="white",
        capsize=3,
        zorder=5,
        label=label,
    )


def rounds_axis(axes: Axes, horizon: int) -> None:
    """A linear axis of rounds 1 … T: whole ticks, and room at the end for published numbers."""
    steps = [1, *range(5, horizon + 1, 5)]
    axes.set_xticks(steps)
    axes.set_xlim(0.5, horizon + 1.5)


def log_axes(axes: Axes, *, x: Sequence[int] = (), y: bool = True) -> None:
    """Logarithmic axes with plain numbers at the ticks; those of x may be given. Called after drawing."""
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(power)
    if x:
        axes.set_xticks(list(x), [f"{t:,}" for t in x])
        axes.minorticks_off()
    if y:
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        if high < 30 * low:
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(power)
        axes.yaxis.set_minor_formatter(NullFormatter())


def legend_below(axes: Axes, columns: int = 2, *, by: float = 0.2) -> None:
    """A legend below the axes, clear of the data, at a distance of `by` heights of the axes."""
    settings: Any = {"frameon": False, "fontsize": 8, "handlelength": 2.4, "borderaxespad": 0}
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -by), ncols=columns, **settings)


def save(figure: Figure, path: Path, caption: str) -> None:
    """Write a PNG and a PDF, and the caption as NAME.txt beside them.

    Args:
        figure: the figure.
        path: of the PNG.
        caption: what the panels, marks and bands are; the papers that it names are cited at its end.
    """
    with plotting.style(), matplotlib.rc_context({"savefig.dpi": 200}):
        figure.savefig(path)
        figure.savefig(path.with_suffix(".pdf"), metadata={"CreationDate": None})
    text = " ".join(caption.split())
    lines = textwrap.fill(" ".join([text, *cited(text)]), 100)
    path.with_suffix(".txt").write_text(lines + "\n", encoding="utf-8")
