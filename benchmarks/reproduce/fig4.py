"""Figure 4: CCE and CE gaps of trained attention in weighted rock–paper–scissors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from regret_envs.agents import BlumMansour, Hedge, Uniform
from regret_envs.agents.attention.k_star import k_star
from regret_envs.agents.attention.swap import SwapAttention
from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.reproduce.attention import (
    ACTIONS,
    DEEP_NOTE,
    HORIZON,
    LAYERS,
    GapCurves,
    deep_results,
    gap_curves,
    one_layer_seeds,
    trained,
)
from regret_envs.benchmarks.reproduce.checks import Check, Options, Report, write_curves
from regret_envs.benchmarks.reproduce.drawing import COLORS, band, panels, published, save
from regret_envs.benchmarks.reproduce.forecaster import HindsightForecaster

_PUBLISHED_CCE = {2: 0.0467, 4: 0.0653}
_PUBLISHED_AT_T: dict[int | str, tuple[float, float]] = {
    1: (0.0832, 0.0028),
    2: (0.0467, 0.0095),
    4: (0.0653, 0.0054),
    "calibrated": (0.0627, 0.0018),
    "uncalibrated": (0.0968, 0.0049),
}
"""The CCE gap by layers and the pairwise CE gap of swap attention, with their errors, at T = 20."""


def run(options: Options) -> Report:
    """CCE gaps of 1, 2 and 4 layers; CE gaps of swap attention, calibrated and not."""
    seeds = one_layer_seeds(options)
    one_layer = [gap_curves(trained(options, "linear-attention", "linear-attention", s)) for s in seeds]
    calibrated, plain = [], []
    for seed in seeds:
        model = trained(options, "swap-attention", "swap-attention", seed)
        assert isinstance(model, SwapAttention)
        calibrated.append(gap_curves(model))
        model.logit_scale = 1.0
        plain.append(gap_curves(model))
    deep = deep_results(options)
    k = k_star(ACTIONS, HORIZON)
    references = {
        "uniform": gap_curves(Uniform()),
        "Hedge, step k*": gap_curves(Hedge(step_size=k)),
        "Hedge, default step": gap_curves(Hedge()),
        "minimizer of the loss": gap_curves(HindsightForecaster()),
        "Blum–Mansour": gap_curves(BlumMansour()),
        "Blum–Mansour, step d k*": gap_curves(BlumMansour(Hedge(step_size=ACTIONS * k))),
    }

    fig, last = "fig4", -1
    cce = {1: np.stack([c.cce for c in one_layer]), **deep.cce}
    checks = [
        Check.of(fig, "CCE gap, 1 layer", cce[1][:, last], published=0.0832, at_least=0.083, at_most=0.092)
    ]
    for n in LAYERS:
        checks.append(Check.of(fig, f"CCE gap, {n} layers", cce[n][:, last], published=_PUBLISHED_CCE[n]))
    checks += [
        Check(fig, "CCE gap, uniform", references["uniform"].cce[last], published=0.1111),
        *(
            Check(fig, f"CCE gap, {name}", references[name].cce[last])
            for name in ("Hedge, step k*", "Hedge, default step", "minimizer of the loss")
        ),
        _ce("pairwise CE gap, swap attention", calibrated, "ce", 0.0627, accept=True),
        _ce("full-swap gap, swap attention", calibrated, "swap", 0.0956, accept=True),
        _ce("pairwise CE gap, swap attention uncalibrated", plain, "ce", 0.0968),
        _ce("full-swap gap, swap attention uncalibrated", plain, "swap", 0.1627),
        Check(
            fig,
            "pairwise CE gap, Blum–Mansour",
            references["Blum–Mansour"].ce[last],
            published=0.0617,
            at_least=0.06172,
            at_most=0.06173,
        ),
        Check(fig, "pairwise CE gap, Blum–Mansour at d k*", references["Blum–Mansour, step d k*"].ce[last]),
        Check(fig, "pairwise CE gap, uniform", references["uniform"].ce[last], published=0.1111),
    ]
    _draw(options, cce, calibrated, plain, references)
    notes = [
        DEEP_NOTE,
        "Play starts from each agent's first policy; losses are expected; standard errors are over seeds.",
        "The objective's minimizer over all policies (HindsightForecaster) has a CCE gap of 0.1000: smaller "
        "gaps of deep models are not what the objective asks for, but how they answer losses smaller and "
        "more correlated than those of training.",
        "Measured once: after 300 steps instead of 1,200, two layers have a CCE gap of 0.056 ± 0.012 "
        "(R_20 4.12) and four 0.117 ± 0.019 (R_20 4.07) over five seeds; two without layer normalization, "
        "after 1,200 steps, 0.12 (one seed). The published 0.0467 ± 0.0095 is within the scatter of short "
        "training, not where training ends.",
    ]
    return Report(checks, notes)


def _ce(quantity: str, curves: list[GapCurves], kind: str, published: float, accept: bool = False) -> Check:
    values = [getattr(c, kind)[-1] for c in curves]
    return Check.of("fig4", quantity, values, published=published, at_most=published if accept else None)


def _draw(
    options: Options,
    cce: dict[int, FloatArray],
    calibrated: list[GapCurves],
    plain: list[GapCurves],
    references: dict[str, GapCurves],
) -> None:
    t = np.arange(1, HORIZON + 1)
    columns: dict[str, npt.ArrayLike] = {"t": t}
    figure, (left, right) = panels(2)
    for color, (layers, values) in zip(COLORS[:3], cce.items(), strict=True):
        band(left, t, values, f"{layers} layer{'s' * (layers > 1)}", color)
        published(left, HORIZON + 0.3, *_PUBLISHED_AT_T[layers], color)
        columns |= {f"CCE, {layers} layers, seed {s}": row for s, row in enumerate(values)}
    for style, name in (("k:", "uniform"), ("k--", "Hedge, step k*"), ("k-.", "minimizer of the loss")):
        left.plot(t, references[name].cce, style, linewidth=1, label=name)
    left.set(xlabel="t", ylabel="CCE gap")
    swap = ((COLORS[3], "calibrated", calibrated), (COLORS[4], "uncalibrated", plain))
    for color, name, curves in swap:
        published(right, HORIZON + 0.3, *_PUBLISHED_AT_T[name], color)
        for kind, label in (("ce", "pairwise CE"), ("swap", "full swap")):
            values = np.stack([getattr(c, kind) for c in curves])
            columns |= {f"{label}, {name}, seed {s}": row for s, row in enumerate(values)}
            if kind == "ce":
                band(right, t, values, f"swap attention, {name}", color)
    for style, name in (("k:", "uniform"), ("k--", "Blum–Mansour")):
        right.plot(t, references[name].ce, style, linewidth=1, label=name)
    right.set(xlabel="t", ylabel="pairwise CE gap")
    for name, curve in references.items():
        columns |= {
            f"CCE, {name}": curve.cce,
            f"pairwise CE, {name}": curve.ce,
            f"full swap, {name}": curve.swap,
        }
    for axes in (left, right):
        axes.plot([], [], "D", color="0.3", mfc="white", label="published, T = 20")
        axes.legend(fontsize=8)
        axes.set_ylim(0, 0.25)
    save(figure, options.out / "fig4.png")
    write_curves(options.out / "fig4.csv", columns)
