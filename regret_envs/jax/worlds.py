"""Worlds as pure functions: games, streams drawn by `jax.random`, and recorded losses.

The laws of the streams are those of `regret_envs.streams`; the bits are not, since `jax.random` draws them.
Games, their starting losses and what was recorded are the same to the bit. `as_world` translates the NumPy
descriptions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from regret_envs import streams
from regret_envs.arrays import FloatArray
from regret_envs.games import NormalFormGame, RandomGames
from regret_envs.jax.numbers import NoFormError, known
from regret_envs.streams.shifting import check_probabilities
from regret_envs.validation import at_least, non_negative
from regret_envs.worlds import World


class Stream(NamedTuple):
    """Losses that are fixed before play, for one run.

    Attributes:
        num_actions: d.
        begin: `begin(data, key, num_actions) -> state`, a run's state before round 1.
        draw: `draw(data, key, state, t, shape) -> (losses, state)`: the losses of rounds t + 1 … t +
            num_rounds and the state after them; `shape` is (num_rounds, num_actions). The key is fresh.
        data: what all runs share, a pytree of arrays: the law's parameters, or recorded losses.
        rounds: how many rounds there are; None: no end.
        name: for errors.
    """

    num_actions: int
    begin: Callable[[Any, Array, int], Any]
    draw: Callable[[Any, Array, Any, Array, tuple[int, int]], tuple[Array, Any]]
    data: Any
    rounds: int | None = None
    name: str = "stream"


def gaussian(num_actions: int = 3, *, scale: ArrayLike = 1.0) -> Stream:
    """Independent losses N(0, scale² I).

    Args:
        num_actions: d.
        scale: standard deviation of every loss; like all parameters here, it may be traced.

    Raises:
        ValueError: if `num_actions` is below 1 or the scale is negative or not finite.
    """
    at_least("num_actions", num_actions, 1)
    return Stream(num_actions, _nothing, _draw_gaussian, _scales(scale=scale), name="gaussian")


def biased_gaussian(
    num_actions: int = 3, *, bias_scale: ArrayLike = 0.35, noise_scale: ArrayLike = 1.0
) -> Stream:
    """Losses m + ε_t with a bias m ~ N(0, bias_scale² I) drawn once a run and ε_t ~ N(0, noise_scale² I).

    Errors as in `gaussian`.
    """
    at_least("num_actions", num_actions, 1)
    scales = _scales(bias_scale=bias_scale, noise_scale=noise_scale)
    return Stream(num_actions, _draw_bias, _draw_biased, scales, name="biased_gaussian")


def drifting(num_actions: int = 3, *, drift_scale: ArrayLike = 0.02, noise_scale: ArrayLike = 1.0) -> Stream:
    """Losses m_t + ε_t around a mean that walks at random from 0, its steps N(0, drift_scale² I).

    Errors as in `gaussian`.
    """
    at_least("num_actions", num_actions, 1)
    scales = _scales(drift_scale=drift_scale, noise_scale=noise_scale)
    return Stream(num_actions, _no_drift, _draw_drifting, scales, name="drifting")


def bernoulli(num_actions: int = 3, *, mean: float = 0.5, gap: float = 0.1) -> Stream:
    """Independent losses in {0, 1} of the given mean, for one action, drawn once a run, lower by `gap`.

    Raises:
        ValueError: if `num_actions` is below 1, a probability lies outside [0, 1], or `gap` is negative.
    """
    at_least("num_actions", num_actions, 1)
    check_probabilities(mean, gap)
    means = {"mean": jnp.asarray(float(mean)), "gap": jnp.asarray(float(gap))}
    return Stream(num_actions, _draw_best, _draw_bernoulli, means, name="bernoulli")


def switching(
    num_actions: int = 3, *, phase_length: int = 100, mean: float = 0.5, gap: float = 0.25
) -> Stream:
    """Losses as in `bernoulli`, with another best action every `phase_length` rounds.

    Raises:
        ValueError: as there, and if `phase_length` is below 1.
    """
    length = jnp.int32(at_least("phase_length", phase_length, 1))
    return bernoulli(num_actions, mean=mean, gap=gap)._replace(
        draw=_draw_switching,
        data={"mean": jnp.asarray(float(mean)), "gap": jnp.asarray(float(gap)), "phase_length": length},
        name="switching",
    )


def recorded(losses: ArrayLike) -> Stream:
    """Recorded losses, the same for every run.

    Args:
        losses: shape (rounds, num_actions).

    Raises:
        ValueError: if they are of another shape or, where that is known, not finite.
    """
    if np.ndim(losses) != 2 or 0 in np.shape(losses):
        raise ValueError(f"recorded losses must have shape (rounds, num_actions), got {np.shape(losses)}")
    if known(losses) and not np.isfinite(np.asarray(losses)).all():
        row, column = np.argwhere(~np.isfinite(np.asarray(losses)))[0]
        raise ValueError(f"recorded losses are not finite in row {row}, column {column}, counted from 0")
    rounds, num_actions = np.shape(losses)
    return Stream(num_actions, _first_row, _draw_recorded, losses, rounds, "recorded losses")


def as_stream(world: World | Stream) -> Stream:
    """The pure stream of a description of `regret_envs.streams`.

    Raises:
        NoFormError: if there is none; says which there are.
        TypeError: if `world` is neither.
    """
    if isinstance(world, Stream):
        return world
    match world:
        case streams.Gaussian():
            return gaussian(world.num_actions, scale=world.scale)
        case streams.BiasedGaussian(bias_law="gaussian"):
            return biased_gaussian(
                world.num_actions, bias_scale=world.bias_scale, noise_scale=world.noise_scale
            )
        case streams.DriftingMean():
            return drifting(world.num_actions, drift_scale=world.drift_scale, noise_scale=world.noise_scale)
        case streams.Bernoulli():
            return bernoulli(world.num_actions, mean=world.mean, gap=world.gap)
        case streams.SwitchingBest():
            return switching(
                world.num_actions, phase_length=world.phase_length, mean=world.mean, gap=world.gap
            )
        case streams.Recorded():
            return recorded(world.losses)
        case World():
            raise NoFormError(f"{world!r} has no JAX form: {_FORMS}")
    raise TypeError(f"world must be a game or a stream, such as gaussian(), got {world!r}")


_FORMS = (
    "there are normal-form games (for a structured game, games.normal_form(game)), random games, the streams "
    "gaussian, biased_gaussian (gaussian law), drifting, bernoulli and switching, and recorded losses"
)


def as_world(world: World | Stream) -> NormalFormGame | RandomGames | Stream:
    """The game itself, or the pure stream of a description.

    Errors as in `as_stream`.
    """
    if isinstance(world, (NormalFormGame, RandomGames)):
        return world
    return as_stream(world)


def check_rounds(stream: Stream, horizon: int) -> None:
    """Raise `ValueError` if the stream does not last `horizon` rounds."""
    if stream.rounds is not None and horizon > stream.rounds:
        raise ValueError(f"horizon {horizon} is longer than the {stream.rounds} rounds of {stream.name}")


def own_actions_first(losses: Sequence[FloatArray]) -> list[FloatArray]:
    """A game's losses, arrays (d_0, …, d_{N−1}, ...), as `expected_losses` takes them."""
    return [np.moveaxis(array, player, 0) for player, array in enumerate(losses)]


def expected_losses(losses: Sequence[Array], policies: Sequence[Array]) -> list[Array]:
    """Every player's expected loss of each of its actions against the others' product play.

    Args:
        losses: one array per player, its own actions along the first axis, the others' in order
            along the next, and the runs along the last where every run has its own game.
        policies: one array (d_n,) or (d_n, num_runs) a player.

    Returns:
        Arrays (d_n,) or (d_n, num_runs).
    """
    num_players = len(policies)
    expected = []
    for player, policy in enumerate(policies):
        rest = losses[player]
        runs_in = rest.ndim > num_players
        for m in reversed([m for m in range(num_players) if m != player]):
            if runs_in:
                rest = (rest * policies[m]).sum(-2)
            else:
                rest = jnp.tensordot(rest, policies[m], 1, precision=jax.lax.Precision.HIGHEST)
                runs_in = policy.ndim > 1
        alone = policy.ndim > 1 and not runs_in
        expected.append(jnp.broadcast_to(rest[:, None], (len(rest), *policy.shape[1:])) if alone else rest)
    return expected


# -- the laws; `data` is the dict of parameters made above


def _scales(**scales: ArrayLike) -> dict[str, Array]:
    for name, scale in scales.items():
        if known(scale):
            non_negative(name, float(np.asarray(scale)))
    return {name: jnp.asarray(scale, float) for name, scale in scales.items()}


def _nothing(data: Any, key: Array, num_actions: int) -> None:
    return None


def _first_row(data: Any, key: Array, num_actions: int) -> Array:
    return jnp.int32(0)


def _draw_gaussian(
    data: dict[str, Array], key: Array, state: None, t: Array, shape: tuple[int, int]
) -> tuple[Array, None]:
    scale = data["scale"]
    return scale * jax.random.normal(key, shape, scale.dtype), None


def _draw_bias(data: dict[str, Array], key: Array, num_actions: int) -> Array:
    scale = data["bias_scale"]
    return scale * jax.random.normal(key, (num_actions,), scale.dtype)


def _draw_biased(
    data: dict[str, Array], key: Array, state: Array, t: Array, shape: tuple[int, int]
) -> tuple[Array, Array]:
    return state + data["noise_scale"] * jax.random.normal(key, shape, state.dtype), state


def _no_drift(data: dict[str, Array], key: Array, num_actions: int) -> Array:
    return jnp.zeros(num_actions, data["drift_scale"].dtype)


def _draw_drifting(
    data: dict[str, Array], key: Array, state: Array, t: Array, shape: tuple[int, int]
) -> tuple[Array, Array]:
    z = jax.random.normal(key, (2, *shape), state.dtype)
    means = state + jnp.cumsum(data["drift_scale"] * z[0], 0)
    return means + data["noise_scale"] * z[1], means[-1]


def _draw_best(data: dict[str, Array], key: Array, num_actions: int) -> Array:
    return jax.random.randint(key, (), 0, num_actions, jnp.int32)


def _errors(data: dict[str, Array], key: Array, best: Array, shape: tuple[int, int]) -> Array:
    """Losses in {0, 1}, lower by the gap for the best action of every round."""
    mean = data["mean"]
    means = jnp.where(jnp.arange(shape[1]) == best[:, None], mean - data["gap"], mean)
    return (jax.random.uniform(key, shape, mean.dtype) < means).astype(mean.dtype)


def _draw_bernoulli(
    data: dict[str, Array], key: Array, state: Array, t: Array, shape: tuple[int, int]
) -> tuple[Array, Array]:
    return _errors(data, key, jnp.full(shape[0], state), shape), state


def _draw_switching(
    data: dict[str, Array], key: Array, state: Array, t: Array, shape: tuple[int, int]
) -> tuple[Array, Array]:
    num_rounds, num_actions = shape
    key, phase_key = jax.random.split(key)
    rounds = t + jnp.arange(num_rounds)
    switches = (rounds % data["phase_length"] == 0) & (rounds > 0)
    steps = jax.random.randint(phase_key, (num_rounds,), 1, max(num_actions, 2), jnp.int32)
    best = (state + jnp.cumsum(jnp.where(switches, steps, 0))) % num_actions
    return _errors(data, key, best, shape), best[-1].astype(jnp.int32)


def _draw_recorded(
    data: Array, key: Array, state: Array, t: Array, shape: tuple[int, int]
) -> tuple[Array, Array]:
    # Rounds past the end, of a block that is not played to its end, repeat the last one.
    rounds = t + jnp.arange(shape[0])
    rows = state[jnp.minimum(rounds, len(state) - 1)] if state.ndim else state + rounds
    return data[jnp.minimum(rows, len(data) - 1)], state
