"""Steps a second next to other libraries' environments: `python -m regret_envs.benchmarks.speed.peers`.

Needs the extra `openspiel` and pygame, which PettingZoo's rock–paper–scissors imports. Contenders take turns
in one process, so that a busy machine slows all of them down; figures are medians over the turns. Set
OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import gymnasium
import numpy as np
import pyspiel
from open_spiel.python import rl_environment
from pettingzoo.classic import rps_v2

from regret_envs import weighted_rps_v1
from regret_envs.benchmarks.analysis.tables import Table, show

HORIZON, TURNS, SECONDS = 100, 7, 0.08

rng = np.random.default_rng(0)
PURE = rng.integers(3, size=64).tolist()
MIXED = list(rng.random((64, 3)).astype(np.float32))

Play = Callable[[int], None]
"""Plays a number of rounds."""


def parallel(environment: Any, actions: list[Any]) -> Play:
    """A PettingZoo `ParallelEnv`."""

    def play(rounds: int) -> None:
        for k in range(rounds):
            if not environment.agents:
                environment.reset()
            environment.step(dict.fromkeys(environment.agents, actions[k % len(actions)]))

    environment.reset()
    return play


def sequential(environment: Any, actions: list[Any]) -> Play:
    """A PettingZoo `AECEnv` of two agents."""

    def play(rounds: int) -> None:
        for k in range(rounds):
            if not environment.agents:
                environment.reset()
            for _ in range(2):
                _, _, terminated, truncated, _ = environment.last()
                environment.step(None if terminated or truncated else actions[k % len(actions)])

    environment.reset()
    return play


def single(name: str, actions: list[Any], **settings: Any) -> Play:
    """A Gymnasium `Env`."""
    environment = gymnasium.make(name, disable_env_checker=True, **settings)
    environment.reset(seed=0)

    def play(rounds: int) -> None:
        for k in range(rounds):
            _, _, terminated, truncated, _ = environment.step(actions[k % len(actions)])
            if terminated or truncated:
                environment.reset()

    return play


def vector(name: str, num_envs: int, **settings: Any) -> Play:
    """A native Gymnasium `VectorEnv`; a round is one of all runs."""
    mode: Any = "vector_entry_point"
    environment = gymnasium.make_vec(name, num_envs=num_envs, vectorization_mode=mode, **settings)
    environment.action_space.seed(0)
    actions = [environment.action_space.sample() for _ in range(16)]
    environment.reset(seed=0)

    def play(rounds: int) -> None:
        for k in range(rounds):
            environment.step(actions[k % len(actions)])

    return play


def openspiel() -> Play:
    """OpenSpiel's `rl_environment` on repeated rock–paper–scissors."""
    game = pyspiel.create_repeated_game(pyspiel.load_game("matrix_rps"), {"num_repetitions": HORIZON})
    environment = rl_environment.Environment(game)

    def play(rounds: int) -> None:
        step = environment.reset()
        for k in range(rounds):
            step = environment.reset() if step.last() else environment.step([k % 3, (k + 1) % 3])

    return play


def rates(contenders: dict[str, Play]) -> dict[str, float]:
    """Rounds a second of each, the median over interleaved turns."""
    measured: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(TURNS):
        for name, play in contenders.items():
            rounds, start = 0, time.process_time()
            while (taken := time.process_time() - start) < SECONDS:
                play(50)
                rounds += 50
            measured[name].append(rounds / taken)
    return {name: median(turns) for name, turns in measured.items()}


def main() -> None:
    """Print the table."""
    gaussian, rps = "regret_envs/BiasedGaussian-v1", "regret_envs/WeightedRPS-v1"
    pure: dict[str, Any] = {"action_mode": "discrete"}
    length: dict[str, Any] = {"horizon": HORIZON}
    against: dict[str, Any] = {**length, **pure, "opponents": "uniform"}
    contenders = {
        "parallel, discrete": parallel(weighted_rps_v1.parallel_env(**length, **pure), PURE),
        "parallel, mixed": parallel(weighted_rps_v1.parallel_env(**length), MIXED),
        "rps_v2, parallel": parallel(rps_v2.parallel_env(max_cycles=HORIZON), PURE),
        "OpenSpiel rl_environment": openspiel(),
        "AEC, discrete": sequential(weighted_rps_v1.env(**length, **pure), PURE),
        "AEC, mixed": sequential(weighted_rps_v1.env(**length), MIXED),
        "rps_v2, AEC": sequential(rps_v2.env(max_cycles=HORIZON), PURE),
        "Gymnasium, biased Gaussian": single(gaussian, MIXED, **length),
        "Gymnasium, RPS against hedge": single(rps, MIXED, **length),
        "Gymnasium, discrete RPS against uniform": single(rps, PURE, **against),
        "CartPole": single("CartPole-v1", [action % 2 for action in PURE]),
    }
    pairs = [
        ("parallel, discrete", "rps_v2, parallel", 2.0),
        ("parallel, discrete", "OpenSpiel rl_environment", 0.35),
        ("parallel, mixed", "rps_v2, parallel", 2.5),
        ("AEC, discrete", "rps_v2, AEC", 1.0),
        ("AEC, mixed", "rps_v2, AEC", 1.0),
        ("Gymnasium, biased Gaussian", "CartPole", 0.6),
        ("Gymnasium, RPS against hedge", "CartPole", 0.3),
        ("Gymnasium, discrete RPS against uniform", "CartPole", 0.3),
    ]
    for num_envs, asked in ((64, (1.5, 1.2, 1.0)), (1024, (1.0, 1.0, 0.6))):
        ours = {
            f"vector {num_envs:,}, biased Gaussian": vector(gaussian, num_envs, **length),
            f"vector {num_envs:,}, RPS against hedge": vector(rps, num_envs, **length),
            f"vector {num_envs:,}, discrete RPS against uniform": vector(rps, num_envs, **against),
        }
        peer = f"vector {num_envs:,}, CartPole"
        contenders |= {**ours, peer: vector("CartPole-v1", num_envs)}
        pairs += [(name, peer, ratio) for name, ratio in zip(ours, asked, strict=True)]
    measured = rates(contenders)
    rows = [
        [
            ours,
            f"{measured[ours]:,.0f}",
            theirs,
            f"{measured[theirs]:,.0f}",
            f"{measured[ours] / measured[theirs]:.2f}",
            f"{target:g}",
        ]
        for ours, theirs, target in pairs
    ]
    columns = ["ours", "rounds / s", "next to", "rounds / s", "ratio", "target"]
    show([Table("Environments next to other libraries', all runs of a batch a round", columns, rows)])


if __name__ == "__main__":
    main()
