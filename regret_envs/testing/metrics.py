"""What a metric must do: one number per run, of play alone, in the unit that it names."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar, get_args

import numpy as np

from regret_envs import feedback, games, streams
from regret_envs.arrays import FloatArray
from regret_envs.metrics import Metric
from regret_envs.metrics.catalog import Need, Normalize
from regret_envs.play import Play, simulate
from regret_envs.testing.findings import Check, Finding, Problem, find
from regret_envs.worlds import Game, World

_HINT = "see the line named; `of` is handed a regret_envs.Play"
_RUNS, _HORIZON = 4, 25
_ROW = np.array([[0.0, 2.0], [1.0, 0.5], [3.0, -1.0]])
_COLUMN = np.array([[1.0, -1.0], [0.0, 2.0], [0.5, 0.25]])


def check_metric(metric: Metric, *, raises: bool = True) -> list[Finding]:
    """Check that a metric can be tabled, ranked by and compared.

    It is measured in every kind of play that provides what it needs: against a stream, in a game of two
    players with unequal numbers of actions, and in games that tell an outcome of its name.

    Args:
        metric: the metric.
        raises: whether to raise on failure rather than to return.

    Raises:
        ConformanceError: if a check fails and `raises` is set; lists every failure.
    """
    checks = [
        Check(partial(_is_described, metric), "says what it is: name, unit, summary, needs", decisive=True),
        Check(
            partial(_measures, metric), "gives a finite number per run, or per player and run", decisive=True
        ),
        Check(partial(_repeats, metric), "leaves play as it is"),
        Check(partial(_keeps_runs_apart, metric), "measures a run the same alone and in a batch"),
        Check(partial(_scales, metric), "grows with the losses as its normalization says"),
    ]
    return find(metric.name, checks, _HINT, raises=raises)


class _Wanderer:
    """Plays random policies, whatever it is shown; run r of a seat plays the same in any batch."""

    takes: ClassVar[str] = "any"

    def __init__(self, seat: int, first_run: int) -> None:
        self._seat, self._first_run = seat, first_run

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        runs = range(self._first_run, self._first_run + num_runs)
        self._rngs = [np.random.default_rng((self._seat, run)) for run in runs]
        self._d = num_actions

    def act(self) -> FloatArray:
        return np.stack([rng.dirichlet(np.ones(self._d)) for rng in self._rngs])

    def observe(self, losses: FloatArray) -> None:
        pass

    def unsupported(self, num_actions: int, *, horizon: int | None) -> str | None:
        return None


def _worlds(metric: Metric) -> Sequence[World]:
    """Worlds whose play provides what the metric needs."""
    if "outcomes" in metric.needs:
        told = (games.random_congestion(), games.first_price_auction(), games.PublicGoods())
        return [game for game in told if metric.name in game.outcome_names]
    game = games.NormalFormGame([_ROW, _COLUMN], name="a game of 3 × 2 actions")
    return [game] if {"game", "two players"} & set(metric.needs) else [game, streams.Gaussian(3)]


def _play(metric: Metric, world: World, first_run: int = 0, num_runs: int = _RUNS) -> Play:
    seats = world.default_seats()
    return simulate(
        world,
        [_Wanderer(seat, first_run) for seat in range(seats)],
        horizon=_HORIZON,
        num_runs=num_runs,
        first_run=first_run,
        feedback=feedback.Bandit() if "realized actions" in metric.needs else (),
        record=("policies", "losses") if "recorded" in metric.needs else (),
        outcomes="outcomes" in metric.needs,
    )


def _plays(metric: Metric) -> Iterator[tuple[World, Play]]:
    for world in _worlds(metric):
        yield world, _play(metric, world)


def _is_described(metric: Metric) -> None:
    wrong = [f"{field} is empty" for field in ("unit", "summary") if not getattr(metric, field).strip()]
    if not metric.name.isidentifier():
        wrong.append(f"name is {metric.name!r}")
    wrong += [f"needs {n!r}, none of {get_args(Need)}" for n in metric.needs if n not in get_args(Need)]
    if metric.normalize not in get_args(Normalize):
        wrong.append(f"normalize is {metric.normalize!r}, none of {get_args(Normalize)}")
    if wrong:
        raise Problem("; ".join(wrong), "a name is an identifier; unit and summary are for tables and axes")


def _measures(metric: Metric) -> None:
    for world, play in _plays(metric):
        value = np.asarray(metric.of(play))
        shapes = {(_RUNS,), (world.default_seats(), _RUNS)}
        if value.shape not in shapes or value.dtype.kind != "f":
            raise Problem(
                f"of() returned shape {value.shape} and type {value.dtype} in {world!r}",
                f"return floats of shape (num_runs,) or (num_players, num_runs): one of {sorted(shapes)}",
            )
        if not np.isfinite(value).all():
            raise Problem(f"of() returned {value} in {world!r}", "return finite numbers")


def _repeats(metric: Metric) -> None:
    for world, play in _plays(metric):
        before = copy.deepcopy(play.play_losses)
        first = np.array(metric.of(play))
        if not np.array_equal(first, metric.of(play)) or not all(
            np.array_equal(a, b) for a, b in zip(before, play.play_losses, strict=True)
        ):
            raise Problem(
                f"measuring twice changed the play or the value in {world!r}", "copy what you change"
            )


def _keeps_runs_apart(metric: Metric) -> None:
    for world, play in _plays(metric):
        together = np.asarray(metric.of(play))
        for run in range(_RUNS):
            alone = np.asarray(metric.of(_play(metric, world, run, 1)))
            if not np.allclose(alone[..., 0], together[..., run], rtol=1e-9, atol=1e-9):
                raise Problem(
                    f"run {run} measures {together[..., run]}, alone {alone[..., 0]}, in {world!r}",
                    "reduce over rounds, actions or players, never over the last axis, the runs",
                )


def _scales(metric: Metric) -> None:
    if "outcomes" in metric.needs or metric.normalize == "none":
        return
    values = []
    for scale in (1.0, 2.0):
        game: Game = games.NormalFormGame([scale * _ROW, scale * _COLUMN])
        values.append(np.asarray(metric.of(_play(metric, game))))
    if not np.allclose(2 * values[0], values[1], rtol=1e-9, atol=1e-9):
        raise Problem(
            f"with all losses doubled it is {values[1].ravel()[:3]}, before {values[0].ravel()[:3]}",
            "'regret', 'gap' and 'loss' divide by the range of losses: for other numbers normalize='none'",
        )
