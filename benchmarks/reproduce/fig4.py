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
    GapCurves,
    deep_results,
    gap_curves,
    one_layer_seeds,
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

_PUBLISHED_CCE = {
    1: Reference("0.0832 ± 0.0028", "arXiv 2607.23333, 3.4"),
    2: Reference("0.0467 ± 0.0095", "arXiv 2607.23333, 3.4"),
    4: Reference("0.0653 ± 0.0054", "arXiv 2607.23333, 3.4"),
}
_PUBLISHED_CE = {
    "calibrated": Reference("0.0627 ± 0.0018", "arXiv 2607.23333, 4.1"),
    "uncalibrated": Reference("0.0968 ± 0.0049", "arXiv 2607.23333, 4.1"),
}
_PUBLISHED_SWAP = {
    "calibrated": Reference("0.0956 ± 0.0068", "arXiv 2607.23333, 4.1"),
    "uncalibrated": Reference("0.1627 ± 0.0110", "arXiv 2607.23333, 4.1"),
}
_UNIFORM = Reference("0.1111", "arXiv 2607.23333, 3.4 and 4.1")
_CLASSICAL = Reference("0.0617", "arXiv 2607.23333, 4.1")


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
        "P(a* | past)": gap_curves(HindsightForecaster()),
        "Blum–Mansour": gap_curves(BlumMansour()),
        "Blum–Mansour, step d k*": gap_curves(BlumMansour(Hedge(step_size=ACTIONS * k))),
    }

    fig, last = "fig4", -1
    cce = {1: np.stack([c.cce for c in one_layer]), **deep.cce}
    checks = [
        Check.of(
            fig,
            f"CCE gap, {n} layer{'s' * (n > 1)}",
            values[:, last],
            published=_PUBLISHED_CCE[n],
            lower_is_better=True,
            stored=deep.stored and n > 1,
        )
        for n, values in cce.items()
    ]
    uniform, classical = references["uniform"], references["Blum–Mansour"]
    checks += [
        Check(fig, "CCE gap, uniform", uniform.cce[last], published=_UNIFORM, exact=1 / 9),
        Check(fig, "CCE gap, Hedge, step k*", references["Hedge, step k*"].cce[last]),
        Check(
            fig,
            "CCE gap, Hedge, default step",
            references["Hedge, default step"].cce[last],
            independent=Reference("0.1188957", "prototype"),
        ),
        Check(
            fig,
            "CCE gap, P(a* | past)",
            references["P(a* | past)"].cce[last],
            independent=Reference("0.1000", "study of training paths"),
        ),
    ]
    for name, curves in (("calibrated", calibrated), ("uncalibrated", plain)):
        for kind, label, numbers in (
            ("ce", "pairwise CE", _PUBLISHED_CE),
            ("swap", "full-swap", _PUBLISHED_SWAP),
        ):
            checks.append(
                Check.of(
                    fig,
                    f"{label} gap, swap attention {name}",
                    [getattr(c, kind)[last] for c in curves],
                    published=numbers[name],
                    lower_is_better=True,
                )
            )
    checks += [
        Check(
            fig,
            "pairwise CE gap, Blum–Mansour",
            classical.ce[last],
            published=_CLASSICAL,
            independent=Reference("0.0617213", "prototype"),
        ),
        Check(
            fig,
            "full-swap gap, Blum–Mansour",
            classical.swap[last],
            independent=Reference("0.1040524", "prototype"),
        ),
        Check(fig, "pairwise CE gap, Blum–Mansour at d k*", references["Blum–Mansour, step d k*"].ce[last]),
        Check(fig, "pairwise CE gap, uniform", uniform.ce[last], published=_UNIFORM, exact=1 / 9),
        *_one_step(),
    ]
    _draw(options, cce, calibrated, plain, references)
    notes = [
        DEEP_NOTE,
        "Play starts from each agent's first policy; losses are expected; standard errors are over seeds.",
        "During training, models with post-layer normalization have the published pairs (R_20, CCE gap): see "
        "`regret-envs reproduce training-paths`.",
    ]
    return Report(checks, notes)


_K_TRAIN = 0.322
_CAPTION = """
Self-play in weighted rock–paper–scissors, T = 20, expected losses. (a) CCE gap of trained attention with
1, 2 and 4 layers. (b) Pairwise CE gap and (c) full-swap CE gap of swap attention, with calibrated and
with uncalibrated logits. Lines: mean over training seeds; bands: ± one standard error over seeds. Hollow
diamonds: values at T = 20 published in arXiv 2607.23333, with their printed standard errors, those of
one round set side by side; black ones are those of uniform play and of Blum–Mansour.
"""


def _one_step() -> list[Check]:
    """Blum–Mansour at the one step that gives both published pairwise gaps, and what no step gives."""
    steps = np.linspace(0.05, 1.5, 59)

    def gaps(step: float) -> GapCurves:
        return gap_curves(BlumMansour(Hedge(step_size=step)), rounds=[HORIZON])

    largest = max(gaps(step).swap[-1] for step in steps)
    checks = [
        Check(
            "fig4",
            f"pairwise CE gap, Blum–Mansour, step {factor}{_K_TRAIN}",
            gaps(k).ce[-1],
            published=_PUBLISHED_CE[name],
            independent=Reference(text, "study of training paths"),
        )
        for factor, k, name, text in (
            ("3 × ", 3 * _K_TRAIN, "calibrated", "0.0627"),
            ("", _K_TRAIN, "uncalibrated", "0.0968"),
        )
    ]
    below = "largest full-swap gap of Blum–Mansour, steps 0.05 … 1.5"
    return [*checks, Check("fig4", below, largest, published=_PUBLISHED_SWAP["uncalibrated"])]


def _draw(
    options: Options,
    cce: dict[int, FloatArray],
    calibrated: list[GapCurves],
    plain: list[GapCurves],
    references: dict[str, GapCurves],
) -> None:
    t = np.arange(1, HORIZON + 1)
    columns: dict[str, npt.ArrayLike] = {"t": t}
    figure, (left, middle, right) = panels(3)
    layers_drawn = zip((0.0, 0.5, 1.0), COLORS[:3], cce.items(), strict=True)
    for shift, color, (layers, values) in layers_drawn:
        band(left, t, values, f"{layers} layer{'s' * (layers > 1)}", color)
        published(left, HORIZON + shift, _PUBLISHED_CCE[layers], color)
        columns |= {f"CCE, {layers} layers, seed {s}": row for s, row in enumerate(values)}
    for style, name in (("k:", "uniform"), ("k--", "Hedge, step k*"), ("k-.", "P(a* | past)")):
        left.plot(t, references[name].cce, style, linewidth=1, label=name)
    published(left, HORIZON, _UNIFORM, "k")
    left.set(xlabel="round t", ylabel="CCE gap")
    swap = ((COLORS[3], "calibrated", calibrated), (COLORS[4], "uncalibrated", plain))
    kinds = (
        (middle, "ce", "pairwise CE", _PUBLISHED_CE),
        (right, "swap", "full swap", _PUBLISHED_SWAP),
    )
    for panel, kind, label, numbers in kinds:
        for shift, (color, name, curves) in zip((0.5, 1.0), swap, strict=True):
            values = np.stack([getattr(c, kind) for c in curves])
            columns |= {f"{label}, {name}, seed {s}": row for s, row in enumerate(values)}
            band(panel, t, values, f"swap attention, {name}", color)
            published(panel, HORIZON + shift, numbers[name], color)
        for style, name in (("k:", "uniform"), ("k--", "Blum–Mansour")):
            panel.plot(t, getattr(references[name], kind), style, linewidth=1, label=name)
    for number in (_UNIFORM, _CLASSICAL):
        published(middle, HORIZON, number, "k")
    middle.set(xlabel="round t", ylabel="pairwise CE gap")
    right.set(xlabel="round t", ylabel="full-swap CE gap")
    for name, curve in references.items():
        columns |= {
            f"CCE, {name}": curve.cce,
            f"pairwise CE, {name}": curve.ce,
            f"full swap, {name}": curve.swap,
        }
    for axes in (left, middle, right):
        axes.plot([], [], "D", color="0.3", mfc="white", label="published, T = 20")
        axes.set_ylim(0, 0.2 if axes is right else 0.18)
        rounds_axis(axes, HORIZON)
        legend_below(axes)
    save(figure, options.out / "fig4.png", _CAPTION)
    write_curves(options.out / "fig4.csv", columns)
