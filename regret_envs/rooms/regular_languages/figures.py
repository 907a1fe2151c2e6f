"""The pictures of the reproduction of regular-language learning."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from regret_envs.arrays import FloatArray
from regret_envs.rooms.regular_languages.runs import T0, Streams

# Okabe and Ito's colors, told apart by all common kinds of color vision.
_COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"]
_GRAY = "#555555"
_STYLES = ["-", "--", "-.", ":"]


def draw_run(path: Path, title: str, columns: Mapping[str, FloatArray]) -> None:
    """Six panels over t: loss, token scores, attention scores of lengths 3 and 5, alignment, norms.

    Args:
        path: of the picture.
        title: above it.
        columns: of `regular_languages_runs.curves`.
    """
    c, t = columns, columns["t"]
    figure = Figure(figsize=(13, 7), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    loss, tokens, three, five, alignment, norms = figure.subplots(2, 3).flat

    loss.loglog(t, c["loss"], color=_COLORS[0], label="measured")
    anchor = np.searchsorted(t, 3_000)
    for power, style, name in ((1.0, "--", "1/t"), (0.5, ":", "1/√t")):
        guide = c["loss"][anchor] * (t[anchor] / t[anchor:]) ** power
        loss.loglog(t[anchor:], guide, color=_GRAY, linestyle=style, label=name)
    _finish(loss, "loss (nats)", "Loss")

    for i in range(3):
        tokens.semilogx(t, c[f"u_{i + 1}"], _STYLES[i], color=_COLORS[i], label=f"position {i + 1}")
    _finish(tokens, "u of the token", "Token scores (of a; those of b are the same)")

    _draw_scores(three, c, 3)
    _draw_scores(five, c, 5)

    alignment.semilogx(t, c["cosine_t0"], color=_COLORS[0], label="of the features at $t_0$")
    alignment.semilogx(t, c["cosine_t"], "--", color=_COLORS[1], label="of the features at t")
    _finish(alignment, "cos(u, max-margin vector)", "Alignment with the max-margin vector")

    norms.semilogx(t, c["norm_u"], color=_COLORS[0], label="‖u‖")
    norms.semilogx(t, c["drift_W"], "--", color=_COLORS[1], label="‖W − W$_{t_0}$‖")
    _finish(norms, "norm", "Growth of the head, drift of the attention")
    figure.savefig(path, dpi=120)


def _draw_scores(axes: Axes, columns: Mapping[str, FloatArray], length: int) -> None:
    labels = [("positive", "-", "label +1"), ("negative", "--", "label −1")]
    for name, style, text in labels:
        for i in range(length):
            axes.semilogx(
                columns["t"],
                columns[f"score_{length}_{name}_{i + 1}"],
                style,
                color=_COLORS[i],
                label=f"position {i + 1}" if style == "-" else None,
            )
        axes.plot([], style, color=_GRAY, label=text)
    axes.set_ylim(0, 1)
    _finish(axes, "attention score φ, mean", f"Attention scores, length {length}")


def _finish(axes: Axes, ylabel: str, title: str) -> None:
    axes.axvline(T0, color=_GRAY, linewidth=0.8)
    axes.annotate("$t_0$", (T0, 0), (3, 4), xycoords=("data", "axes fraction"), textcoords="offset points")
    axes.set(xlabel="gradient steps t", ylabel=ylabel, title=title)
    axes.legend(fontsize=8)


def draw_streams(path: Path, streams: Streams) -> None:
    """The mean loss of the last 200 rounds and all seeds: one panel per environment, one line per agent."""
    figure = Figure(figsize=(13, 4), layout="constrained")
    FigureCanvasAgg(figure)
    window = np.full(200, 1 / 200)
    panels = figure.subplots(1, len(streams), sharey=True)
    for axes, (env, by_agent) in zip(panels, streams.items(), strict=True):
        for i, (agent, losses) in enumerate(by_agent.items()):
            smooth = np.convolve(losses.mean(0), window, "valid")
            rounds = np.arange(len(smooth)) + len(window)
            axes.semilogy(rounds, smooth, _STYLES[i], color=_COLORS[i], label=agent)
        axes.set(xlabel="round", title=env)
    panels[0].set_ylabel("loss (nats), mean of 200 rounds")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.savefig(path, dpi=120)
