"""Tournaments: everyone against everyone in a game of two players, in both seats.

Seats are filled with agents made anew from their specs; an agent is shown losses alone and never sees
its opponent's object.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from regret_envs import games, simulate
from regret_envs.agents import registry
from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.analysis.leaderboard import estimate
from regret_envs.benchmarks.analysis.nash_averaging import nash_averaging
from regret_envs.benchmarks.running import runner
from regret_envs.benchmarks.running.results import Row, complete_cells
from regret_envs.benchmarks.running.runner import BLOCK_RUNS, Cell, cell_row, failed_row
from regret_envs.benchmarks.tasks.task import Task, make_world


class Pairing(msgspec.Struct, frozen=True):
    """What an ordered pair of agents came to; standard errors over runs, None for a single one.

    Attributes:
        row, column: the agents in seats 0 and 1.
        num_runs: runs.
        payoff, payoff_error: each seat's mean payoff a round.
        external_regret, swap_regret: each seat's mean regret over all rounds.
        cce_gap, ce_gap: of the average joint play, the larger of the two seats' gaps, mean over runs.
    """

    row: str
    column: str
    num_runs: int
    payoff: tuple[float, float]
    payoff_error: tuple[float | None, float | None]
    external_regret: tuple[float, float]
    swap_regret: tuple[float, float]
    cce_gap: float
    ce_gap: float


class Standing(msgspec.Struct, frozen=True):
    """An agent in the ranking.

    Attributes:
        rank: by mean payoff, highest first.
        agent: its spec.
        mean_payoff, error: over all opponents, itself included, and both seats; its standard error.
        nash: its weight in the maximum-entropy equilibrium of the meta-game.
        nash_payoff: its payoff in the meta-game against that equilibrium, at most 0.
    """

    rank: int
    agent: str
    mean_payoff: float
    error: float | None
    nash: float
    nash_payoff: float


class Tournament(msgspec.Struct, frozen=True):
    """All pairings, row by row of `agents`, the ranking, and notes on who is left out.

    The meta-game pays an agent half of what it gets more than its opponent, over both seats. In a game
    that is not zero-sum this is about doing better than the opponent, not about doing well.
    """

    task: str
    agents: list[str]
    pairings: list[Pairing]
    standings: list[Standing]
    notes: list[str]

    def payoffs(self) -> FloatArray:
        """(n, n): the row agent's payoff in seat 0 against the column agent in seat 1."""
        n = len(self.agents)
        return np.array([p.payoff[0] for p in self.pairings]).reshape(n, n)


def tournament_task(game: str, horizon: int, settings: dict[str, Any] | None = None) -> Task:
    """The task whose pairings a tournament plays.

    Raises:
        UnknownNameError: if there is no such game; lists the near matches.
        ValueError: if it is not a game of two players.
    """
    world = games.make(game, **(settings or {}))
    if world.num_players != 2:
        raise ValueError(f"a tournament needs a game of 2 players, and {game} has {world.num_players}")
    return Task(
        id=f"tournament_{game}_t{horizon}",
        world=f"games.{game}",
        settings=settings or {},
        horizon=horizon,
        metrics=("payoff",),
        loss_scale=world.loss_scale,
        starting_loss_scale=1.0,
        summary=f"everyone against everyone in {game}",
    )


def plan_tournament(task: Task, agents: Iterable[str], *, runs: int, seed: int) -> list[Cell]:
    """A cell an ordered pair and block of runs; errors as `runner.plan`."""
    cells = runner.plan("tournament", [task], agents, runs=runs, seed=seed)
    sources = {cell.agent: cell.source for cell in cells}
    return [
        msgspec.structs.replace(
            cell, opponent=opponent, source="-".join(s for s in (cell.source, source) if s) or None
        )
        for cell in cells
        for opponent, source in sources.items()
    ]


def measure_pairing(cell: Cell) -> list[Row]:
    """Play a pairing and measure it at the horizon; rows and failures as in `runner.measure`."""
    task, specs = cell.task, [cell.agent, cell.opponent or cell.agent]
    try:
        world = make_world(task)
        agents = [registry.make(spec) for spec in specs]
        for spec, agent, d in zip(specs, agents, world.seats(2), strict=True):
            if reason := agent.unsupported(d, horizon=task.horizon):
                return [cell_row(cell, status="n/a", message=f"{spec}: {reason}")]
        with np.errstate(all="ignore"):
            play = simulate(
                world,
                agents,
                horizon=task.horizon,
                num_runs=cell.num_runs,
                seed=cell.seed,
                first_run=cell.block * BLOCK_RUNS,
                starting_loss_scale=task.starting_loss_scale,
            )
            found: list[tuple[str, int | None, FloatArray]] = []
            external, swap, gaps = play.regret("external"), play.regret("swap"), play.gaps()
            for player in range(2):
                payoff = -np.trace(play.play_losses[player], axis1=1, axis2=2) / play.t
                found += [("payoff", player, payoff), ("external_regret", player, external[player])]
                found += [("swap_regret", player, swap[player])]
            found += [("cce_gap", None, gaps.cce.max), ("ce_gap", None, gaps.ce.max)]
        for name, _, values in found:
            if not np.isfinite(values).all():
                raise ValueError(f"{name} is not finite: {values}")
    except Exception as error:
        error.add_note(f"agents {specs[0]} and {specs[1]}, task {task.id}")
        return [failed_row(cell, "".join(traceback.format_exception(error)))]
    return [
        cell_row(
            cell,
            status="ok",
            part=part,
            parts=len(found),
            metric=metric,
            player=player,
            round=task.horizon,
            values=tuple(values.tolist()),
        )
        for part, (metric, player, values) in enumerate(found)
    ]


def tournament(rows: Iterable[Row], task: str, agents: Sequence[str] | None = None) -> Tournament:
    """What the pairings of a task come to.

    Args:
        rows: result rows.
        task: the id of a `tournament_task`.
        agents: who takes part; None: all that the rows have.
    """
    pairs: dict[tuple[str, str], list[list[Row]]] = {}
    for cell in complete_cells(rows).values():
        if cell[0].opponent is None or cell[0].task != task:
            continue
        pair = pairs.setdefault((cell[0].agent, cell[0].opponent), [])
        # Of what an agent was before a change nothing counts, nor of a block run again with more runs.
        pair[:] = [
            c
            for c in pair
            if c[0].identity == cell[0].identity and (c[0].seed, c[0].block) != (cell[0].seed, cell[0].block)
        ]
        pair.append(cell)
    known = sorted({agent for pair in pairs for agent in pair})
    taking = [a for a in (agents or known) if a in known]
    notes = []
    while bad := {
        a: sum(not _went_well(pairs.get((x, y), [])) for x in taking for y in taking if a in (x, y))
        for a in taking
        if not all(_went_well(pairs.get(p, [])) for b in taking for p in ((a, b), (b, a)))
    }:
        worst = max(bad, key=lambda a: (bad[a], a))
        played = [c for a in taking for p in ((worst, a), (a, worst)) for c in pairs.get(p, [])]
        taking.remove(worst)
        bad_rows = [c[0] for c in played if c[0].status != "ok"]
        why = f"{bad_rows[0].status}: {bad_rows[0].reason}" if bad_rows else "has not played everyone"
        notes.append(f"{worst} is left out: {why}")
    pairings = [_pairing(x, y, pairs[x, y]) for x in taking for y in taking]
    return Tournament(task, taking, pairings, _standings(taking, pairings), notes)


def _went_well(cells: Sequence[list[Row]]) -> bool:
    return bool(cells) and all(cell[0].status == "ok" for cell in cells)


def _pairing(row: str, column: str, cells: Sequence[list[Row]]) -> Pairing:
    values: dict[tuple[str | None, int | None], list[float]] = {}
    for cell in sorted(cells, key=lambda c: (c[0].seed, c[0].block)):
        for r in cell:
            values.setdefault((r.metric, r.player), []).extend(r.values)
    payoff = [estimate(values["payoff", player]) for player in (0, 1)]

    def mean(metric: str, player: int | None = None) -> float:
        return float(np.mean(values[metric, player]))

    return Pairing(
        row,
        column,
        payoff[0].num_runs,
        (payoff[0].mean, payoff[1].mean),
        (payoff[0].standard_error, payoff[1].standard_error),
        (mean("external_regret", 0), mean("external_regret", 1)),
        (mean("swap_regret", 0), mean("swap_regret", 1)),
        mean("cce_gap"),
        mean("ce_gap"),
    )


def _standings(agents: Sequence[str], pairings: Sequence[Pairing]) -> list[Standing]:
    n = len(agents)
    if not n:
        return []
    payoffs = np.array([p.payoff for p in pairings]).reshape(n, n, 2)
    errors = np.array([p.payoff_error for p in pairings], dtype=np.float64).reshape(n, n, 2)
    # Over both seats: what i gets from playing j.
    both = (payoffs[:, :, 0] + payoffs[:, :, 1].T) / 2
    means = both.mean(1)
    spread = np.sqrt((errors[:, :, 0] ** 2).sum(1) + (errors[:, :, 1] ** 2).sum(0)) / (2 * n)
    nash, nash_payoff = nash_averaging((both - both.T) / 2)
    order = sorted(range(n), key=lambda i: -means[i])
    return [
        Standing(
            int((means > means[i]).sum()) + 1,
            agents[i],
            float(means[i]),
            None if np.isnan(spread[i]) else float(spread[i]),
            float(nash[i]),
            float(nash_payoff[i]),
        )
        for i in order
    ]
