"""`simulate`: rounds of many runs at once."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from regret_envs.feedback import Feedback, as_layers, unfit
from regret_envs.files import replacing
from regret_envs.games.structured import stack
from regret_envs.names import lookup
from regret_envs.play.hooks import AgentLike, has_hooks
from regret_envs.play.result import Play
from regret_envs.play.round import Match, PolicyError
from regret_envs.play.seat import OneForAll, SummedSeat
from regret_envs.seeding import RunSeeds
from regret_envs.validation import at_least, non_negative
from regret_envs.worlds import Episode, Game, World

Trace = Literal["policies", "losses"]


def simulate(
    world: World,
    agents: AgentLike | Sequence[AgentLike],
    *,
    horizon: int,
    num_runs: int = 1,
    seed: int = 0,
    first_run: int = 0,
    starting_loss_scale: float = 0.0,
    feedback: Feedback | Sequence[Feedback] = (),
    rounds: Iterable[int] = (),
    record: Trace | Sequence[Trace] = (),
    outcomes: bool = False,
    horizon_known: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Play:
    """Play `horizon` rounds of `num_runs` independent runs.

    Memory is O(num_runs · d²) per player whatever the horizon, unless play is recorded. To pause and resume,
    use `Simulation`.

    Args:
        world: a stream (any number of agents face the same losses; an adversary takes one) or a
            game.
        agents: one agent per seat. A single agent that is not in a list plays all seats of a game whose
            players have equally many actions, as num_players · num_runs runs at once. That is faster than one
            agent per seat and, unless the agent is random, gives the same result.
        horizon: rounds, T.
        num_runs: independent runs, B.
        seed: same seed, same result to the bit.
        first_run: number of the first run. Run r of a seed faces the same losses in whatever batch.
        starting_loss_scale: s; every player and run is shown losses drawn from N(0, s² I) in a
            round 0 that the metrics leave out (self-play from uniform is degenerate where the
            equilibrium is uniform). 0: no such round.
        feedback: the layers between the world and every agent, one or several in series; none: full
            information.
        rounds: rounds at which the play so far is kept, for anytime curves (`Play.at`): d² numbers per
            player and run each. Where that is too much, measure between calls of `Simulation.advance`.
        record: "policies", "losses" or both: every round is kept, in memory proportional to the horizon.
        outcomes: whether the game's own outcomes (`Game.outcome_names`: potential, revenue, …) are
            averaged over the rounds, which takes time in every round.
        horizon_known: whether agents are told the horizon.
        progress: called from time to time with the number of rounds played.

    Returns:
        The play.

    Raises:
        PolicyError: if policies are of the wrong shape or off the simplex; names the agent, the
            round and the run.
        LossRangeError: if an agent that assumes losses in [0, ρ] sees one outside; says what to set.
        ValueError: if there are not as many agents as players, the same object is given two seats,
            one agent is given to players that are not alike or to several behind layers of feedback,
            `horizon` or `num_runs` is below 1, a round to keep lies outside 1 … horizon, two layers of
            feedback delay or two draw actions, an agent does not play behind such layers, or the
            world takes none.
        TypeError: if `world` is not a world, an agent lacks a method, or a number is not an integer.
    """
    keep = sorted({at_least("a round to keep", t, 1) for t in rounds} | {at_least("horizon", horizon, 1)})
    if keep[-1] > horizon:
        raise ValueError(f"round {keep[-1]} was asked to be kept, but the horizon is {horizon}")
    simulation = Simulation(
        world,
        agents,
        horizon=horizon,
        num_runs=num_runs,
        seed=seed,
        first_run=first_run,
        starting_loss_scale=starting_loss_scale,
        feedback=feedback,
        record=record,
        outcomes=outcomes,
        horizon_known=horizon_known,
    )
    earlier: dict[int, Play] = {}
    for t in keep:
        simulation.advance(t, progress=progress)
        if t < horizon:
            earlier[t] = simulation.play()
    return simulation.play(earlier)


class Simulation:
    """A `simulate` that can be paused, saved and resumed: rounds of many runs at once. Picklable.

    A simulation that is saved in a `progress` callback and resumed with the same stops gives the same
    numbers, to the bit, as one that was never interrupted.

    Args and errors: as in `simulate`.

    Attributes:
        horizon: rounds that will be played.
        t: rounds played.
    """

    def __init__(
        self,
        world: World,
        agents: AgentLike | Sequence[AgentLike],
        *,
        horizon: int,
        num_runs: int = 1,
        seed: int = 0,
        first_run: int = 0,
        starting_loss_scale: float = 0.0,
        feedback: Feedback | Sequence[Feedback] = (),
        record: Trace | Sequence[Trace] = (),
        outcomes: bool = False,
        horizon_known: bool = True,
    ) -> None:
        if not isinstance(world, World):
            raise TypeError(f"world must be a stream or a game, such as streams.Gaussian(), got {world!r}")
        self.horizon, num_runs = at_least("horizon", horizon, 1), at_least("num_runs", num_runs, 1)
        seed, first_run = at_least("seed", seed, 0), at_least("first_run", first_run, 0)
        non_negative("starting_loss_scale", starting_loss_scale)
        recorded = {record} if isinstance(record, str) else set(record)
        for name in recorded:
            lookup("record", name, {"policies": 0, "losses": 0})
        layers = as_layers(feedback)

        seeds = RunSeeds(seed, num_runs, first_run)
        if isinstance(agents, Sequence) and not isinstance(agents, str):
            seated = [(agent, range(n, n + 1)) for n, agent in enumerate(agents)]
        else:
            seated = [(agents, range(world.default_seats()))]
        for agent, players in seated:
            # A class has the methods too.
            if isinstance(agent, type) or not isinstance(agent, AgentLike):
                raise TypeError(
                    f"{agent!r} (player {players[0]}) is not an agent, an object with reset, act and observe "
                    'such as Hedge() or agents.make("hedge")'
                )
            if reason := unfit(agent, layers):
                raise ValueError(f"{agent!r} (player {players[0]}) {reason}")
        if not seated:
            raise ValueError(f"{world!r} is played by at least one agent, got none")
        if len({id(agent) for agent, _ in seated}) < len(seated):
            raise ValueError("the same agent object has two seats: give every seat its own")
        num_players = sum(len(players) for _, players in seated)
        num_actions = world.seats(num_players)
        episode = world.start(num_agents=num_players, horizon=horizon, seeds=seeds)
        one_for_all = len(seated) < num_players
        why = None
        if layers:
            why = "behind layers of feedback"
        elif len(set(num_actions)) > 1:
            why = f"whose numbers of actions are {num_actions}"
        elif has_hooks(seated[0][0]):
            why = "if it uses describe or watch"
        if one_for_all and why is not None:
            raise ValueError(f"one agent cannot play all seats {why}: give a list, one agent per player")
        self._world, self._seed, self._episode = world, seed, episode
        self._table: Episode = OneForAll(episode, num_players) if one_for_all else episode
        rows = num_runs * (num_players if one_for_all else 1)
        # With many actions the matrix of sums is large, and longer blocks go through it less often.
        least = 8 if max(num_actions) < 100 else 32
        self._block_rounds = min(max(_BLOCK_CELLS // (max(num_actions) * rows), least), 256)
        draws_actions = any(layer.draws_actions for layer in layers)
        self._seats = [
            SummedSeat(
                agent,
                players,
                num_actions[players[0]],
                seeds,
                block_rounds=self._block_rounds,
                draws_actions=draws_actions,
            )
            for agent, players in seated
        ]
        self._match = Match(world, self._table, self._seats, layers)
        for seat in self._seats:
            seat.reset(world, horizon if horizon_known else None)
            if starting_loss_scale:
                seat.show_starting_losses(starting_loss_scale)
        shapes = [(horizon, *seat.policy_block.shape[1:]) for seat in self._seats]
        self._history = {name: [np.empty(shape) for shape in shapes] for name in recorded}
        self._outcomes = dict.fromkeys(
            world.outcome_names if outcomes and isinstance(world, Game) else (), np.zeros(num_runs)
        )
        self.t = 0

    def advance(self, stop: int, *, progress: Callable[[int], None] | None = None) -> None:
        """Play on until round `stop` is played.

        Args:
            stop: a round not yet passed. Sums are rounded block by block, so the same stops give the
                same numbers to the bit.
            progress: called after every block of rounds with the number of rounds played.

        Raises:
            ValueError: if `stop` lies outside t … horizon.
            PolicyError: as in `simulate`.
        """
        if not self.t <= stop <= self.horizon:
            raise ValueError(f"stop must lie in t … horizon = {self.t} … {self.horizon}, got {stop}")
        while self.t < stop:
            count = min(self._block_rounds, stop - self.t)
            self._play_block(count)
            for n, seat in enumerate(self._seats):
                seat.add(count)
                for name, arrays in self._history.items():
                    block = seat.policy_block if name == "policies" else seat.loss_block
                    arrays[n][self.t : self.t + count] = block[:count]
            if self._outcomes:
                self._add_outcomes(count)
            self.t += count
            if progress is not None:
                progress(self.t)

    def _play_block(self, count: int) -> None:
        """Play rounds and check the policies, a block at a time since that is cheaper."""
        match, t = self._match, self.t
        for seat in self._seats:
            seat.begin_block()
        try:
            for _ in range(count):
                match.play_round()
        except PolicyError:
            raise
        except Exception as error:
            # The cause may be an earlier policy of this block that is not checked yet.
            for seat in self._seats:
                seat.check_block(t, match.t - t)
            match.explain(error)
            raise
        for seat in self._seats:
            seat.check_block(t, count)

    def play(self, earlier: dict[int, Play] | None = None) -> Play:
        """The play so far.

        Args:
            earlier: what `Play.earlier` shall be.

        Raises:
            ValueError: if no round was played.
        """
        if not self.t:
            raise ValueError("no round was played yet")
        t, seats = self.t, self._seats
        kept = {
            name: tuple(
                rows.swapaxes(0, 1)
                for seat, array in zip(seats, arrays, strict=True)
                for rows in seat.by_player(array[:t].transpose(2, 0, 1))
            )
            for name, arrays in self._history.items()
        }
        realized = None
        if all(seat.draws_actions for seat in seats):
            realized = Play(
                t=t,
                seed=self._seed,
                play_losses=tuple(seat.realized_play_loss.value() for seat in seats),
                mean_policies=tuple((seat.action_sum / t).T for seat in seats),
                _episode=self._episode,
            )
        # What nothing will be added to need not be copied.
        copy = t < self.horizon
        return Play(
            t=t,
            seed=self._seed,
            play_losses=tuple(m for s in seats for m in s.by_player(s.play_loss.value(copy=copy))),
            mean_policies=tuple(p for s in seats for p in s.by_player((s.policy_sum / t).T)),
            policies=kept.get("policies"),
            losses=kept.get("losses"),
            realized=realized,
            outcomes={name: total / t for name, total in self._outcomes.items()},
            outstanding=tuple(seat.outstanding for seat in seats for _ in seat.players),
            earlier=earlier or {},
            _episode=self._episode,
        )

    @property
    def agents(self) -> list[AgentLike]:
        """The agents, one per seat or one for all."""
        return [seat.agent for seat in self._seats]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything needed to resume: world, agents, random generators and sums.

        The file is a pickle: load only files that you trust. It is whole or not there.
        """
        with replacing(path) as part:
            part.write_bytes(pickle.dumps(self))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Simulation:
        """The simulation that was saved to `path`. Unpickling runs code: load only files that you trust.

        Raises:
            ValueError: if the file holds something else.
        """
        simulation = pickle.loads(Path(path).read_bytes())
        if not isinstance(simulation, Simulation):
            raise ValueError(f"{path} holds a {type(simulation).__name__}, not a simulation")
        return simulation

    def _add_outcomes(self, count: int) -> None:
        assert isinstance(self._world, Game)
        for k in range(count):
            if isinstance(self._table, OneForAll):
                policies = self._table.by_player(self._seats[0].policy_block[k])
            else:
                policies = stack([seat.policy_block[k].T for seat in self._seats])
            for name, value in self._world.outcomes(policies).items():
                self._outcomes[name] = self._outcomes[name] + value


_BLOCK_CELLS = 1 << 15
