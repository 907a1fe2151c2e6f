"""Attention over rounds: a heat map for each layer and head of a Transformer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.plotting.looks import in_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 10.0


@in_style
def attention(weights: FloatArray, *, title: str = "") -> Figure:
    """How much the token of each round attends to those before, relative to attending to all of them equally.

    Args:
        weights: shape (layers, heads, T, T), rows sum to 1.
        title: above the panels.

    Returns:
        A new figure, a row of panels per layer and a column per head, all on one scale.
    """
    import matplotlib.pyplot as plt
    from matplotlib.colors import LogNorm

    layers, heads, rounds, _ = weights.shape
    share = weights * np.arange(1, rounds + 1)[:, None]
    past = np.tri(rounds, dtype=bool)
    most = float(np.clip(np.exp(np.abs(np.log(share[..., past].clip(1e-9))).max()), 1.5, _MOST))
    figure, panels = plt.subplots(
        layers,
        heads,
        squeeze=False,
        sharex=True,
        sharey=True,
        figsize=(1.7 * heads + 1, 1.7 * layers + 0.8),
        layout="constrained",
    )
    for layer in range(layers):
        for head in range(heads):
            axes = panels[layer, head]
            image = axes.imshow(
                np.ma.masked_where(~past, share[layer, head].clip(1e-9)),
                norm=LogNorm(1 / most, most),
                cmap="PuOr",
                extent=(0.5, rounds + 0.5, rounds + 0.5, 0.5),
            )
            axes.set_title(f"layer {layer + 1}, head {head + 1}", fontsize="small")
            axes.grid(False)
    figure.supxlabel(
        "token attended to (1: the learned vector, t: the losses of round t − 1)", fontsize="small"
    )
    figure.supylabel("round", fontsize="small")
    figure.suptitle(title, fontsize="medium")
    bar = figure.colorbar(image, ax=panels, label="attention · t (1: uniform)", extend="both")
    ticks = [1 / most, 1, most]
    bar.set_ticks(ticks, labels=[f"{tick:.2g}" for tick in ticks])
    bar.minorticks_off()
    return figure
