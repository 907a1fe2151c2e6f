"""Swap regret and seconds over the number of actions and the horizon.

`python -m regret_envs.benchmarks.speed.many_actions` writes many_actions.csv, and with the extra `plot`
many_actions.png. The whole grid takes about ten minutes of one core, `--quick` a few seconds.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import click

from regret_envs import games, simulate, streams
from regret_envs.agents import Agent, make
from regret_envs.agents.swap import stationary
from regret_envs.benchmarks.plotting.looks import COLORS
from regret_envs.worlds import World

AGENTS = {
    "TreeSwap": "tree-swap",
    "Blum–Mansour, warm": "blum-mansour",
    "Blum–Mansour, elimination": "blum-mansour",
    "Blum–Mansour, log barrier": "blum-mansour-log-barrier",
}
WORLDS: dict[str, Callable[[int], World]] = {
    "drifting means": streams.DriftingMean,
    "self-play in a random game": lambda d: games.RandomGames((d, d)),
}
ACTIONS, HORIZONS = (10, 30, 100, 300, 1000), (100, 300, 1000)
MOST = 300_000
"""Points of more actions times rounds are left out."""
QUICK_ACTIONS, QUICK_HORIZONS = (10, 30, 100), (100, 300)
NUM_RUNS = 2


@dataclass(frozen=True)
class Point:
    """Attributes: `swap_regret` is that of a round, the mean over runs and players; `seconds` of one run."""

    world: str
    agent: str
    num_actions: int
    horizon: int
    swap_regret: float
    seconds: float


def measure(world: str, agent: str, num_actions: int, horizon: int) -> Point:
    """Play and time one point."""
    made = WORLDS[world](num_actions)
    seats: Agent | list[Agent] = make(AGENTS[agent])
    begun = time.process_time()
    play = simulate(
        made,
        seats,
        horizon=horizon,
        num_runs=NUM_RUNS,
        starting_loss_scale=1.0 if isinstance(made, games.Game) else 0.0,
    )
    seconds = (time.process_time() - begun) / NUM_RUNS
    return Point(world, agent, num_actions, horizon, float(play.regret("swap").mean()) / horizon, seconds)


def grid(actions: tuple[int, ...], horizons: tuple[int, ...]) -> Iterator[Point]:
    """All points, the cheap ones first."""
    for num_actions in actions:
        for horizon in (t for t in horizons if t * num_actions <= MOST):
            for world in WORLDS:
                for agent in AGENTS:
                    steps = stationary.MOST_STEPS
                    if agent.endswith("elimination"):
                        stationary.MOST_STEPS = 0
                    try:
                        yield measure(world, agent, num_actions, horizon)
                    finally:
                        stationary.MOST_STEPS = steps


def plot(points: list[Point], path: Path) -> None:
    """Swap regret per round and seconds over d: one column per world, one line per agent and T."""
    from matplotlib.figure import Figure

    horizons = sorted({point.horizon for point in points})
    figure = Figure(figsize=(11, 8), layout="constrained")
    axes = figure.subplots(2, len(WORLDS), sharex=True, squeeze=False)
    for column, world in enumerate(WORLDS):
        for color, marker, agent in zip(COLORS, "osD^", AGENTS, strict=False):
            for horizon in horizons:
                line = [p for p in points if (p.world, p.agent, p.horizon) == (world, agent, horizon)]
                style = {
                    "color": color,
                    "marker": marker,
                    "alpha": (1 + horizons.index(horizon)) / len(horizons),
                    "label": agent if horizon == horizons[-1] else None,
                }
                actions = [p.num_actions for p in line]
                axes[0, column].loglog(actions, [p.swap_regret for p in line], **style)
                axes[1, column].loglog(actions, [p.seconds for p in line], **style)
        axes[0, column].set_title(world)
        axes[1, column].set_xlabel("number of actions")
    axes[0, 0].set_ylabel("swap regret per round")
    axes[1, 0].set_ylabel("seconds per run")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    title = f"T = {', '.join(map(str, horizons))}: faint to full"
    figure.legend(handles, labels, loc="outside lower center", ncols=len(AGENTS), title=title)
    figure.savefig(path, dpi=150)


@click.command()
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("many-actions"))
@click.option("--quick", is_flag=True, help="10 to 100 actions alone.")
def main(out: Path, quick: bool) -> None:
    """Swap regret and seconds of TreeSwap and of Blum–Mansour over the number of actions and the horizon."""
    out.mkdir(parents=True, exist_ok=True)
    points = []
    with (out / "many_actions.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(Point)])
        for point in grid(*((QUICK_ACTIONS, QUICK_HORIZONS) if quick else (ACTIONS, HORIZONS))):
            points.append(point)
            writer.writerow(astuple(point))
            file.flush()
            click.echo(
                f"d = {point.num_actions}, T = {point.horizon}, {point.world}, {point.agent}: "
                f"{point.swap_regret:.4f} a round, {point.seconds:.3g} s"
            )
    try:
        plot(points, out / "many_actions.png")
    except ImportError as error:
        click.echo(f'no picture: {error.name} is not installed: pip install "regret-envs[plot]"', err=True)


if __name__ == "__main__":
    main()
