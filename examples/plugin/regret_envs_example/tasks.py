"""A stream of your own, a metric, a task with both, and a suite."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regret_envs.benchmarks.tasks.core import Suite
from regret_envs.benchmarks.tasks.task import Task
from regret_envs.metrics import Metric
from regret_envs.worlds import Stream


@dataclass(frozen=True)
class Tides(Stream):
    """Losses in [0, 1] that come and go: one cosine per action, each run with its own phase."""

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


REGRET_PER_ROUND = Metric(
    name="regret_per_round",
    of=lambda play: play.regret("external") / play.t,
    unit="loss per round",
    summary="external regret over the number of rounds",
    normalize="gap",
)

TIDES = Task(
    id="tides_d4_t200",
    world="regret_envs_example.tasks:Tides",
    settings={"num_actions": 4},
    horizon=200,
    metrics=("external_regret", "regret_per_round"),
    loss_scale=1.0,
    summary="losses that come and go, 4 actions",
)

SUITE = Suite("the tides, and a game", ("tides_d4_t200", "weighted_rps_t20"))
