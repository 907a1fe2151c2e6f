"""Figures without a display. Imports matplotlib, so that its lack is told before anything is computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from regret_envs.benchmarks.reproduce.checks import Reference

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito's, which color-blind readers tell apart."""


def panels(count: int) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels side by side."""
    figure = Figure(figsize=(5 * count, 3.8), layout="constrained")
    return figure, list(np.ravel(figure.subplots(1, count)))


def band(axes: Axes, x: npt.ArrayLike, curves: npt.ArrayLike, label: str, color: str) -> None:
    """The mean of curves (seeds, points), and ± one standard error where there are several."""
    array = np.atleast_2d(np.asarray(curves, dtype=np.float64))
    mean = array.mean(0)
    axes.plot(x, mean, color=color, label=label)
    if len(array) > 1:
        error = array.std(0, ddof=1) / np.sqrt(len(array))
        axes.fill_between(x, mean - error, mean + error, color=color, alpha=0.25, linewidth=0)


def published(axes: Axes, x: float, number: Reference, color: str) -> None:
    """A published number beside ours: a hollow mark with its error, in the color of our curve."""
    axes.errorbar(
        x, number.value, yerr=number.error, marker="D", markersize=5, color=color, mfc="white", capsize=3
    )


def save(figure: Figure, path: Path) -> None:
    """Write a PNG."""
    figure.savefig(path, dpi=150)
