"""What the options of training come to: horizon-free, bandit feedback, other streams and objectives.

None of it was published. One-layer linear attention has one number that matters, its step size, so
every option is measured by the step size that it trains to, and by what that is for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from regret_envs import simulate
from regret_envs.agents import Agent, Hedge
from regret_envs.agents.attention.k_star import k_star
from regret_envs.agents.attention.linear import LinearAttention
from regret_envs.benchmarks.reproduce.attention import ACTIONS, HORIZON, gap_curves, one_layer_seeds, trained
from regret_envs.benchmarks.reproduce.checks import Check, Options, Report, write_curves
from regret_envs.benchmarks.reproduce.drawing import COLORS, band, legend_below, log_axes, panels, save
from regret_envs.feedback import Bandit
from regret_envs.streams import Gaussian

_ROOM = "training-options"
_HORIZONS = (10, 20, 40, 80)
_MIDDLE = 20  # of 5 … 80, on a log scale: the reference horizon of the models
_EXPLORATION = 0.1

_VARIANTS: dict[str, dict[str, Any]] = {
    "as published": {},
    "full K/Q form": {"settings": {"form": "full"}},
    "losses 2 rounds late": {"feedback": "delayed", "delay": 2, "batch_size": 256, "num_steps": 400},
    "biased Gaussian": {"stream": "biased-gaussian"},
    "Rademacher": {"stream": "rademacher"},
    "positive part squared": {"h": "positive-square"},
    "exponential, scale 1/2": {"h": "exponential", "stream_settings": {"scale": 0.5}},
    "worst of 8, temperature 1": {"worst_of": 8},
    "self-play in random games": {"stream": "self-play", "batch_size": 128, "num_steps": 400},
}


def run(options: Options) -> Report:
    """Step sizes and what they do."""
    checks, notes = _variants(options)
    checks += _horizon_free(options)
    checks += _bandit(options)
    return Report(checks, notes)


def _linear(options: Options, name: str, seed: int, **changes: Any) -> LinearAttention:
    changes = {"num_steps": 1000, **changes}
    model = trained(options, f"options-{name}", "linear-attention", seed, **changes)
    assert isinstance(model, LinearAttention)
    return model


def _variants(options: Options) -> tuple[list[Check], list[str]]:
    checks = []
    for name, changes in _VARIANTS.items():
        folder = name.replace(" ", "-").replace(",", "").replace("/", "-")
        models = [_linear(options, folder, seed, **changes) for seed in one_layer_seeds(options)]
        checks.append(Check.of(_ROOM, f"step size, {name}", [model.step_size() for model in models]))
        gaps = [gap_curves(model).cce[-1] for model in models]
        checks.append(Check.of(_ROOM, f"CCE gap in weighted RPS, {name}", gaps))
    return checks, [
        f"k*(3, 20) = {k_star(ACTIONS, HORIZON):.4f} is what Gaussian losses and the mean square ask for; "
        "other streams and objectives ask for other steps. 1,000 steps of 1,024 sequences, in self-play 400 "
        "of 128 games, under bandit feedback 400 of 256 sequences."
    ]


def _horizon_free(options: Options) -> list[Check]:
    """One model for T = 5 … 80: logits times (T/20)^exponent, which should be −1/2."""
    models = [
        _linear(options, "horizon-free", seed, horizon=_HORIZONS[-1], min_horizon=5, batch_size=512)
        for seed in one_layer_seeds(options)
    ]
    with torch.no_grad():
        exponents = [math.log10(float(m.horizon_factor(10 * _MIDDLE))) for m in models]
    checks = [Check.of(_ROOM, "horizon-free: exponent of T", exponents)]
    pairs = zip(models, exponents, strict=True)
    steps = np.array([[m.step_size() * (t / _MIDDLE) ** e for t in _HORIZONS] for m, e in pairs])
    stars = [float(k_star(ACTIONS, t)) for t in _HORIZONS]
    for i, t in enumerate(_HORIZONS):
        quantity = f"horizon-free: step size at T = {t} (k* = {stars[i]:.4f})"
        checks.append(Check.of(_ROOM, quantity, steps[:, i]))
    figure, (axes,) = panels(1)
    band(axes, _HORIZONS, steps, "trained for all T at once", COLORS[0])
    axes.plot(_HORIZONS, stars, "k--", linewidth=1, label="k*(3, T)")
    log_axes(axes, x=_HORIZONS)
    axes.set(xlabel="horizon T", ylabel="step size")
    legend_below(axes)
    caption = (
        "The step size of one linear-attention layer trained for all horizons at once: mean and ± one "
        "standard error over training seeds. Dashed: the optimal step k*(3, T)."
    )
    save(figure, options.out / "training-options.png", caption)
    columns = {f"step size, seed {seed}": row for seed, row in enumerate(steps)}
    write_curves(options.out / "training-options.csv", {"T": _HORIZONS, "k_star": stars, **columns})
    return checks


def _bandit(options: Options) -> list[Check]:
    """Trained on estimates and on losses, both played behind the bandit layer."""

    def squared_regret(agent: Agent) -> float:
        layer = Bandit(implicit_exploration=_EXPLORATION)
        play = simulate(Gaussian(ACTIONS), agent, horizon=HORIZON, num_runs=8192, seed=5, feedback=layer)
        return float((play.regret() ** 2).mean())

    models = [
        _linear(
            options,
            "bandit",
            seed,
            feedback="bandit",
            implicit_exploration=_EXPLORATION,
            batch_size=256,
            num_steps=400,
        )
        for seed in one_layer_seeds(options)
    ]
    hedge = Hedge(step_size=k_star(ACTIONS, HORIZON))
    return [
        Check.of(_ROOM, "bandit: step size", [model.step_size() for model in models]),
        Check.of(_ROOM, "bandit: E[R_20²], trained on estimates", [squared_regret(m) for m in models]),
        Check(_ROOM, "bandit: E[R_20²], Hedge at k*", squared_regret(hedge)),
        Check(_ROOM, "bandit: E[R_20²], uniform", squared_regret(Hedge(step_size=0.0))),
    ]
