"""The suite in JAX beside a hand-written scan and NumPy: `python -m regret_envs.benchmarks.speed.compiled`.

Needs the extra `jax`; `python -m regret_envs.benchmarks.speed` prints this table too. What is compared takes
turns, so that a busy machine slows all of it; rates are the best of a few turns, metrics included in ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import Array

from regret_envs import games, simulate
from regret_envs import jax as rj
from regret_envs.agents import Agent, BlumMansour, Hedge, RegretMatchingPlus
from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.analysis.tables import Table, show
from regret_envs.play import Play

REPETITIONS = 5
STEP_SIZE = 0.05
NUM_ENVS, ENV_ROUNDS = 1024, 300

Work = tuple[int, Callable[[], object]]
"""How many run-rounds, and what plays them."""


def rates(works: dict[str, Work]) -> dict[str, float]:
    """Run-rounds a second of each, the best of a few turns; one turn before compiles."""
    best = dict.fromkeys(works, np.inf)
    for turn in range(1 + REPETITIONS):
        for name, (_, play) in works.items():
            start = time.perf_counter()
            play()
            if turn:
                best[name] = min(best[name], time.perf_counter() - start)
    return {name: count / best[name] for name, (count, _) in works.items()}


def compiled(rule: rj.Rule, game: games.NormalFormGame, horizon: int, num_runs: int, dtype: str) -> Work:
    """Self-play in JAX."""

    def play() -> None:
        keywords: dict[str, Any] = dict(horizon=horizon, num_runs=num_runs, starting_loss_scale=1.0)
        measure(rj.simulate(game, [rule, rule], dtype=dtype, **keywords))

    return horizon * num_runs, play


def interpreted(agent: Callable[[], Agent], game: games.NormalFormGame, horizon: int, num_runs: int) -> Work:
    """Self-play in NumPy."""

    def play() -> None:
        keywords: dict[str, Any] = dict(horizon=horizon, num_runs=num_runs, starting_loss_scale=1.0)
        measure(simulate(game, [agent(), agent()], **keywords))

    return horizon * num_runs, play


def measure(play: Play) -> None:
    """Regrets and gaps."""
    play.regret("external")
    play.gaps().ce.max.mean()


def bare_scan(payoff: FloatArray, horizon: int, num_runs: int, dtype: str) -> Work:
    """A hand-written scan of Hedge against Hedge: policies, losses, both play–loss sums, and nothing else."""
    row = jnp.asarray(payoff, dtype)
    shape = (len(payoff), *((num_runs,) if num_runs > 1 else ()))

    def policy(cumulative: Array) -> Array:
        weights = jnp.exp(-STEP_SIZE * (cumulative - cumulative.min(0)))
        return weights / weights.sum(0)

    def one_round(state: Any, _: None) -> tuple[Any, None]:
        c, d, m, n = state
        p, q = policy(c), policy(d)
        k, l = -row @ q, row.T @ p  # noqa: E741
        return (c + k, d + l, m + p[:, None] * k, n + q[:, None] * l), None

    @jax.jit
    def run(c: Array, d: Array) -> Any:
        zero = jnp.zeros((len(payoff), *shape), dtype)
        return jax.lax.scan(one_round, (c, d, zero, zero), None, length=horizon)[0]

    starts = [jnp.asarray(np.random.default_rng(n).standard_normal(shape), dtype) for n in range(2)]
    return horizon * num_runs, lambda: jax.block_until_ready(run(*starts))


def compiled_environment(actions: npt.NDArray[np.float32]) -> Work:
    """Given actions (rounds, d, num_envs) in as many environments, which are the last axis."""
    env = rj.SinglePlay(games.weighted_rps(), opponents=rj.hedge(), horizon=100)

    @jax.jit
    def run(key: Array, actions: Array) -> Array:
        keys = jax.random.split(key, actions.shape[-1])

        def one_round(carry: tuple[Any, Array], action: Array) -> tuple[tuple[Any, Array], None]:
            observations, state, rewards, _, _ = env.step(keys, carry[0], action)
            return (state, carry[1] + rewards + observations.sum(0)), None

        state = jax.vmap(env.reset, -1, -1)(keys)[1]
        return jax.lax.scan(one_round, (state, jnp.zeros(len(keys))), actions)[0][1]

    given = jnp.asarray(actions)
    return actions.size // 3, lambda: jax.block_until_ready(run(jax.random.key(0), given))


def gymnasium_environment(actions: npt.NDArray[np.float32]) -> Work:
    """The same actions in the Gymnasium vector environment, against the same opponent."""
    vector = gymnasium.make_vec(
        "regret_envs/WeightedRPS-v1", num_envs=actions.shape[-1], horizon=100, autoreset_mode="SameStep"
    )
    vector.reset(seed=0)
    given = np.ascontiguousarray(actions.swapaxes(1, 2))

    def play() -> None:
        for action in given:
            vector.step(action)

    return actions.size // 3, play


def compile_seconds(rules: list[rj.Rule], game: games.NormalFormGame, num_runs: int) -> float:
    """Seconds that a cell of two rules compiles, nothing compiled before."""
    jax.clear_caches()
    keywords: dict[str, Any] = dict(num_runs=num_runs, starting_loss_scale=1.0, dtype="float32")
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        rj.simulate(game, rules, horizon=10, **keywords)
        seconds.append(time.perf_counter() - start)
    return seconds[0] - seconds[1]


def table() -> Table:
    """The table; switches JAX's 64-bit mode on."""
    rps = games.weighted_rps()
    rng = np.random.default_rng(0)
    random = {d: games.NormalFormGame.zero_sum(rng.uniform(-1, 1, (d, d))) for d in (3, 10, 100)}
    rows: list[list[str]] = []

    def compare(what: str, works: dict[str, Work], targets: dict[str, str]) -> None:
        found = rates(works)
        own = found.pop("here")
        for peer, value in found.items():
            rows.append([what, f"{own:,.0f} /s", f"{peer} {value:,.0f}", f"{own / value:.2f}", targets[peer]])

    # In JAX's default float32, as it is used.
    actions = rng.random((ENV_ROUNDS, 3, NUM_ENVS), dtype=np.float32)
    compare(
        "environment, 1,024 × weighted RPS, random actions",
        {"here": compiled_environment(actions), "Gymnasium vector": gymnasium_environment(actions)},
        {"Gymnasium vector": "20"},
    )
    jax.config.update("jax_enable_x64", True)
    hedge = partial(Hedge, STEP_SIZE)
    sizes = {
        (1, "float64"): 1_000_000,
        (1, "float32"): 3_000_000,
        (1024, "float64"): 8000,
        (1024, "float32"): 20000,
    }
    asked = {(1, "float64"): "30", (1, "float32"): "", (1024, "float64"): "2", (1024, "float32"): "3"}
    for (num_runs, dtype), horizon in sizes.items():
        compare(
            f"Hedge 3×3, {num_runs:,} runs, {dtype}".replace("1 runs", "one run"),
            {
                "here": compiled(rj.hedge(STEP_SIZE), rps, horizon, num_runs, dtype),
                "bare scan": bare_scan(rps.payoffs[0], horizon, num_runs, dtype),
                "NumPy": interpreted(hedge, rps, 20000 if num_runs == 1 else 3000, num_runs),
            },
            {"bare scan": "0.8", "NumPy": asked[num_runs, dtype]},
        )
    for d, horizon in ((3, 3000), (10, 300)):
        compare(
            f"Blum–Mansour d={d}, 1,024 runs, float32",
            {
                "here": compiled(rj.blum_mansour(), random[d], horizon, 1024, "float32"),
                "NumPy": interpreted(BlumMansour, random[d], horizon, 1024),
            },
            {"NumPy": "2"},
        )
    compare(
        "RM+ 100×100, one run, float64",
        {
            "here": compiled(rj.regret_matching_plus(), random[100], 20000, 1, "float64"),
            "NumPy": interpreted(RegretMatchingPlus, random[100], 5000, 1),
        },
        {"NumPy": "1.2"},
    )
    for what, rules, game in (
        ("Hedge, Blum–Mansour, 3×3", [rj.hedge(0.1), rj.blum_mansour()], random[3]),
        ("two Blum–Mansour, 10×10", [rj.blum_mansour()] * 2, random[10]),
    ):
        for num_runs in (1, 1024):
            seconds = compile_seconds(rules, game, num_runs)
            rows.append([f"to compile: {what}, {num_runs:,} run(s)", f"{seconds:.2f} s", "", "", "≤ 3 s"])
    note = "Rates are run-rounds (steps) a second, metrics included; the ratio is ours over the peer's."
    return Table("JAX, one core", ["what", "here", "peer", "ratio", "asked"], rows, numbers=4, note=note)


if __name__ == "__main__":
    show([table()])
