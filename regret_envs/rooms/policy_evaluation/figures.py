"""The figures of `in_context_td`. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from regret_envs.rooms.policy_evaluation.softmax_td import SoftmaxTransformer
from regret_envs.rooms.policy_evaluation.theory_checks import ErrorFloor
from regret_envs.rooms.policy_evaluation.training_checks import LayerCurves

# Okabe and Ito's palette, which color-blind readers can tell apart.
_ORANGE, _SKY, _GREEN, _BLUE, _VERMILION = "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00"


def draw_layers(out: Path, panels: Sequence[LayerCurves]) -> None:
    """MSVE against layers, trained against constructed: `in-context-td-layers.png`."""
    figure, axes = _figure(len(panels), (4.6 * len(panels), 3.8))
    for ax, panel in zip(axes, panels, strict=True):
        layers = np.arange(len(panel.constructed))
        for seed, curve in enumerate(panel.trained):
            label = "trained, a line a seed" if seed == 0 else None
            ax.plot(layers, curve, color=_VERMILION, lw=1.2, marker="o", ms=3, label=label)
        ax.plot(
            layers, panel.constructed, color=_BLUE, lw=1.8, ls="--", marker="s", ms=3, label="constructed"
        )
        ax.axhline(panel.floor, color="black", lw=1, ls=":", label="certainty equivalence")
        ax.axvline(panel.trained_layers, color="0.6", lw=0.8)
        ax.text(
            panel.trained_layers + 0.2,
            0.98,
            "layers in training",
            transform=ax.get_xaxis_transform(),
            va="top",
            fontsize=8,
            color="0.35",
        )
        # A seed that does not learn TD may diverge with more layers than it was trained with.
        ax.set(yscale="log", xlabel="layer", ylabel="MSVE", title=f"γ = {panel.discount}")
        ax.xaxis.set_major_locator(MultipleLocator(5))
        ax.set_ylim(panel.floor / 2, 4 * panel.constructed[0])
        ax.legend(fontsize=8)
    _save(figure, out / "in-context-td-layers.png")


def draw_parameters(out: Path, transformers: Mapping[str, SoftmaxTransformer]) -> None:
    """A's feature block and V's value row as heat maps: `in-context-td-parameters.png`."""
    figure = Figure(figsize=(4.2 * len(transformers), 5.2), layout="constrained")
    grid = figure.subplots(2, len(transformers), squeeze=False, height_ratios=[4, 1])
    for column, (title, transformer) in zip(grid.T, transformers.items(), strict=True):
        weights = transformer.value_weights[None]
        for ax, matrix in zip(column, (transformer.attention, weights), strict=True):
            largest = np.abs(matrix).max()
            image = ax.imshow(matrix, cmap="PuOr", vmin=-largest, vmax=largest, aspect="auto")
            for (i, j), entry in np.ndenumerate(matrix):
                dark = abs(entry) > 0.6 * largest
                ax.text(
                    j, i, f"{entry:.2f}", ha="center", va="center", fontsize=8, color="w" if dark else "k"
                )
            figure.colorbar(image, ax=ax)
        d = transformer.num_features
        column[0].set(title=f"A, {title}", xticks=range(d), yticks=range(d))
        column[0].set(xlabel="feature of the reading state", ylabel="feature of the source")
        column[1].set(
            title="V, value row", xticks=range(3), xticklabels=["reward", "target", "value"], yticks=[]
        )
    _save(figure, out / "in-context-td-parameters.png")


def draw_floor(out: Path, floor: ErrorFloor) -> None:
    """RMSVE against layers, and its floor against the length of the trajectory: `in-context-td-floor.png`."""
    figure, (left, right) = _figure(2, (9.6, 3.8))
    styles = zip((_SKY, _BLUE, _GREEN, _ORANGE, _VERMILION, "black"), "ovs^D.", strict=True)
    for (name, curve), (color, marker) in zip(floor.curves.items(), styles, strict=True):
        left.plot(curve, color=color, marker=marker, ms=3.5, lw=1.3, label=name)
    left.set(yscale="log", xlabel="layer", ylabel="RMSVE", title="one-hot features, γ = 0.5, τ = 9")
    left.xaxis.set_major_locator(MultipleLocator(5))
    left.legend(fontsize=8, ncols=2, loc=(0.4, 0.55))
    lengths, groups = list(floor.lengths), floor.by_group
    mean, error = groups.mean(1), groups.std(1, ddof=1) / np.sqrt(groups.shape[1])
    right.errorbar(
        lengths, mean, yerr=error, color=_BLUE, marker="o", ms=4, lw=1.3, capsize=3, label="last layer"
    )
    half = mean[0] * np.sqrt(lengths[0] / np.array(lengths))
    right.plot(lengths, half, color="black", ls=":", lw=1, label="slope −1/2")
    right.set(
        xscale="log", yscale="log", xlabel="transitions in context, n", ylabel="RMSVE", title="error floor"
    )
    right.set_xticks(lengths, [str(n) for n in lengths])
    right.set_yticks([0.02, 0.05, 0.1], ["0.02", "0.05", "0.1"])
    right.minorticks_off()
    right.legend(fontsize=8)
    _save(figure, out / "in-context-td-floor.png")


def _figure(columns: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=size, layout="constrained")
    axes = list(figure.subplots(1, columns, squeeze=False)[0])
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=150)
