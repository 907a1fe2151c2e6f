"""Figure 2: one trained layer beside entropy-FTRL, and R_t/t of deeper Transformers."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from matplotlib.axes import Axes

from regret_envs.agents import FollowTheLeader, Hedge, Uniform
from regret_envs.agents.attention.analysis import fit_step_size, hedge_policies, mass_moved
from regret_envs.agents.attention.k_star import k_star
from regret_envs.agents.attention.linear import LinearAttention
from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.reproduce.attention import (
    ACTIONS,
    BIAS_NOTE,
    DEEP_NOTE,
    HORIZON,
    LAYERS,
    deep_results,
    final_regrets,
    one_layer_seeds,
    regret_curve,
    trained,
)
from regret_envs.benchmarks.reproduce.checks import Check, Options, Reference, Report, write_curves
from regret_envs.benchmarks.reproduce.drawing import (
    COLORS,
    band,
    legend_below,
    panels,
    published,
    rounds_axis,
    save,
)
from regret_envs.benchmarks.reproduce.forecaster import HindsightForecaster

_PUBLISHED = {
    2: Reference("4.380 ± 0.046", "arXiv 2607.23333, 3.3"),
    4: Reference("4.322 ± 0.017", "arXiv 2607.23333, 3.3"),
}


_CAPTION = """
(a) One trained linear-attention layer against the entropy-FTRL (Hedge) fitted to it: the difference of
the probabilities that both give to every action, in 3,000 of the held-out rounds and actions. (b) R_t /
t on biased Gaussian losses, d = 3, T = 20, mean over 16,384 held-out sequences; bands: ± one standard
error over training seeds. Hollow diamonds: R_20 / 20 of 2 and 4 layers as published in arXiv
2607.23333, with their printed standard errors, set side by side. Inset: the last rounds.
"""


def uniform_regret(bias_scale: float) -> float:
    """E[R_T] of uniform play: that of −min_a S_T(a), S_T ~ N(0, (T + T² bias_scale²) I), at d = 3, T = 20.

    The mean of the largest of three standard normals is 3 / (2 √π).
    """
    return 1.5 / math.sqrt(math.pi) * math.sqrt(HORIZON + (HORIZON * bias_scale) ** 2)


def run(options: Options) -> Report:
    """FTRL match of one layer from random initialization; regret of 2 and 4 layers."""
    k = k_star(ACTIONS, HORIZON)
    fitting, held_out = (
        torch.from_numpy(np.random.default_rng(seed).standard_normal((8192, HORIZON, ACTIONS)))
        for seed in (101, 102)
    )
    moved, fitted, effective, one_layer = [], [], [], []
    for seed in one_layer_seeds(options):
        model = trained(options, "linear-attention", "linear-attention", seed)
        assert isinstance(model, LinearAttention)
        with torch.no_grad():
            fitted.append(fit_step_size(model(fitting), fitting))
            moved.append(100 * mass_moved(model(held_out), hedge_policies(held_out, fitted[-1])))
        effective.append(model.step_size())
        one_layer.append(regret_curve(model))
    deep = deep_results(options)
    references = {
        "Hedge, step k*": regret_curve(Hedge(step_size=k)),
        "P(a* | past) of Gaussian losses": regret_curve(HindsightForecaster()),
        "uniform": regret_curve(Uniform()),
        "follow the leader": regret_curve(FollowTheLeader()),
    }

    fig = "fig2"
    checks = [
        Check.of(
            fig,
            "probability mass moved to the fitted FTRL, %",
            moved,
            published=Reference("2.71", "arXiv 2607.23333, 3.2"),
            lower_is_better=True,
        ),
        Check.of(fig, "step size of the fitted FTRL", fitted),
        Check.of(fig, f"effective k of V (k* = {float(k):.4f} ± {k.standard_error:.4f})", effective),
        Check.of(fig, "R_20 on biased Gaussian, 1 layer", [curve[-1] for curve in one_layer]),
        *(
            Check.of(
                fig,
                f"R_20 on biased Gaussian, {layers} layers",
                deep.regret[layers][:, -1],
                published=_PUBLISHED[layers],
                lower_is_better=True,
                stored=deep.stored,
            )
            for layers in LAYERS
        ),
        *(Check(fig, f"R_20, {name}", references[name][-1]) for name in list(references)[:2]),
        Check.of(fig, "R_20, uniform play", final_regrets(Uniform()), exact=uniform_regret(0.35)),
        Check.of(
            fig,
            "R_20, follow the leader",
            final_regrets(FollowTheLeader()),
            independent=Reference("3.11 ± 0.01", "study of training paths"),
        ),
    ]

    t = np.arange(1, HORIZON + 1)
    columns = {"t": t, **{name: curve / t for name, curve in references.items()}}
    figure, (left, right) = panels(2)
    with torch.no_grad():
        ours = model(held_out)[:, 1:].flatten().numpy()
        theirs = hedge_policies(held_out, fitted[-1])[:, 1:].flatten().numpy()
    left.axhline(0, color="0.6", linewidth=0.8)
    residuals = ours[:3000] - theirs[:3000]
    left.scatter(theirs[:3000], residuals, s=2, alpha=0.4, color=COLORS[0], rasterized=True)
    most = 1.1 * float(np.abs(residuals).max())
    left.set(xlabel="probability, fitted FTRL", ylabel="residual: attention − FTRL")
    left.set(xlim=(0, 1), ylim=(-most, most))
    curves = {"1 layer": np.stack(one_layer), **{f"{n} layers": deep.regret[n] for n in LAYERS}}
    for name, values in curves.items():
        for seed, row in enumerate(values / t):
            columns[f"{name}, seed {seed}"] = row
    _draw_rounds(right, curves, references)
    save(figure, options.out / "fig2.png", _CAPTION)
    write_curves(options.out / "fig2.csv", columns)
    notes = [
        "R_20 is the mean over 16,384 held-out sequences; standard errors are over training seeds.",
        BIAS_NOTE,
        DEEP_NOTE,
        "Follow the leader is the Bayes policy of biased Gaussian losses, whatever the bias's variance, so "
        "its regret is the floor. P(a* | past) minimizes the training objective, on losses without bias.",
    ]
    return Report(checks, notes)


def _draw_rounds(axes: Axes, curves: Mapping[str, FloatArray], references: Mapping[str, FloatArray]) -> None:
    """R_t / t by round, and enlarged the last rounds, where curves are close to published numbers.

    Args:
        axes: where to draw.
        curves: regret R_t by layers, arrays (seeds, T).
        references: R_t of agents without layers, arrays (T,).
    """
    t = np.arange(1, HORIZON + 1)
    last = axes.inset_axes((0.42, 0.48, 0.58, 0.52))
    for part in (axes, last):
        for color, width, (name, values) in zip(COLORS, (1.4, 2.4, 1.1), curves.items(), strict=False):
            band(part, t, values / t, name, color, linewidth=width)
        for style, (name, curve) in zip(("k--", "k:", "k-.", "k-"), references.items(), strict=True):
            part.plot(t, curve / t, style, linewidth=1, label=name)
        for shift, color, layers in zip((0.0, 0.6), COLORS[1:3], LAYERS, strict=True):
            number = _PUBLISHED[layers]
            text = f"{number.value / HORIZON:.4f} ± {number.error / HORIZON:.4f}"
            published(part, HORIZON + shift, Reference(text, number.source), color)
    axes.plot([], [], "D", color="0.3", mfc="white", label="published, T = 20")
    axes.set(xlabel="round t", ylabel="$R_t / t$, biased Gaussian")
    rounds_axis(axes, HORIZON)
    ends = [curve[..., -4:] / t[-4:] for curve in curves.values()]
    low, high = min(float(x.min()) for x in ends), max(float(x.max()) for x in ends)
    last.set(xlim=(HORIZON - 3.2, HORIZON + 1.2), ylim=(low - 0.006, high + 0.006))
    last.set_xticks(range(HORIZON - 3, HORIZON + 1))
    last.tick_params(labelsize=7)
    axes.indicate_inset_zoom(last, edgecolor="0.6")
    legend_below(axes)
