"""Batches of play to train on: policies with gradients, and the losses that they met."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from regret_envs.agents.attention.model import AttentionModel
from regret_envs.agents.attention.recipe import Recipe
from regret_envs.agents.attention.swap import SwapAttention
from regret_envs.arrays import FloatArray
from regret_envs.feedback import Bandit, Channel, Place
from regret_envs.games import Game
from regret_envs.seeding import RunSeeds
from regret_envs.streams import BiasedGaussian, Gaussian, Stream
from regret_envs.worlds import World

_STARTING_LOSS_SCALE = 1.0


def play_batch(
    model: AttentionModel, recipe: Recipe, world: World, step: int, size: int
) -> tuple[Tensor, Tensor]:
    """Play a batch of sequences, all random numbers from the recipe's seed and the step.

    Args:
        model: on any device.
        recipe: the recipe.
        world: what `make_world` made of it.
        step: the optimizer step.
        size: the number of sequences.

    Returns:
        Policies and losses, (num_runs, horizon, num_actions) each, or in block form
        (num_runs, horizon, heads, num_actions).

    Raises:
        ValueError: if a loss is not finite; names the stream, the sequence and the round.
    """
    seed = int(np.random.SeedSequence([recipe.seed, step]).generate_state(1)[0])
    rng = np.random.default_rng(seed)
    horizon = recipe.horizon
    if recipe.min_horizon is not None:
        low, high = np.log(recipe.min_horizon), np.log(recipe.horizon + 1)
        horizon = min(int(np.exp(rng.uniform(low, high))), recipe.horizon)
    like = next(model.parameters())
    if isinstance(world, Stream) and recipe.feedback == "full":
        heads = recipe.num_actions if recipe.objective == "block-swap-regret" else 1
        drawn = _draw(world, rng, seed, size * heads, horizon)
        _check(drawn, recipe, step)
        losses = torch.as_tensor(drawn).to(like)
        if heads == 1:
            return model(losses), losses
        assert isinstance(model, SwapAttention)
        blocks = losses.view(size, heads, *losses.shape[1:]).transpose(1, 2)
        return model.block_proposals(blocks), blocks
    return _react(model, recipe, world, RunSeeds(seed, size), horizon, step)


def _draw(
    stream: Stream, rng: np.random.Generator, seed: int, size: int, horizon: int
) -> npt.NDArray[np.floating]:
    """Losses of `size` sequences, (size, horizon, d); Gaussian ones at once, which is 30 times faster."""
    if type(stream) in (Gaussian, BiasedGaussian):
        noise = rng.standard_normal((size, horizon, stream.num_actions), dtype=np.float32)
        if isinstance(stream, BiasedGaussian):
            bias = np.stack([stream.start_run(rng, run=run, horizon=horizon) for run in range(size)])
            return stream.noise_scale * noise + bias[:, None].astype(np.float32)
        return stream.loss_scale * noise
    episode = stream.start(num_agents=1, horizon=horizon, seeds=RunSeeds(seed, size))
    return np.stack([episode.step(())[0] for _ in range(horizon)], axis=1)


def _check(losses: npt.NDArray[np.floating], recipe: Recipe, step: int) -> None:
    # The sum is not finite if any entry is not, and costs a tenth of looking at every entry.
    if not np.isfinite(losses.sum(dtype=np.float64)):
        bad = np.argwhere(~np.isfinite(losses))
        where = f"sequence {bad[0][0]}, round {bad[0][1] + 1}" if len(bad) else "their sum"
        raise ValueError(f"stream {recipe.stream} gave losses that are not finite: step {step}, {where}")


def _react(
    model: AttentionModel, recipe: Recipe, world: World, seeds: RunSeeds, horizon: int, step: int
) -> tuple[Tensor, Tensor]:
    """Round by round, where losses depend on play or what is shown of them does.

    Gradients flow through what the model made of the losses shown, not through what its play made
    of the losses: every seat minimizes its regret against losses that it takes as given.
    """
    like = next(model.parameters())
    num_seats = world.num_players if isinstance(world, Game) else 1
    episode = world.start(num_agents=num_seats, horizon=horizon, seeds=seeds)
    states = [model.begin(seeds.num_runs, horizon) for _ in range(num_seats)]
    channels: list[Channel | None] = [None] * num_seats
    if recipe.feedback == "bandit":
        layer = Bandit(implicit_exploration=recipe.implicit_exploration)
        channels = [layer.start(recipe.num_actions, Place(model, seeds, n, 0)) for n in range(num_seats)]
    if isinstance(world, Game):
        for n in range(num_seats):
            shown = [rng.standard_normal(recipe.num_actions) for rng in seeds.starting_losses(n)]
            states[n] = model.step(
                states[n], torch.as_tensor(_STARTING_LOSS_SCALE * np.stack(shown)).to(like)
            )
    policies: list[list[Tensor]] = [[] for _ in range(num_seats)]
    losses: list[list[Tensor]] = [[] for _ in range(num_seats)]
    for t in range(horizon):
        played = [model.policy(state) for state in states]
        for n in range(num_seats):
            policies[n].append(played[n])
        for channel, policy in zip(channels, played, strict=True):
            if channel is not None:
                channel.play(_array(policy).T)
        met = episode.step([_array(policy) for policy in played])
        for n, loss in enumerate(met):
            if not np.isfinite(loss).all():
                _check(np.asarray(loss)[:, None], recipe, step)
            losses[n].append(torch.tensor(np.ascontiguousarray(loss)).to(like))
            if t + 1 < horizon:
                seen = losses[n][-1]
                if (channel := channels[n]) is not None:
                    seen = torch.as_tensor(channel.show(loss.T)[0].T.copy()).to(like)
                states[n] = model.step(states[n], seen)
    return (
        torch.cat([torch.stack(rounds, 1) for rounds in policies]),
        torch.cat([torch.stack(rounds, 1) for rounds in losses]),
    )


def _array(policy: Tensor) -> FloatArray:
    array: FloatArray = policy.detach().double().cpu().numpy()
    return array
