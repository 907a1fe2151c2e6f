"""The ten recipes of `training-paths`, and what is measured of a model on its way."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor

from regret_envs.agents.attention.analysis import fit_step_size, hedge_policies, mass_moved
from regret_envs.agents.attention.linear import LinearAttention
from regret_envs.agents.attention.model import AttentionModel
from regret_envs.agents.attention.objectives import external_regret, hindsight_brier
from regret_envs.agents.attention.recipe import Recipe, default_recipe
from regret_envs.agents.attention.swap import SwapAttention
from regret_envs.agents.attention.training import Trainer
from regret_envs.benchmarks.reproduce.attention import ACTIONS, HORIZON, gap_curves
from regret_envs.benchmarks.reproduce.forecaster import HindsightForecaster

BIAS_SCALE = 0.35
_UNIT_SEQUENCES, _BIASED_SEQUENCES = 4096, 8192


def _transformer(layers: int, normalization: str, schedule: str = "constant") -> dict[str, Any]:
    return {
        "model": "transformer",
        "settings": {"layers": layers, "normalization": normalization},
        "batch_size": 256,
        "learning_rate": 1e-3,
        "schedule": schedule,
    }


_RECIPES: Mapping[str, dict[str, Any]] = {
    "1 layer, annealed": {"model": "linear-attention", "learning_rate": 0.02, "warm_up": 20},
    "1 layer, constant": {
        "model": "linear-attention",
        "batch_size": 256,
        "learning_rate": 0.01,
        "schedule": "constant",
    },
    **{
        f"{layers} layers, {normalization}": _transformer(layers, normalization)
        for layers in (2, 4)
        for normalization in ("none", "pre", "post")
    },
    "2 layers, post, annealed": _transformer(2, "post", "cosine"),
    "swap heads, constant": {
        "model": "swap-attention",
        "batch_size": 256,
        "learning_rate": 3e-3,
        "schedule": "constant",
    },
}
NAMES = tuple(_RECIPES)
NUM_STEPS = 3000


def path_recipe(name: str, seed: int) -> Recipe:
    """A named recipe: Adam on the sampled E[h(R)] of unit Gaussian losses, d = 3, T = 20, 3,000 steps.

    "none", "pre" and "post" are the layer normalization; learning rates are constant without warm-up, or
    annealed along a cosine. "1 layer, annealed" is `regret-envs train linear-attention`.
    """
    changes = {"warm_up": 0, **_RECIPES[name], "num_steps": NUM_STEPS, "estimator": "sample"}
    return default_recipe(changes.pop("model"), seed=seed, **changes)


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A model on its way.

    Attributes:
        recipe: a name in `NAMES`.
        seed: of its training.
        step: optimizer steps done.
        loss: E[R_20²] on unit Gaussian losses of the policy that is played (`hindsight_brier`).
        regret: R_20, mean over biased Gaussian sequences.
        cce: CCE gap after 20 rounds of self-play in weighted rock–paper–scissors.
        ce: pairwise CE gap there.
        swap: full-swap gap there.
        ce_uncalibrated: of swap heads, with the logits at the scale of training; else None.
        swap_uncalibrated: the same for the full-swap gap.
        hedge_step: the step of the Hedge that is nearest on unit Gaussian losses.
        mass_to_hedge: mean probability mass moved to that Hedge, in percent.
        mass_to_forecaster: the same to P(a* | past) of unit Gaussian losses, in percent.
        k_train: the effective step in training, where the model has one.
    """

    recipe: str
    seed: int
    step: int
    loss: float
    regret: float
    cce: float
    ce: float
    swap: float
    ce_uncalibrated: float | None
    swap_uncalibrated: float | None
    hedge_step: float
    mass_to_hedge: float
    mass_to_forecaster: float
    k_train: float | None


@dataclass(frozen=True)
class _HeldOut:
    """Sequences that no training sees, (num_runs, horizon, num_actions), and the forecaster's policies."""

    unit: Tensor
    biased: Tensor
    forecasts: Tensor


@cache
def _held_out() -> _HeldOut:
    rng = np.random.default_rng(20260)
    unit = rng.standard_normal((_UNIT_SEQUENCES, HORIZON, ACTIONS))
    bias = BIAS_SCALE * rng.standard_normal((_BIASED_SEQUENCES, 1, ACTIONS))
    biased = bias + rng.standard_normal((_BIASED_SEQUENCES, HORIZON, ACTIONS))
    agent, forecasts = HindsightForecaster(), np.empty_like(unit)
    agent.reset(ACTIONS, horizon=HORIZON, num_runs=_UNIT_SEQUENCES, rng=rng)
    for t in range(HORIZON):
        forecasts[:, t] = agent.act()
        agent.observe(unit[:, t])
    return _HeldOut(*(torch.from_numpy(x.astype(np.float32)) for x in (unit, biased, forecasts)))


def _play(model: AttentionModel, losses: Tensor) -> Tensor:
    # In pieces that fit into the cache, which is seven times as fast.
    return torch.cat([model(piece) for piece in losses.split(512)])


def measure(trainer: Trainer, name: str) -> Point:
    """What a model in training is worth now."""
    model: AttentionModel = copy.deepcopy(trainer.model).eval()
    held_out = _held_out()
    with torch.no_grad():
        policies = _play(model, held_out.unit)
        regret = float(external_regret(_play(model, held_out.biased), held_out.biased).double().mean())
        loss = float(hindsight_brier(policies, held_out.unit).double().mean())
        hedge_step = fit_step_size(policies, held_out.unit)
        to_hedge = mass_moved(policies, hedge_policies(held_out.unit, hedge_step))
        to_forecaster = mass_moved(policies, held_out.forecasts)
    model = model.double()
    gaps = gap_curves(model, rounds=[HORIZON])
    k_train = uncalibrated = None
    if isinstance(model, SwapAttention):
        k_train = model.step_size() / model.logit_scale
        model.logit_scale = 1.0
        uncalibrated = gap_curves(model, rounds=[HORIZON])
    elif isinstance(model, LinearAttention):
        k_train = model.step_size()
    return Point(
        recipe=name,
        seed=trainer.recipe.seed,
        step=trainer.step,
        loss=loss,
        regret=regret,
        cce=float(gaps.cce[-1]),
        ce=float(gaps.ce[-1]),
        swap=float(gaps.swap[-1]),
        ce_uncalibrated=None if uncalibrated is None else float(uncalibrated.ce[-1]),
        swap_uncalibrated=None if uncalibrated is None else float(uncalibrated.swap[-1]),
        hedge_step=hedge_step,
        mass_to_hedge=100 * to_hedge,
        mass_to_forecaster=100 * to_forecaster,
        k_train=k_train,
    )
