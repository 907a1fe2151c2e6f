"""The figure of `training-paths`: paths in the plane of a published pair, with the pair and its errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from regret_envs.benchmarks import plotting
from regret_envs.benchmarks.reproduce.checks import Options
from regret_envs.benchmarks.reproduce.drawing import COLORS, legend_below, save

if TYPE_CHECKING:
    from regret_envs.benchmarks.reproduce.training_paths import Path, Target

_LABELS = {
    "regret": "$R_{20}$, biased Gaussian losses",
    "cce": "CCE gap, weighted RPS, T = 20",
    "mass_to_hedge": "mass moved to the nearest FTRL, %",
    "ce": "pairwise CE gap",
    "swap": "full-swap gap",
    "ce_uncalibrated": "pairwise CE gap, uncalibrated",
    "swap_uncalibrated": "full-swap gap, uncalibrated",
}


_CAPTION = """
Training paths in the plane of a published pair of numbers, a panel for each pair: means over seeds as
training goes on, from the right or top to where it ends, with bars of one standard error; some steps are
numbered. Hollow diamond: the pair published in arXiv 2607.23333, with its printed standard errors.
Gray: agents that are not trained; the dotted line is the floor of R_20, follow the leader.
"""


def draw(
    options: Options,
    paths: Mapping[str, Path],
    targets: Sequence[Target],
    references: Mapping[str, tuple[float, float]],
    floor: float,
) -> None:
    """Write `training-paths.png`: a panel for each published pair, at most six.

    Args:
        options: where.
        paths: by recipe.
        targets: the published pairs.
        references: R_20 and CCE gap of two agents that are not trained.
        floor: R_20 of the Bayes policy.
    """
    with plotting.style():
        figure = Figure(figsize=(11.7, 8.4), layout="constrained")
        axes = np.ravel(figure.subplots(2, 3))
    for panel in axes[len(targets) :]:
        panel.set_axis_off()
    for letter, panel, target in zip(ascii_lowercase, axes, targets, strict=False):
        panel.set_title(f"({letter})", loc="left", fontweight="bold", fontsize=10)
        for color, recipe in zip(COLORS, target.recipes, strict=False):
            if recipe in paths:
                _path(panel, paths[recipe], target, recipe, color)
        if target.measures[0] == "regret":
            for marker, (name, (regret, gap)) in zip("^v", references.items(), strict=True):
                panel.plot(regret, gap, marker, color="0.5", markersize=5, label=name)
            panel.axvline(floor, color="0.5", linestyle=":", label="follow the leader (floor)")
        x, y = target.published
        panel.errorbar(
            x.value,
            y.value,
            xerr=x.error,
            yerr=y.error,
            fmt="D",
            color="k",
            mfc="white",
            capsize=3,
            zorder=5,
            label="published",
        )
        panel.set(
            xlabel=_LABELS[target.measures[0]],
            ylabel=_LABELS[target.measures[1]],
        )
        panel.set_title(target.name.split(":")[0], fontsize=9)
        limits = {"regret": (2.9, 6.5), "mass_to_hedge": (0, 3.5 * x.value)}
        panel.set_xlim(*limits.get(target.measures[0], (0, 2 * x.value)))
        panel.set_ylim(0, 4 * y.value)
        legend_below(panel)
    save(figure, options.out / "training-paths.png", _CAPTION)


def _path(panel: Axes, path: Path, target: Target, name: str, color: str) -> None:
    steps = [step for step, means in path.items() if all(m in means for m in target.measures)]
    x, y = ([path[step][measure] for step in steps] for measure in target.measures)
    panel.errorbar(
        [m.value for m in x],
        [m.value for m in y],
        xerr=[m.error for m in x],
        yerr=[m.error for m in y],
        color=color,
        marker="o",
        markersize=3,
        linewidth=1,
        elinewidth=0.6,
        label=name,
    )
    for step, at_x, at_y in zip(steps, x, y, strict=True):
        if step in (40, 120, 480, 3000):
            panel.annotate(str(step), (at_x.value, at_y.value), fontsize=6, color=color, clip_on=True)
