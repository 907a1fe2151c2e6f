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
from regret_envs.feedback import Bandit, Delayed
from regret_envs.feedback.channels import Feedback
from regret_envs.games import Game
from regret_envs.play.round import Match, Seat
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
        world: what `training_world` made of it.
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


class _TensorSeat(Seat):
    """A seat whose policies come from a model, kept as tensors with gradients."""

    def __init__(
        self, model: AttentionModel, players: range, num_actions: int, seeds: RunSeeds, horizon: int
    ) -> None:
        super().__init__(players, num_actions, seeds)
        self._model = model
        self._like = next(model.parameters())
        self._state = model.begin(seeds.num_runs, horizon)
        self._horizon = horizon
        self.rounds: list[tuple[Tensor, Tensor]] = []

    @property
    def occupant(self) -> object:
        """The model."""
        return self._model

    def ask(self, t: int) -> FloatArray:
        """The model's policies."""
        self._policy = self._model.policy(self._state)
        self.policies = np.asfortranarray(self._policy.detach().double().cpu().numpy())
        return self.policies

    def show(self, losses: FloatArray) -> None:
        """Keep the round as tensors; after the last one nothing is learned any more."""
        loss = torch.tensor(np.ascontiguousarray(losses)).to(self._like)
        self.rounds.append((self._policy, loss))
        if len(self.rounds) < self._horizon:
            super().show(losses)

    def observe(self, losses: FloatArray) -> None:
        """Take a step of the model."""
        self._state = self._model.step(self._state, torch.tensor(np.ascontiguousarray(losses)).to(self._like))


def _layers(recipe: Recipe) -> list[Feedback]:
    if recipe.feedback == "bandit":
        # No offset, whatever the world: checkpoints are trained on such estimates.
        return [Bandit(implicit_exploration=recipe.implicit_exploration, loss_offset=0.0)]
    return [Delayed(recipe.delay)] if recipe.feedback == "delayed" else []


def _react(
    model: AttentionModel, recipe: Recipe, world: World, seeds: RunSeeds, horizon: int, step: int
) -> tuple[Tensor, Tensor]:
    """Round by round, where losses depend on play or what is shown of them does.

    Gradients flow through what the model made of the losses shown, not through what its play made of the
    losses: every seat minimizes its regret against losses that it takes as given.
    """
    num_seats = world.default_seats()
    episode = world.start(num_agents=num_seats, horizon=horizon, seeds=seeds)
    seats = [
        _TensorSeat(model, range(n, n + 1), d, seeds, horizon) for n, d in enumerate(world.seats(num_seats))
    ]
    match = Match(world, episode, seats, _layers(recipe))
    if isinstance(world, Game):
        for seat in seats:
            seat.observe(seat.starting_losses(_STARTING_LOSS_SCALE))
    for _ in range(horizon):
        match.play_round()
        for seat in seats:
            loss = seat.rounds[-1][1]
            if not torch.isfinite(loss).all():
                _check(loss.cpu().numpy()[:, None], recipe, step)
    policies, losses = (
        torch.cat([torch.stack([played[i] for played in seat.rounds], 1) for seat in seats]) for i in (0, 1)
    )
    return policies, losses
