"""Paths of play in the triangle of three actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from regret_envs import simulate
from regret_envs.agents import registry
from regret_envs.agents.llm.credentials import trusting
from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.analysis.equilibria import cce_marginals, nash_equilibria
from regret_envs.benchmarks.plotting.looks import (
    COLORS,
    in_style,
    look,
    on_axes,
    outside_legend,
    write_caption,
)
from regret_envs.benchmarks.running.planning import plan
from regret_envs.benchmarks.running.runner import seated
from regret_envs.benchmarks.tasks.task import Task, make_feedback, make_world
from regret_envs.games import NormalFormGame
from regret_envs.play import Play
from regret_envs.play.hooks import misfit
from regret_envs.worlds import World

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
_INK, _REGION = "#1a1a1a", "#dcdcdc"
MOST_ROUNDS = 2000
_MOST_POINTS = 500


class SimplexError(ValueError):
    """Play that has no picture in the triangle of three actions; says why."""


@in_style
def simplex(
    play: Play | Mapping[str, Play],
    *,
    world: World | None = None,
    player: int = 0,
    num_runs: int = 3,
    action_names: Sequence[str] | None = None,
    equilibria: bool = True,
    field: bool = False,
    axes: Axes | None = None,
    legend: bool = True,
    caption: bool = True,
) -> Axes:
    """Policies (thin) and their time averages (thick) of several agents and runs in one triangle.

    A ring marks the first policy, a disk the last average. Of a game of two players, stars are the Nash
    equilibria (by support enumeration), and the shaded region holds the marginals of all coarse correlated
    equilibria (by linear programs).

    Args:
        play: play with recorded policies, as of `simulate(..., record="policies")`; several ones by the
            spec or name of their agent.
        world: what was played, which gives the actions' names, the equilibria and the directions.
        player: whose policies.
        num_runs: at most so many runs of each play.
        action_names: at the corners; None: the world's, or numbers.
        equilibria: whether to draw them, where the world is a normal-form game of two players.
        field: whether to draw the direction p ⊙ (⟨p, ℓ⟩ − ℓ) in which Hedge with small steps moves: in a
            symmetric game against the same policy, in others against the opponent's last average.
        axes: where to draw; None: a new figure.
        legend, caption: whether to write them.

    Raises:
        SimplexError: if the policies were not recorded, the player has not three actions, or there is no
            field since the world is not a normal-form game of two players.
    """
    plays = {"policies": play} if isinstance(play, Play) else dict(play)
    for name, each in plays.items():
        _check(name, each, player)
    game = world if isinstance(world, NormalFormGame) and world.num_players == 2 else None
    if field and game is None:
        raise SimplexError("a field of directions needs world to be a normal-form game of two players")
    axes = on_axes(axes, (5.6, 3.9))
    axes.fill(*_CORNERS.T, facecolor="none", edgecolor="#767676", linewidth=0.9, zorder=1)
    if game is not None and field:
        last = next(iter(plays.values()))
        _draw_field(axes, game, player, last.mean_policies[1 - player].mean(0))
    count = 0
    for name, each in plays.items():
        color = COLORS[0] if isinstance(play, Play) else look(name).color
        count = min(num_runs, each.num_runs)
        for run in range(count):
            _draw_path(axes, _path(each, player, run), color, name if run == 0 else "")
    if game is not None and equilibria:
        _draw_equilibria(axes, game, player)
    _draw_corners(axes, action_names or _names(world, player))
    if legend:
        axes.plot([], [], "o", mfc="#ffffff", mec=_INK, markersize=5, linestyle="none", label="first policy")
        axes.plot([], [], "o", color=_INK, markersize=5, linestyle="none", label="last average")
        outside_legend(axes)
    if caption:
        runs = "one run" if count == 1 else f"{count} runs"
        horizon = next(iter(plays.values())).t
        note = f"Policies of player {player} (thin) and their time averages (thick)"
        write_caption(axes, [f"{note}, {runs} of {horizon:,} rounds."])
    return axes


def _check(name: str, play: Play, player: int) -> None:
    if play.policies is None:
        raise SimplexError(f'the policies of {name} were not recorded: simulate(..., record="policies")')
    if not 0 <= player < play.num_players:
        raise SimplexError(f"there is no player {player}: {name} has players 0 to {play.num_players - 1}")
    d = play.policies[player].shape[2]
    if d != 3:
        raise SimplexError(f"a triangle shows three actions, and player {player} of {name} has {d}")


def _path(play: Play, player: int, run: int) -> tuple[FloatArray, FloatArray]:
    """Policies and running averages at up to `_MOST_POINTS` rounds, denser early on, arrays (points, 3)."""
    assert play.policies is not None
    policies = play.policies[player][:, run]
    average = np.cumsum(policies, axis=0) / np.arange(1, play.t + 1)[:, None]
    at = np.unique((np.linspace(0, np.sqrt(play.t - 1), _MOST_POINTS) ** 2).round().astype(int))
    return policies[at], average[at]


def _draw_path(axes: Axes, path: tuple[FloatArray, FloatArray], color: str, label: str) -> None:
    policies, average = (points @ _CORNERS for points in path)
    axes.plot(*policies.T, color=color, linewidth=0.5, alpha=0.4, zorder=3, label="_")
    axes.plot(*average.T, color=color, linewidth=1.8, zorder=4, label=label or "_", solid_capstyle="round")
    axes.plot(*policies[0], "o", mfc="#ffffff", mec=color, markersize=5, zorder=5, label="_")
    axes.plot(*average[-1], "o", color=color, mec="#ffffff", mew=0.6, markersize=6, zorder=6, label="_")


def _names(world: World | None, player: int) -> Sequence[str]:
    if isinstance(world, NormalFormGame):
        names = world.action_names[player]
        if names != ("0", "1", "2"):
            return names
    return [f"action {a}" for a in range(3)]


def _draw_corners(axes: Axes, names: Sequence[str]) -> None:
    for name, (x, y), align in zip(names, _CORNERS, ("left", "right", "center"), strict=True):
        below = y == 0
        axes.annotate(
            name,
            (x, y),
            xytext=({"left": -8, "right": 8, "center": 0}[align], -5 if below else 4),
            textcoords="offset points",
            ha=align,
            va="top" if below else "bottom",
        )
    axes.set_xlim(-0.04, 1.04)
    axes.set_ylim(-0.09, 0.9)
    axes.set_aspect("equal")
    axes.axis("off")


def _draw_equilibria(axes: Axes, game: NormalFormGame, player: int) -> None:
    row, column = game.losses
    angles = np.linspace(0, 2 * np.pi, 49)[:-1]
    # Directions in the plane of the triangle.
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ _CORNERS.T
    region = cce_marginals(row, column, player=player, directions=directions) @ _CORNERS
    if np.ptp(region, axis=0).max() > 0.01:
        axes.fill(
            *region.T, facecolor=_REGION, edgecolor="#9a9a9a", linewidth=0.6, zorder=0, label="CCE marginals"
        )
    nash = np.array([pair[player] for pair in nash_equilibria(row, column)]).reshape(-1, 3) @ _CORNERS
    star: dict[str, Any] = {"color": _INK, "mec": "#ffffff", "mew": 0.7, "markersize": 11}
    axes.plot(*nash.T, "*", linestyle="none", zorder=7, label="Nash equilibrium", **star)


def _draw_field(axes: Axes, game: NormalFormGame, player: int, opponent: FloatArray) -> None:
    steps = 11
    grid = np.array([(i, j, steps - i - j) for i in range(1, steps) for j in range(1, steps - i)]) / steps
    own = game.losses[0] if player == 0 else game.losses[1].T
    symmetric = own.shape[0] == own.shape[1] and np.allclose(game.losses[0], game.losses[1].T)
    losses = (grid if symmetric else np.broadcast_to(opponent, (len(grid), len(opponent)))) @ own.T
    motion = grid * ((grid * losses).sum(1, keepdims=True) - losses)
    moved = motion @ _CORNERS
    length = np.linalg.norm(moved, axis=1, keepdims=True)
    moved = np.divide(moved, length, out=np.zeros_like(moved), where=length > 1e-12)
    x, y = (grid @ _CORNERS).T
    axes.quiver(x, y, *moved.T, color="#a8a8a8", scale=24, width=0.003, pivot="mid", zorder=2)


def replay(
    task: Task, agent: str, *, num_runs: int = 1, seed: int = 0, most_rounds: int = MOST_ROUNDS
) -> tuple[Play, World, int]:
    """The first runs of a task again, with recorded policies, and the world and the agent's seat.

    A language model plays from its cache alone.

    Args:
        task: the task, in which a player has three actions.
        agent: the spec of the agent.
        num_runs: at most so many runs.
        seed: as of the results.
        most_rounds: longer games are cut here.

    Raises:
        SimplexError: if the agent's seat has not three actions, or the agent does not play the task.
    """
    world = make_world(task)
    num_actions = world.seats(world.default_seats())
    seat = task.seat if task.opponents else 0
    if num_actions[seat] != 3:
        raise SimplexError(f"{task.id}: a triangle shows three actions, and there are {num_actions[seat]}")
    layers = make_feedback(task)
    horizon = min(task.horizon, most_rounds)
    cell = plan("figures", [task], [agent], runs=num_runs, seed=seed)[0]
    with trusting("offline"):
        agents = seated(cell, num_actions, layers, make=registry.make)
    for each, d in zip(agents, num_actions, strict=False):
        if reason := misfit(each, d, horizon, layers):
            raise SimplexError(f"{agent} does not play {task.id}: {reason}")
    playing = agents[0] if len(agents) < len(num_actions) else agents
    play = simulate(
        world,
        playing,
        horizon=horizon,
        num_runs=cell.num_runs,
        seed=cell.seed,
        starting_loss_scale=task.starting_loss_scale,
        feedback=layers,
        record="policies",
    )
    return play, world, seat
