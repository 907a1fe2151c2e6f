"""The standings of a tournament: everyone against everyone in a game of two players, in both seats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.analysis import statistics
from regret_envs.benchmarks.analysis.board import MARGIN, Estimate
from regret_envs.benchmarks.analysis.comparable import comparable
from regret_envs.benchmarks.analysis.leaderboard import estimate
from regret_envs.benchmarks.analysis.nash_averaging import nash_averaging
from regret_envs.benchmarks.analysis.tables import Table, mean_and_error, number
from regret_envs.benchmarks.running.rows import Row, complete_cells


class Pairing(msgspec.Struct, frozen=True):
    """The results of an ordered pair of agents; standard errors over runs, None for a single run.

    Attributes:
        row, column: the agents in seats 0 and 1.
        num_runs: runs.
        payoff, payoff_error: each seat's mean payoff per round.
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
        rank: by mean payoff, highest first; shared by agents within the equivalence margin.
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
    margin: float

    def payoffs(self) -> FloatArray:
        """(n, n): the row agent's payoff in seat 0 against the column agent in seat 1."""
        n = len(self.agents)
        return np.array([p.payoff[0] for p in self.pairings]).reshape(n, n)


def tournament(
    rows: Iterable[Row], task: str, agents: Sequence[str] | None = None, *, margin: float = MARGIN
) -> Tournament:
    """The pairings of a task and the ranking that follows from them.

    Args:
        rows: result rows.
        task: the id of a `tasks.game.tournament_task`.
        agents: who takes part; None: all that the rows have.
        margin: the equivalence margin, as a share of the range of the losses.
    """
    pairs: dict[tuple[str, str], list[list[Row]]] = {}
    whole = complete_cells(rows).values()
    cells, notes = comparable([cell for cell in whole if cell[0].is_pairing and cell[0].task == task])
    for cell in cells:
        row, column = cell[0].seats
        pair = pairs.setdefault((row, column), [])
        # Of what an agent was before a change nothing counts, nor of a block run again with more runs.
        pair[:] = [
            c
            for c in pair
            if c[0].identity == cell[0].identity and (c[0].seed, c[0].block) != (cell[0].seed, cell[0].block)
        ]
        pair.append(cell)
    known = sorted({agent for pair in pairs for agent in pair})
    taking = [a for a in (agents or known) if a in known]
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
    scale = next((pairs[x, y][0][0].loss_scale for x in taking for y in taking), 1.0)
    return Tournament(
        task, taking, pairings, _standings(taking, pairings, margin * scale), notes, margin * scale
    )


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


def _standings(agents: Sequence[str], pairings: Sequence[Pairing], margin: float) -> list[Standing]:
    n = len(agents)
    if not n:
        return []
    payoffs = np.array([p.payoff for p in pairings]).reshape(n, n, 2)
    errors = np.array([p.payoff_error for p in pairings], dtype=np.float64).reshape(n, n, 2)
    # Over both seats: what i gets from playing j.
    both = (payoffs[:, :, 0] + payoffs[:, :, 1].T) / 2
    means = both.mean(1)
    # A pairing whose runs are copies of one adds no variance; where all are, there is no error.
    variances = errors**2
    spread = np.sqrt(np.nansum(variances[:, :, 0], 1) + np.nansum(variances[:, :, 1], 0)) / (2 * n)
    copied = np.isnan(np.concatenate([variances[:, :, 0], variances[:, :, 1].T], axis=1)).all(axis=1)
    nash, nash_payoff = nash_averaging((both - both.T) / 2)
    within = np.where(np.abs(means[:, None] - means) <= margin, 1.0, np.nan)
    ranks = statistics.tie_ranks(list(-means), within)
    order = sorted(range(n), key=lambda i: -means[i])
    return [
        Standing(
            ranks[i],
            agents[i],
            float(means[i]),
            None if copied[i] else float(spread[i]),
            float(nash[i]),
            float(nash_payoff[i]),
        )
        for i in order
    ]


def tournament_tables(found: Tournament, *, pairings: bool = False) -> list[Table]:
    """The ranking, the payoff matrix of at most 12 agents, and every pairing if asked."""
    rows = [
        [
            str(s.rank),
            s.agent,
            mean_and_error(Estimate(s.mean_payoff, s.error, 1)),
            f"{s.nash:z.3f}",
            f"{s.nash_payoff:z.4f}",
        ]
        for s in found.standings
    ]
    columns = ["#", "agent", "mean payoff", "nash", "payoff to nash"]
    note = f"{_TOURNAMENT_NOTE} #: shared by agents within {found.margin:.3g}, the equivalence margin."
    tables = [Table(f"{found.task}: ranking", columns, rows, numbers=3, note=note)]
    order = [found.agents.index(s.agent) for s in found.standings]
    if len(order) <= 12:
        payoffs = found.payoffs()[np.ix_(order, order)]
        rows = [
            [str(i + 1), found.agents[a], *(f"{x:z.3f}" for x in payoffs[i])] for i, a in enumerate(order)
        ]
        heads = ["", "agent in seat 0", *(str(i + 1) for i in range(len(order)))]
        tables.append(Table("Payoff to seat 0, by row; seat 1 by column", heads, rows, numbers=len(order)))
    if pairings:
        rows = [
            [
                p.row,
                p.column,
                *(mean_and_error(Estimate(p.payoff[i], p.payoff_error[i], p.num_runs)) for i in (0, 1)),
                *(number(x) for x in (*p.external_regret, *p.swap_regret, p.cce_gap, p.ce_gap)),
            ]
            for p in found.pairings
        ]
        heads = ["seat 0", "seat 1", "payoff 0", "payoff 1", "regret 0", "regret 1"]
        heads += ["swap 0", "swap 1", "cce gap", "ce gap"]
        tables.append(Table("Pairings", heads, rows, numbers=8))
    return tables


_TOURNAMENT_NOTE = (
    "mean payoff: a round, over all opponents and both seats. nash: weight in the maximum-entropy "
    "equilibrium of the game of choosing an agent, which pays half of what one gets more than the "
    "opponent; payoff to nash: against that equilibrium, at most 0."
)
