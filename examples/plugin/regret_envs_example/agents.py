"""An agent of your own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regret_envs.agents import Agent


@dataclass(eq=False)
class LazyHedge(Agent):
    """Hedge that changes its policy only every `every` rounds."""

    every: int = 5

    def reset(self, num_actions, *, horizon, num_runs, rng):
        """Begin with uniform policies; the step is Hedge's for losses of range 1."""
        self._step_size = np.sqrt(8 * np.log(num_actions) / (horizon or 1000))
        self._sums = np.zeros((num_runs, num_actions))
        self._policies = np.full((num_runs, num_actions), 1 / num_actions)
        self._t = 0

    def act(self):
        """The policies of the last change."""
        if self._t % self.every == 0:
            weights = np.exp(-self._step_size * (self._sums - self._sums.min(1, keepdims=True)))
            self._policies = weights / weights.sum(1, keepdims=True)
        return self._policies

    def observe(self, losses):
        """Add up the losses."""
        self._sums += losses
        self._t += 1
