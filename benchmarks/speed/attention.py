"""How fast attention trains and plays: `python -m regret_envs.benchmarks.speed.attention`.

Needs the extra `torch`. On one core; processor time, so that a busy machine spoils little.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch

from regret_envs.agents.attention.recipe import default_recipe
from regret_envs.agents.attention.training import Trainer
from regret_envs.agents.attention.transformer import Transformer
from regret_envs.benchmarks.analysis.tables import Table, show

_STEPS = 50
_RUNS, _HORIZON, _REPETITIONS = 256, 200, 5


def seconds(work: Callable[[], object]) -> float:
    """Processor time of `work`, the best of a few."""
    times = []
    for _ in range(_REPETITIONS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def training_seconds(model: str, **settings: int) -> float:
    """What the default recipe takes, from the time of a few of its steps."""
    trainer = Trainer(default_recipe(model, settings=settings))

    def steps() -> None:
        for _ in range(_STEPS):
            trainer.train_step()

    return seconds(steps) / _STEPS * trainer.recipe.num_steps


def cache_ratio() -> float:
    """A pass over the prefix over a round of play, in the last rounds of a game of 200."""
    model = Transformer(3, horizon=_HORIZON, generator=torch.Generator().manual_seed(0))
    losses = np.random.default_rng(0).standard_normal((_HORIZON, _RUNS, 3))
    model.reset(3, horizon=_HORIZON, num_runs=_RUNS, rng=np.random.default_rng(0))

    def play_round(t: int) -> None:
        model.act()
        model.observe(losses[t])

    for t in range(_HORIZON - _REPETITIONS):
        play_round(t)
    rounds = iter(range(_HORIZON - _REPETITIONS, _HORIZON))
    cached = seconds(lambda: play_round(next(rounds)))
    whole = torch.from_numpy(losses.swapaxes(0, 1).astype(np.float32))
    with torch.no_grad():
        return seconds(lambda: model(whole)) / cached


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    rows = [
        ["linear attention trains, s (at most 20)", f"{training_seconds('linear-attention'):.1f}"],
        ["swap attention trains, s (at most 40)", f"{training_seconds('swap-attention'):.1f}"],
        ["2-layer Transformer trains, s (at most 300)", f"{training_seconds('transformer', layers=2):.1f}"],
        ["4-layer Transformer trains, s", f"{training_seconds('transformer', layers=4):.1f}"],
        ["prefix over cached round, T = 200, 256 runs (at least 20)", f"{cache_ratio():.0f}"],
    ]
    show([Table("Attention, one core", ["what", "measured"], rows, numbers=1)])


if __name__ == "__main__":
    main()
