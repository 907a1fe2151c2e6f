"""What a world must do: answer policies with losses, each run from its own seed alone."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.seeding import RunSeeds
from regret_envs.testing.findings import Check, Finding, Problem, find, global_seed
from regret_envs.validation import at_least
from regret_envs.worlds import Episode, Stream, World

HINT = "see the line named; regret_envs/worlds.py says what each method is given and returns"
RUNS = 5
HORIZON = 40


def check_world(
    world: World, *, num_agents: int | None = None, horizon: int = HORIZON, raises: bool = True
) -> list[Finding]:
    """Check that a world can be played: its shapes, its seeding, its state; a stream also in how it is drawn.

    Args:
        world: a stream, an adversary or a game.
        num_agents: seats to take; by default one, in a game one per player.
        horizon: rounds to play, at least 8; a stream is also asked for one more than it was started for.
        raises: whether to raise on failure rather than to return.

    Raises:
        ConformanceError: if a check fails and `raises` is set; lists every failure. Advice never raises.
        ValueError: if `horizon` is below 8.
    """
    return find(repr(world), world_checks(Player(world, num_agents, horizon)), HINT, raises=raises)


def world_checks(player: Player) -> list[Check]:
    """What every world must do; a stream also in how it is drawn."""
    checks = [
        Check(
            partial(_answers, player),
            "answers policies with finite losses of their shape, for any number of runs",
            decisive=True,
        ),
        Check(partial(_draws_from_seeds, player), "takes all randomness from the seeds of start()"),
        Check(partial(_keeps_runs_apart, player), "plays a run the same alone and in a batch"),
        Check(partial(_starts_anew, player), "keeps no state of play outside its episodes"),
        Check(partial(_keeps_policies, player), "leaves the policies that it is shown as they are"),
        Check(partial(_pickles, player), "has episodes that can be pickled in the middle of play"),
        Check(partial(_shows_its_settings, player), "shows its settings in repr()", "advice"),
    ]
    if isinstance(player.world, Stream):
        checks += [
            Check(partial(_ends, player), "raises when asked for more rounds than it was started for"),
            Check(partial(_draws_in_any_blocks, player), "draws the same rounds however calls divide them"),
            Check(partial(_is_alike_for_all, player), "shows all agents the same losses"),
        ]
    return checks


class Player:
    """Plays a world with random policies that depend on the run and the round alone."""

    def __init__(self, world: World, num_agents: int | None, horizon: int) -> None:
        self.world = world
        self.horizon = at_least("horizon", horizon, 8)
        self.num_agents = num_agents or world.default_seats()

    @property
    def seats(self) -> tuple[int, ...]:
        """The number of actions of each seat."""
        return self.world.seats(self.num_agents)

    def start(self, runs: range = range(RUNS), *, num_agents: int | None = None, seed: int = 7) -> Episode:
        """Begin an episode of these runs."""
        seeds = RunSeeds(seed, len(runs), runs.start)
        agents = num_agents or self.num_agents
        return self.world.start(num_agents=agents, horizon=self.horizon, seeds=seeds)

    def policies(self, runs: range = range(RUNS), t: int = 0) -> list[FloatArray]:
        """One array (num_runs, num_actions) per seat; every fourth policy is pure."""
        drawn = []
        for seat, d in enumerate(self.seats):
            rows = np.empty((len(runs), d))
            for row, run in zip(rows, runs, strict=True):
                rng = np.random.default_rng((seat, run, t))
                row[:] = rng.dirichlet(np.ones(d)) if (run + t) % 4 else np.eye(d)[rng.integers(d)]
            drawn.append(rows)
        return drawn

    def play_on(self, episode: Episode, runs: range = range(RUNS), start: int = 0) -> list[list[FloatArray]]:
        """Losses per round and seat, from round `start` to the horizon."""
        losses = []
        for t in range(start, self.horizon):
            losses.append([np.array(loss) for loss in episode.step(self.policies(runs, t))])
        return losses

    def play(self, runs: range = range(RUNS)) -> list[list[FloatArray]]:
        """Losses per round and seat of a whole episode."""
        return self.play_on(self.start(runs), runs)


def same(ours: Sequence[Sequence[FloatArray]], theirs: Sequence[Sequence[FloatArray]]) -> bool:
    """Whether losses agree; not to the bit, since a batch of another size may be summed in another order."""
    flat = [[loss for losses in play for loss in losses] for play in (ours, theirs)]
    return all(close(a, b) for a, b in zip(*flat, strict=True))


def close(a: FloatArray, b: FloatArray) -> bool:
    """Whether two arrays of losses agree to 1e-9 of the largest loss."""
    size = max(float(np.abs(a).max(initial=0)), float(np.abs(b).max(initial=0)))
    return a.shape == b.shape and bool((np.abs(a - b) <= 1e-9 * size).all())


def _answers(player: Player) -> None:
    seats = player.seats
    if not all(isinstance(d, int | np.integer) and d >= 1 for d in seats) or len(seats) != player.num_agents:
        raise Problem(
            f"seats({player.num_agents}) is {seats!r}",
            "return one number of actions per agent, each at least 1",
        )
    for runs in (range(RUNS), range(1)):
        for t, losses in enumerate(player.play(runs)):
            if len(losses) != len(seats):
                raise Problem(
                    f"step() returned {len(losses)} arrays for {len(seats)} agents in round {t + 1}",
                    "return one array of losses per agent",
                )
            for seat, (loss, d) in enumerate(zip(losses, seats, strict=True)):
                if loss.shape != (len(runs), d) or loss.dtype != np.float64:
                    raise Problem(
                        f"seat {seat} was given losses of shape {loss.shape} and type {loss.dtype} in round "
                        f"{t + 1}",
                        f"return float64 losses of shape (num_runs, num_actions) = {(len(runs), d)}",
                    )
                bounds = player.world.loss_bounds(seat)
                if bounds is not None and np.isfinite(loss).all():
                    slack = 1e-9 * max(1.0, abs(bounds[0]), abs(bounds[1]))
                    if loss.min() < bounds[0] - slack or loss.max() > bounds[1] + slack:
                        raise Problem(
                            f"seat {seat} met losses from {loss.min():g} to {loss.max():g} in round {t + 1}, "
                            f"and loss_bounds({seat}) is {bounds}",
                            "return the least and the greatest loss that can be met, or None",
                        )
                if not np.isfinite(loss).all():
                    raise Problem(
                        f"seat {seat} was given {loss[~np.isfinite(loss).all(1)][0]} in round {t + 1}",
                        "return finite losses whatever the policies on the simplex, pure ones among them",
                    )


def _draws_from_seeds(player: Player) -> None:
    found = []
    for seed in (1, 2):
        with global_seed(seed):
            found.append(player.play())
    if not same(*found):
        raise Problem(
            "the same seeds led to other losses",
            "draw from the generators of `seeds` (a stream: from the `rng` of start_run and draw); use "
            "neither random, numpy.random, the clock nor default_rng()",
        )


def _keeps_runs_apart(player: Player) -> None:
    batch = player.play()
    for run in range(RUNS):
        alone = player.play(range(run, run + 1))
        if not same([[loss[run : run + 1] for loss in round_] for round_ in batch], alone):
            raise Problem(
                f"run {run} of {RUNS} brought other losses alone",
                "draw run r from generator r of seeds.world(), and let its losses depend on row r of the "
                "policies alone; runs have numbers of their own, seeds.runs",
            )


def _starts_anew(player: Player) -> None:
    first, other = player.start(), player.start(seed=8)
    played = []
    for t in range(player.horizon):  # two episodes side by side
        played.append([np.array(loss) for loss in first.step(player.policies(t=t))])
        other.step(player.policies(t=t + 1))
    if not same(played, player.play()):
        raise Problem(
            "an episode was played differently beside or after another",
            "keep state in the episode (a stream: in what start_run returns), none in the world",
        )


def _keeps_policies(player: Player) -> None:
    episode = player.start()
    for t in range(player.horizon):
        policies = player.policies(t=t)
        episode.step(policies)
        if not all(np.array_equal(a, b) for a, b in zip(policies, player.policies(t=t), strict=True)):
            raise Problem("step() changed the policies", "copy them first: [p.copy() for p in policies]")


def _pickles(player: Player) -> None:
    episode = player.start()
    for t in range(5):
        episode.step(player.policies(t=t))
    try:
        twin: Episode = pickle.loads(pickle.dumps(episode))
    except Exception as error:
        raise Problem(
            f"{type(error).__name__}: {error}",
            "keep no lambdas, open files or Python generators in the episode, or a long cell that is "
            "interrupted starts over",
        ) from error
    if not same(player.play_on(twin, start=5), player.play_on(episode, start=5)):
        raise Problem("the copy was played differently", "keep all state in attributes of the episode")


def _shows_its_settings(player: Player) -> None:
    if type(player.world).__repr__ is object.__repr__:
        raise Problem(
            f"repr() is {player.world!r}",
            "decorate the class with @dataclass(frozen=True), settings as fields: errors name the world so",
        )


def _ends(player: Player) -> None:
    episode = player.start()
    player.play_on(episode)
    try:
        episode.step(player.policies())
    except ValueError:
        return
    raise Problem(
        f"round {player.horizon + 1} of {player.horizon} was played", "raise ValueError after the last round"
    )


def _draws_in_any_blocks(player: Player) -> None:
    stream: Any = player.world
    drawn = []
    for cuts in ([player.horizon], [1] * player.horizon, [3, 1, player.horizon - 4]):
        (rng,) = RunSeeds(7, 1).world()
        state = stream.start_run(rng, run=0, horizon=player.horizon)
        starts = np.cumsum([0, *cuts[:-1]])
        parts = [stream.draw(rng, state, int(t), n) for t, n in zip(starts, cuts, strict=True)]
        drawn.append(np.concatenate(parts))
    if not all(np.array_equal(drawn[0], other) for other in drawn[1:]):
        raise Problem(
            "draw() brought other losses when the rounds were cut into other calls",
            "draw round by round in order (rng.normal(size=(num_rounds, d)) does), and keep in `state` "
            "what the next call needs",
        )


def _is_alike_for_all(player: Player) -> None:
    episode = player.start(num_agents=3)
    first, second, third = episode.step(player.policies() * 3)
    if not (np.array_equal(first, second) and np.array_equal(first, third)):
        raise Problem("three agents were shown different losses", "derive from World rather than Stream")
