"""What a checkpoint is: what it learned, and how far it is in play from the algorithm it should become."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import torch
from torch import Tensor

from regret_envs import streams
from regret_envs.agents.attention.analysis import fit_step_size
from regret_envs.agents.attention.checkpoint import Config, load
from regret_envs.agents.attention.k_star import k_star
from regret_envs.agents.attention.linear import LinearAttention
from regret_envs.agents.attention.model import AttentionModel
from regret_envs.agents.attention.recipe import training_world
from regret_envs.agents.attention.swap import SwapAttention
from regret_envs.agents.attention.transformer import Transformer
from regret_envs.agents.base import Agent
from regret_envs.agents.external.hedge import Hedge
from regret_envs.agents.swap.blum_mansour import BlumMansour
from regret_envs.arrays import FloatArray
from regret_envs.seeding import RunSeeds

RUNS, SEED = 1024, 1


class Learned(msgspec.Struct, frozen=True):
    """The parameters of a head in reduced form, up to what softmax does not see.

    Softmax ignores a number added to all logits, so the columns of V and v_c are centered. In the full form
    of linear attention the score's bias is multiplied into V and v_c, and the score is divided by it.

    Attributes:
        value: V, shape (d, d); of a head of swap attention, on its own block.
        value_bias: v_c, shape (d,).
        score: a, shape (d,).
        away: ‖V + k(I − 11ᵀ/d)‖ / ‖V‖ (Frobenius) at the k that fits V best: 0 where V is that of Hedge.
        others: of a head that sees all blocks, the norm of V on the others' over that of V on all.
    """

    value: list[list[float]]
    value_bias: list[float]
    score: list[float]
    away: float
    others: float | None = None


class Distance(msgspec.Struct, frozen=True):
    """The probability mass between a checkpoint's play and an algorithm's.

    Attributes:
        algorithm: its spec.
        moved: mean total variation ½‖π_t − π'_t‖₁ over sequences and rounds t ≥ 2.
        standard_error: over sequences.
    """

    algorithm: str
    moved: float
    standard_error: float


class Inspection(msgspec.Struct, frozen=True):
    """What a checkpoint is.

    Attributes:
        config: its config, with the recipe.
        losses: on which losses the distances were measured.
        learned: a head each; empty for Transformers.
        step_size: the deployed effective k, None for Transformers.
        theory: the k that theory gives for the mean squared regret and unit Gaussian losses: k*(d, T), for
            swap attention d k*(d, T); None where it says nothing (the identity operator, Transformers).
        theory_error: its standard error.
        distances: from the algorithm with the checkpoint's k (of linear attention and Transformers, the k
            that fits their play best), and with that of theory.
    """

    config: Config
    losses: str
    learned: list[Learned]
    step_size: float | None
    theory: float | None
    theory_error: float | None
    distances: list[Distance]


def inspect(folder: str | Path) -> tuple[Inspection, AttentionModel]:
    """What a checkpoint is, and its model.

    Raises:
        CheckpointError: if it cannot be read.
    """
    model, config = load(folder)
    d, horizon = config.recipe.num_actions, config.recipe.horizon
    losses, what = _losses(config)
    softmax = not (isinstance(model, LinearAttention) and model.operator == "identity")
    step_size = None if config.step_size is None else _step_size(model, horizon)
    theory = None
    if softmax and step_size is not None:
        scale = d if isinstance(model, SwapAttention) else 1
        theory = scale * k_star(d, horizon), scale * k_star(d, horizon).standard_error
    algorithms: list[Agent] = []
    policies = play(model, losses)
    if isinstance(model, SwapAttention):
        algorithms = [BlumMansour(Hedge(step_size=k)) for k in (step_size, theory and theory[0]) if k]
    elif softmax:
        fitted = fit_step_size(torch.tensor(policies), torch.tensor(losses))
        algorithms = [Hedge(step_size=k) for k in (fitted, theory and theory[0]) if k]
    inspection = Inspection(
        config,
        what,
        _learned(model, horizon),
        step_size,
        theory and theory[0],
        theory and theory[1],
        [_distance(policies, algorithm, losses) for algorithm in algorithms],
    )
    return inspection, model


def play(agent: Agent, losses: FloatArray) -> FloatArray:
    """An agent's policies on given losses, arrays (num_runs, horizon, num_actions)."""
    num_runs, horizon, d = losses.shape
    agent.reset(d, horizon=horizon, num_runs=num_runs, rng=np.random.default_rng(0))
    policies = np.empty_like(losses)
    for t in range(horizon):
        policies[:, t] = agent.act()
        agent.observe(losses[:, t])
    return policies


def attention_weights(model: Transformer, config: Config) -> FloatArray:
    """How much round t attends to round s ≤ t, shape (layers, heads, T, T), mean over sequences."""
    with torch.no_grad():
        weights = model.attention(torch.tensor(_losses(config)[0]))
    mean: FloatArray = weights.mean(1).numpy()
    return mean


def _losses(config: Config) -> tuple[FloatArray, str]:
    """Losses of the training distribution where they do not depend on play, else unit Gaussian ones."""
    recipe = config.recipe
    world = training_world(recipe)
    name = recipe.stream
    if not isinstance(world, streams.Stream):
        world, name = streams.Gaussian(recipe.num_actions), "gaussian"
    episode = world.start(num_agents=1, horizon=recipe.horizon, seeds=RunSeeds(SEED, RUNS))
    losses = np.stack([np.array(episode.step(())[0]) for _ in range(recipe.horizon)], axis=1)
    return losses, f"{RUNS:,} sequences of {recipe.horizon} rounds, stream {name}"


def _step_size(model: AttentionModel, horizon: int) -> float:
    assert isinstance(model, LinearAttention | SwapAttention)
    with torch.no_grad():
        return model.step_size() * float(model.horizon_factor(horizon))


def _distance(policies: FloatArray, algorithm: Agent, losses: FloatArray) -> Distance:
    moved = 0.5 * np.abs(policies - play(algorithm, losses))[:, 1:].sum(-1).mean(1)
    if isinstance(algorithm, BlumMansour):
        name = f"blum-mansour over hedge, step size {_k(algorithm.copies):.4f}"
    else:
        name = f"hedge, step size {_k(algorithm):.4f}"
    return Distance(name, float(moved.mean()), float(moved.std(ddof=1) / np.sqrt(len(moved))))


def _k(hedge: Agent) -> float:
    assert isinstance(hedge, Hedge) and isinstance(hedge.step_size, float)
    return hedge.step_size


def _learned(model: AttentionModel, horizon: int) -> list[Learned]:
    if isinstance(model, LinearAttention):
        value, value_bias, score, score_bias = model.reduced()
        factor = score_bias * model.horizon_factor(horizon)
        return [_head(value * factor, value_bias * factor, score / score_bias, model.operator == "softmax")]
    if isinstance(model, SwapAttention):
        factor = model.logit_scale * model.horizon_factor(horizon)
        d, full = model.num_actions, model.form == "full"
        return [
            _head(
                (model.value[j][:, j * d : (j + 1) * d] if full else model.value[j]) * factor,
                model.value_bias[j] * factor,
                model.score[j][j * d : (j + 1) * d] if full else model.score[j],
                True,
                model.value[j] * factor if full else None,
            )
            for j in range(d)
        ]
    return []


def _head(
    value: Tensor, value_bias: Tensor, score: Tensor, centered: bool, whole: Tensor | None = None
) -> Learned:
    v, bias = value.detach().double(), value_bias.detach().double()
    if centered:
        v, bias = v - v.mean(0), bias - bias.mean()
    d = len(v)
    projector = torch.eye(d, dtype=torch.float64) - 1 / d
    target = projector if centered else torch.eye(d, dtype=torch.float64)
    k = -float((v * target).sum() / target.square().sum())
    others = None
    if whole is not None:
        everything = whole.detach().double()
        everything = (everything - everything.mean(0)).square().sum()
        others = float((1 - v.square().sum() / everything).clamp_min(0).sqrt())
    away = float((v + k * target).norm() / v.norm())
    return Learned(v.tolist(), bias.tolist(), score.detach().double().tolist(), away, others)
