"""A stream of one's own, a task on it, and a suite."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regret_envs.benchmarks.tasks.core import Suite
from regret_envs.benchmarks.tasks.task import Task
from regret_envs.worlds import Stream


@dataclass(frozen=True)
class Tides(Stream):
    """Losses in [0, 1] that come and go: a cosine a action, each run with a phase of its own."""

    num_actions: int = 4
    period: int = 50

    @property
    def loss_scale(self):
        """The range of the losses."""
        return 1.0

    def start_run(self, rng, *, run, horizon):
        """The run's phase."""
        return rng.uniform(0, 2 * np.pi)

    def draw(self, rng, state, t, num_rounds):
        """The losses of rounds t + 1 … t + num_rounds."""
        rounds = np.arange(t, t + num_rounds)[:, None]
        actions = np.arange(self.num_actions) / self.num_actions
        return 0.5 - 0.5 * np.cos(2 * np.pi * (rounds / self.period + actions) + state)


TIDES = Task(
    id="tides_d4_t200",
    world="regret_envs_example.tasks:Tides",
    settings={"num_actions": 4},
    horizon=200,
    metrics=("external_regret", "swap_regret"),
    loss_scale=1.0,
    summary="losses that come and go, 4 actions",
)

SUITE = Suite("the tides, and a game", ("tides_d4_t200", "weighted_rps_t20"))
