"""Steps a second of the environments: `python -m regret_envs.benchmarks.speed.environments`.

Needs TorchRL. The PettingZoo environment steps one run at a time; the native Gymnasium vector environment
steps 1,024 in one array, by itself and through TorchRL's `GymWrapper`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import numpy as np
import torch
from torchrl.envs import GymWrapper, PettingZooWrapper

from regret_envs import biased_gaussian_v1
from regret_envs.benchmarks.analysis.tables import Table, show
from regret_envs.benchmarks.speed.__main__ import rate
from regret_envs.envs.parallel import ParallelPlay

NUM_ENVS, HORIZON, ROUNDS = 1024, 100, 300


def step_pettingzoo(environment: ParallelPlay) -> None:
    """Play `ROUNDS` rounds of uniform play."""
    action = np.full(3, 1 / 3, dtype=np.float32)
    for _ in range(ROUNDS):
        if not environment.agents:
            environment.reset()
        environment.step(dict.fromkeys(environment.agents, action))


def step_vector(vector: gymnasium.vector.VectorEnv[Any, Any, Any]) -> None:
    """Play `ROUNDS` rounds of uniform play in all runs."""
    actions = np.full((NUM_ENVS, 3), 1 / 3, dtype=np.float32)
    vector.reset()
    for _ in range(ROUNDS):
        vector.step(actions)


def roll_out(environment: Any, policy: Any = None) -> None:
    """Play `ROUNDS` rounds through TorchRL."""
    with torch.no_grad():
        environment.rollout(ROUNDS, policy, break_when_any_done=False)


def main() -> None:
    """Print the table."""
    make = partial(biased_gaussian_v1.parallel_env, horizon=HORIZON)
    name = "regret_envs/BiasedGaussian-v1"
    make_vec = partial(gymnasium.make_vec, name, num_envs=NUM_ENVS, horizon=HORIZON)
    batch: Any = GymWrapper(make_vec(autoreset_mode="Disabled"))
    actions = torch.full((NUM_ENVS, 3), 1 / 3)
    many = ROUNDS * NUM_ENVS
    rates = {
        "PettingZoo, two agents (the default)": rate(ROUNDS, partial(step_pettingzoo, make())),
        "PettingZoo, one agent": rate(ROUNDS, partial(step_pettingzoo, make(num_agents=1))),
        "PettingZoo through TorchRL, one agent": rate(
            ROUNDS, partial(roll_out, PettingZooWrapper(make(num_agents=1)))
        ),
        f"vector, {NUM_ENVS} runs": rate(many, partial(step_vector, make_vec(autoreset_mode="SameStep"))),
        f"vector through TorchRL, {NUM_ENVS} runs, random actions": rate(many, partial(roll_out, batch)),
        f"vector through TorchRL, {NUM_ENVS} runs, fixed actions": rate(
            many, partial(roll_out, batch, lambda td: td.set("action", actions))
        ),
    }
    base = next(iter(rates.values()))
    rows = [[label, f"{value:,.0f}", f"{value / base:.1f}"] for label, value in rates.items()]
    show([Table("Environments, steps a second", ["environment", "steps / s", "ratio"], rows)])


if __name__ == "__main__":
    main()
