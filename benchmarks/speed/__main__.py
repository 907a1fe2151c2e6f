"""How fast it is, next to others in the same run: `python -m regret_envs.benchmarks.speed.__main__`.

Needs the extra `bench`. Rates are the best of a few repetitions on one core; set OMP_NUM_THREADS=1 and
leave the machine alone for figures that mean something. The ratios bear a busy machine better.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

import numpy as np

from regret_envs import games, metrics, simulate
from regret_envs.agents import Agent, BlumMansour, Hedge
from regret_envs.agents.external.regret_matching import RegretMatching
from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.analysis.tables import Table, show

REPETITIONS = 5
STEP_SIZE = 0.1


def rate(count: int, play: Callable[[], object]) -> float:
    """`count` over the time `play` takes, the best of a few."""
    times = []
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        play()
        times.append(time.perf_counter() - start)
    return count / min(times)


def ours(
    agent: type[Agent], game: games.NormalFormGame, horizon: int, num_runs: int, *, one_for_all: bool = False
) -> float:
    """Run-rounds per second of self-play, regrets included; by one agent per seat, or one at both."""

    def play() -> None:
        agents = agent() if one_for_all else [agent() for _ in range(2)]
        result = simulate(game, agents, horizon=horizon, num_runs=num_runs, starting_loss_scale=1.0)
        result.regret("external")
        result.regret("swap")

    return rate(horizon * num_runs, play)


def bare_hedge(payoff: FloatArray, horizon: int, num_runs: int) -> float:
    """Run-rounds a second of a bare numpy loop: both players, both play–loss matrices, runs contiguous."""

    def play() -> None:
        cumulative = np.random.default_rng(0).standard_normal((2, len(payoff), num_runs))
        play_loss = np.zeros((2, len(payoff), len(payoff), num_runs))
        for _ in range(horizon):
            policies = np.exp(-STEP_SIZE * (cumulative - cumulative.min(1, keepdims=True)))
            policies /= policies.sum(1, keepdims=True)
            losses = np.stack([-payoff @ policies[1], payoff.T @ policies[0]])
            cumulative += losses
            play_loss += policies[:, :, None] * losses[:, None]

    return rate(horizon * num_runs, play)


def noregret(kind: str, payoff: FloatArray, horizon: int) -> float:
    """Rounds a second of two of noregret's minimizers in self-play, one run."""
    from noregret import regret_minimizers as peers

    hedge = partial(peers.MultiplicativeWeightsUpdate, learning_rate=STEP_SIZE)
    make = {
        "hedge": hedge,
        "blum-mansour": partial(peers.BlumMansour, regret_minimizer_factory=hedge),
        "regret-matching": peers.RegretMatching,
    }[kind]

    def play() -> None:
        row, column = (make(d) for d in payoff.shape)
        for _ in range(horizon):
            p, q = row.next_strategy(), column.next_strategy()
            row.observe_utility(payoff @ q)
            column.observe_utility(-(p @ payoff))

    return rate(horizon, play)


def open_spiel_regret_matching(payoff: FloatArray, horizon: int) -> float:
    """Rounds a second of OpenSpiel's Python regret matching, without gaps."""
    from open_spiel.python.algorithms import regret_matching

    payoffs = [payoff, -payoff]
    return rate(horizon, lambda: regret_matching.regret_matching(payoffs, iterations=horizon))


def gap_seconds(num_actions: tuple[int, ...]) -> float:
    """Seconds for all gaps of a joint distribution over a random game's action profiles."""
    game = games.random_game(num_actions)
    joint = np.random.default_rng(0).dirichlet(np.ones(np.prod(num_actions))).reshape(num_actions)

    def gaps() -> None:
        for _ in range(20):
            report = metrics.equilibrium_gaps(game, joint)
            for gap in (report.cce, report.ce, report.swap):
                gap.max.item()

    return 1 / rate(20, gaps)


def main() -> None:
    """Print the table."""
    for package in ("noregret", "pyspiel"):
        if find_spec(package) is None:
            sys.exit(f'{package} is not installed: pip install "regret-envs[bench]"')

    rps = games.weighted_rps()
    payoff = rps.payoffs[0]
    random3, random10 = (np.random.default_rng(0).uniform(-1, 1, (d, d)) for d in (3, 10))
    large = np.random.default_rng(0).uniform(-1, 1, (100, 100))
    rows = []

    def compare(what: str, own: float, peer: str, peers: float, target: str) -> None:
        rows.append([what, f"{own:,.0f} /s", f"{peer} {peers:,.0f}", f"{own / peers:,.2f}", target])

    batch = ours(Hedge, rps, 5000, 1024)
    one_by_one = noregret("hedge", payoff, 5000)
    compare("Hedge 3×3, 1,024 runs", batch, "bare numpy", bare_hedge(payoff, 5000, 1024), "10M/s")
    compare("", batch, "noregret", one_by_one, "400×")
    for_all = ours(Hedge, rps, 5000, 1024, one_for_all=True)
    compare("… one agent at both seats", for_all, "one agent per seat", batch, "31M/s")
    compare("Hedge 3×3, one run", ours(Hedge, rps, 20000, 1), "noregret", one_by_one, "2×")
    for matrix, horizon, target in ((random3, 3000, "5M/s"), (random10, 500, "500k/s")):
        game = games.NormalFormGame.zero_sum(matrix)
        compare(
            f"Blum–Mansour d={len(matrix)}, 1,024",
            ours(BlumMansour, game, horizon, 1024),
            "noregret",
            noregret("blum-mansour", matrix, 1000),
            target,
        )
    matching = ours(RegretMatching, games.NormalFormGame.zero_sum(large), 5000, 1)
    compare("RM 100×100, one run", matching, "noregret", noregret("regret-matching", large, 3000), "20k/s")
    compare("", matching, "OpenSpiel", open_spiel_regret_matching(large, 3000), "")
    huge = games.random_game((1000, 1000))
    rows.append(["Hedge 1,000×1,000, one run", f"{ours(Hedge, huge, 300, 1):,.0f} /s", "", "", "300/s"])
    for shape, target in (((100, 100), "0.5 ms"), ((10, 10, 10), "0.15 ms")):
        what = f"all gaps, {len(shape)} × {shape[0]}"
        rows.append([what, f"{1000 * gap_seconds(shape):.3f} ms", "", "", target])
    command = [sys.executable, "-c", "from regret_envs.benchmarks.cli.main import main; main(['list'])"]
    seconds = 1 / rate(1, lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True))
    rows.append(["regret-envs list", f"{seconds:.2f} s", "", "", "0.5 s"])
    note = "Rates are run-rounds a second, metrics included; the ratio is ours over the peer's."
    show([Table("Speed, one core", ["what", "here", "peer", "ratio", "target"], rows, numbers=4, note=note)])
    if find_spec("jax") is None:
        sys.exit('the rows of JAX need the extra: pip install "regret-envs[jax]"')
    from regret_envs.benchmarks.speed.compiled import table

    show([table()])


if __name__ == "__main__":
    main()
