"""The agents that the registry names: theoretical points for every task, and the shipped checkpoints.

The shipped checkpoints are what these commands make, to the bit on the same machine:

    regret-envs train linear-attention --out agents/attention/checkpoints/linear-attention
    regret-envs train swap-attention --out agents/attention/checkpoints/swap-attention
    regret-envs train transformer --layers 2 --estimator hindsight \\
        --out agents/attention/checkpoints/transformer-2
    regret-envs train transformer --layers 4 --estimator hindsight \\
        --out agents/attention/checkpoints/transformer-4
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from regret_envs.agents.attention.checkpoint import Checkpoint
from regret_envs.agents.attention.k_star import k_star
from regret_envs.agents.attention.linear import LinearAttention
from regret_envs.agents.attention.model import AttentionModel
from regret_envs.agents.attention.swap import SwapAttention
from regret_envs.agents.base import Agent
from regret_envs.arrays import FloatArray

SHIPPED = Path(__file__).parent / "checkpoints"


@dataclass(eq=False)
class TrainedAgent(Checkpoint):
    """A checkpoint that comes with the package; it plays the problems it was trained for, no others.

    Args:
        path: its name: a folder of `agents/attention/checkpoints`.
        device: any torch device.
    """

    def _folder(self) -> Path:
        return SHIPPED / self.path

    def unsupported(self, num_actions: int, *, horizon: int | None) -> str | None:
        """Another number of actions or another horizon than it was trained for is not played."""
        recipe = self._config.recipe
        if (num_actions, horizon) == (recipe.num_actions, recipe.horizon):
            return None
        return f"{self.path} was trained for {recipe.num_actions} actions and a horizon of {recipe.horizon}"


@dataclass(eq=False)
class TheoreticalAgent(Agent):
    """Attention at its stationary point, made for the problem when it is reset.

    Args:
        step_size: None: the shipped checkpoint where one was trained for this number of actions and
            horizon, the theoretical point elsewhere; "k_star": the theoretical point everywhere; a
            number: the point of that step size.
    """

    step_size: float | Literal["k_star"] | None = None

    checkpoint: ClassVar[str]

    @abstractmethod
    def _at(self, num_actions: int, horizon: int | None) -> AttentionModel:
        """The model for a problem."""

    def playing(self, num_actions: int, horizon: int | None) -> AttentionModel:
        """The model that plays a problem: the shipped checkpoint, or the theoretical point."""
        trained = TrainedAgent(self.checkpoint)
        fits = self.step_size is None and trained.unsupported(num_actions, horizon=horizon) is None
        return trained.model if fits else self._at(num_actions, horizon)

    def _k(self, num_actions: int, horizon: int | None, scale: int = 1) -> float:
        if isinstance(self.step_size, (int, float)):
            return self.step_size
        if num_actions == 1 or horizon == 1:
            return 1.0  # every step plays the same
        assert horizon is not None
        return scale * k_star(num_actions, horizon)

    def unsupported(self, num_actions: int, *, horizon: int | None) -> str | None:
        """k* depends on the horizon, which has to be known unless a step size is given."""
        if horizon is None and not isinstance(self.step_size, (int, float)):
            return "k* depends on the horizon, and it is unknown: give a step_size"
        return None

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Make the model and begin.

        Raises:
            ValueError: if the horizon is unknown and no step size was given.
        """
        reason = self.unsupported(num_actions, horizon=horizon)
        if reason is not None:
            raise ValueError(reason)
        self._playing = self.playing(num_actions, horizon)
        self._playing.reset(num_actions, horizon=horizon, num_runs=num_runs, rng=rng)

    def act(self) -> FloatArray:
        """The model's policies."""
        return self._playing.act()

    def observe(self, losses: FloatArray) -> None:
        """Show the model the losses."""
        self._playing.observe(losses)


@dataclass(eq=False)
class LinearAttentionAgent(TheoreticalAgent):
    """`LinearAttention.from_step_size(k_star(d, T))`: plays as Hedge(k*)."""

    checkpoint = "linear-attention"
    reference = LinearAttention.reference
    guarantee = LinearAttention.guarantee

    def _at(self, num_actions: int, horizon: int | None) -> AttentionModel:
        return LinearAttention.from_step_size(self._k(num_actions, horizon), num_actions)


_MAX_BYTES = 1 << 29


@dataclass(eq=False)
class SwapAttentionAgent(TheoreticalAgent):
    """`SwapAttention.from_step_size(d · k_star(d, T))`: plays as BlumMansour(Hedge(d k*)).

    The heads share the losses, so the step that is right for one stream is multiplied by d.
    """

    checkpoint = "swap-attention"
    reference = SwapAttention.reference
    guarantee = SwapAttention.guarantee

    def unsupported(self, num_actions: int, *, horizon: int | None) -> str | None:
        """As for all, and not where the d heads' d × d matrices would take more than half a gigabyte."""
        size = 8 * num_actions**3
        if size > _MAX_BYTES:
            return f"the value matrices of {num_actions} heads would take {size / 1e9:.1f} GB"
        return super().unsupported(num_actions, horizon=horizon)

    def _at(self, num_actions: int, horizon: int | None) -> AttentionModel:
        step_size = self._k(num_actions, horizon, scale=num_actions)
        return SwapAttention.from_step_size(step_size, num_actions, form="block")
