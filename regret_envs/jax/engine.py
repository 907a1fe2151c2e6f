"""`simulate`, compiled: as `regret_envs.simulate`, with rules in place of agents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import Array
from jax.sharding import Mesh, NamedSharding

from regret_envs.arrays import FloatArray
from regret_envs.feedback import Bandit, Delayed, Feedback, as_layers, unfit
from regret_envs.games import TensorEpisode
from regret_envs.jax import kernel
from regret_envs.jax.numbers import NoFormError, fits, float_type
from regret_envs.jax.rule import Rule, State, seated, told
from regret_envs.jax.worlds import Stream, as_world, check_rounds, own_actions_first
from regret_envs.play import Play, PolicyError
from regret_envs.seeding import RunSeeds
from regret_envs.streams import Recorded
from regret_envs.validation import at_least, non_negative
from regret_envs.worlds import Bounds, World


def simulate(
    world: World | Stream,
    rules: Rule | Sequence[Rule],
    *,
    horizon: int,
    num_runs: int = 1,
    seed: int = 0,
    first_run: int = 0,
    starting_loss_scale: float = 0.0,
    feedback: Feedback | Sequence[Feedback] = (),
    rounds: Iterable[int] = (),
    horizon_known: bool = True,
    dtype: npt.DTypeLike | None = None,
) -> Play:
    """Play `horizon` rounds of `num_runs` independent runs, compiled.

    The same play as `regret_envs.simulate`, to rounding, in games, with recorded losses and with starting
    losses; what `jax.random` draws, streams and the actions of bandit feedback, follows the same laws. Run r
    of a seed meets the same losses in whatever batch. Memory is O(num_runs · d²) a player whatever the
    horizon. Runs are spread over as many of JAX's devices as divide them evenly.

    Args:
        world: a normal-form game, random games, or a stream: one of `regret_envs.jax` or of
            `regret_envs.streams` that has a form here.
        rules: one per seat. One rule that is not in a list has all seats of a game.
        horizon: rounds, T.
        num_runs: independent runs, B.
        seed: same seed, same result.
        first_run: number of the first run.
        starting_loss_scale: s; every player and run is shown losses drawn from N(0, s² I) in a round 0
            that the metrics leave out, the same ones as in `regret_envs.simulate`.
        feedback: `regret_envs.feedback.Bandit`, `Delayed` without jitter, or both; none: full information.
            Offset and range are set from the world as in `regret_envs.simulate`; losses outside the range
            that a rule assumes are not noticed here.
        rounds: rounds at which the play so far is kept (`Play.at`).
        horizon_known: whether rules are told the horizon.
        dtype: "float32" or "float64"; None: JAX's default, float32 unless x64 is enabled.

    Returns:
        The play; its arrays are NumPy float64.

    Raises:
        PolicyError: if a rule's policies are of the wrong shape or off the simplex; names the rule and the
            first round. Checked after the run.
        FloatingPointError: if losses are not finite, or their sums overflow.
        ValueError: if a number is out of range or lost in `dtype`, there are not as many rules as players, a
            player has one action, a rule does not play behind such feedback, or the world or the feedback has
            no form here.
        TypeError: if something is not a world, a rule or an integer.
    """
    horizon, num_runs = at_least("horizon", horizon, 1), at_least("num_runs", num_runs, 1)
    if horizon >= kernel.NEVER:
        raise ValueError(f"horizon must be below {kernel.NEVER}, got {horizon}")
    stops = sorted({at_least("a round to keep", t, 1) for t in rounds} | {horizon})
    if stops[-1] > horizon:
        raise ValueError(f"round {stops[-1]} was asked to be kept, but the horizon is {horizon}")
    floats = float_type(dtype)
    seeds = RunSeeds(at_least("seed", seed, 0), num_runs, at_least("first_run", first_run, 0))
    non_negative("starting_loss_scale", starting_loss_scale)
    played = as_world(world)
    draw: Any = None
    if isinstance(played, Stream):
        draw, seats = played.draw, seated(rules, 1)
        num_actions = (played.num_actions,) * len(seats)
    else:
        seats = seated(rules, played.num_players)
        num_actions = played.seats(len(seats))
    given = as_layers(feedback)
    _check_layers(given, seats)
    bounds = [world.loss_bounds(n) if isinstance(world, World) else None for n in range(len(seats))]
    layers = [_layers(given, bound) for bound in bounds]
    seats = told(seats, given, bounds)
    known_horizon = horizon if horizon_known else None
    states = []
    for player, (rule, d) in enumerate(zip(seats, num_actions, strict=True)):
        state = _first_state(rule, d, known_horizon, floats, player)
        state = jax.tree.map(lambda x: jnp.repeat(x[..., None], num_runs, -1), state)
        if starting_loss_scale:
            normals = [rng.standard_normal(d) for rng in seeds.starting_losses(player)]
            losses = jnp.asarray(starting_loss_scale * np.stack(normals, -1), floats)
            state = kernel.show(kernel.functions(rule, one_run=False), state, losses)
        states.append(state)
    spec = kernel.Spec(
        rules=tuple(kernel.functions(rule, num_runs == 1) for rule in seats),
        layers=tuple(layers),
        num_actions=num_actions,
        draw=draw,
        block_rounds=kernel.DRAWN_ROUNDS if draw or layers[0].bandit else kernel.SUMMED_ROUNDS,
        one_run=num_runs == 1,
    )
    episode: TensorEpisode | None = None
    keys = _keys(seeds, draw is not None, [layer.bandit for layer in layers])
    if isinstance(played, Stream):
        data, stream_state = _stream(world, played, horizon, seeds, keys[0], floats)
    else:
        episode = played.start(num_agents=len(seats), horizon=horizon, seeds=seeds)
        data, stream_state = _game(episode, horizon, floats), None
    carry = kernel.begin(spec, states, stream_state, num_runs, floats)
    if spec.one_run:
        data, keys, carry = _squeezed(spec, data, keys, carry)
    mesh = devices_for(num_runs)
    if mesh is not None:
        placed = jax.tree.map(lambda x: NamedSharding(mesh, kernel.runs_last(x)), (keys, carry))
        keys, carry = jax.device_put((keys, carry), placed)

    def play_to(stop: int, start: kernel.Carry = carry) -> kernel.Carry:
        return kernel.advance(spec, mesh, data, keys, start, jnp.int32(stop))

    earlier: dict[int, Play] = {}
    for stop in stops:
        carry = play_to(stop, carry)
        _check(carry, play_to, seats, seeds)
        play = _play(carry, layers[0], seed, episode, earlier if stop == horizon else {})
        if stop < horizon:
            earlier[stop] = play
    return play


def _layers(given: Sequence[Feedback], bounds: Bounds | None) -> kernel.Layers:
    """What lies between the world and a rule, at a seat whose losses lie within `bounds`."""
    layers = kernel.Layers()
    for layer in given:
        match layer:
            case Bandit():
                exploration = layer.implicit_exploration or 0.0
                layers = layers._replace(
                    bandit=True, implicit_exploration=exploration, loss_offset=layer.offset(bounds)
                )
            case Delayed(jitter=0):
                layers = layers._replace(delay=layer.delay)
            case _:
                raise NoFormError(f"{layer!r} has no JAX form: there are Bandit, and Delayed without jitter")
    return layers


def _check_layers(given: Sequence[Feedback], rules: Sequence[Rule]) -> None:
    """See that every rule plays behind the layers."""
    delayed = any(isinstance(layer, Delayed) and layer.delay for layer in given)
    for player, rule in enumerate(rules):
        if reason := unfit(rule, given):
            raise ValueError(f"{rule.name} (player {player}) {reason}")
        if rule.prompt and delayed:
            raise NoFormError(
                f"{rule.name} (player {player}) must be shown losses in their own round, since its copies' "
                f"proposals are not kept: it does not play behind {given}"
            )


def _first_state(
    rule: Rule, num_actions: int, horizon: int | None, dtype: np.dtype[Any], player: int
) -> State:
    """The rule's state before round 1, in `dtype`, and a check of what its functions make of it."""
    who = f"{rule.name} (player {player})"

    def typed(leaf: Any) -> Array:
        array = jnp.asarray(leaf)
        if not jnp.issubdtype(array.dtype, jnp.floating):
            return array
        fits(f"a number of {who}", array, dtype)
        return array.astype(dtype)

    try:
        state = jax.tree.map(typed, rule.init(num_actions, horizon))
    except ValueError as error:
        raise ValueError(f"{who}: {error}") from error
    policy = jax.eval_shape(rule.policy, state)
    shape = getattr(policy, "shape", None)
    if shape != (num_actions,):
        raise PolicyError(f"{who} has policies of shape {shape}: (num_actions,) is ({num_actions},)")
    after = jax.eval_shape(rule.update, state, *[jax.ShapeDtypeStruct(shape, dtype)] * 2)
    if _form(after) != _form(state):
        raise ValueError(
            f"update changes the form of the state of {who}, from {_form(state)} to {_form(after)}"
        )
    return state


def _form(state: State) -> tuple[Any, list[tuple[tuple[int, ...], Any]]]:
    """The structure of a pytree, and the shapes and types of its arrays."""
    leaves, structure = jax.tree.flatten(state)
    return structure, [(leaf.shape, leaf.dtype) for leaf in leaves]


def _keys(seeds: RunSeeds, stream: bool, drawing: Sequence[bool]) -> tuple[Any, list[Any]]:
    """The runs' keys of the stream and of every player's actions; None where nothing is drawn."""
    words = np.random.SeedSequence(seeds.seed).generate_state(2, np.uint32)
    base = jax.random.wrap_key_data(jnp.asarray(words), impl="threefry2x32")
    runs = jnp.asarray(seeds.runs, jnp.uint32)

    def keys(number: int) -> Array:
        return jax.vmap(jax.random.fold_in, (None, 0))(jax.random.fold_in(base, number), runs)

    return keys(0) if stream else None, [keys(n + 1) if draws else None for n, draws in enumerate(drawing)]


def _game(episode: TensorEpisode, horizon: int, dtype: np.dtype[Any]) -> tuple[Array, ...]:
    """The game's losses."""
    for player, losses in enumerate(episode.losses):
        fits(f"a payoff of player {player}", losses, dtype)
        fits(
            f"the sum of player {player}'s losses over {horizon} rounds",
            horizon * np.abs(losses).max(),
            dtype,
        )
    # An action whose loss is 1 at the end of every player's own, as the kernel wants it.
    return tuple(
        jnp.asarray(np.concatenate([own, np.ones_like(own[:1])]), dtype)
        for own in own_actions_first(episode.losses)
    )


def _stream(
    world: World | Stream, stream: Stream, horizon: int, seeds: RunSeeds, keys: Array, dtype: np.dtype[Any]
) -> tuple[Any, Any]:
    """What the stream's runs share, and the states of the runs."""
    check_rounds(stream, horizon)
    jax.tree.map(lambda x: fits(f"a number of {stream.name}", x, dtype), stream.data)
    data = jax.tree.map(
        lambda x: jnp.asarray(x, dtype if np.issubdtype(np.asarray(x).dtype, np.floating) else None),
        stream.data,
    )
    if isinstance(world, Recorded):
        # The runs begin where they do in NumPy's engine.
        world.start(num_agents=1, horizon=horizon, seeds=seeds)
        starts = [
            world.start_run(rng, run=run, horizon=horizon)
            for rng, run in zip(seeds.world(), seeds.runs, strict=True)
        ]
        return data, jnp.asarray(np.stack(starts, -1), jnp.int32)

    def begin(key: Array) -> Any:
        return stream.begin(data, jax.random.fold_in(key, _BEGIN), stream.num_actions)

    return data, jax.vmap(begin, -1, -1)(keys)


_BEGIN = 2**31


def _squeezed(spec: kernel.Spec, data: Any, keys: Any, carry: kernel.Carry) -> tuple[Any, Any, kernel.Carry]:
    """Without the axis of runs, of which there is one."""

    def squeeze(x: Array) -> Array:
        return x[..., 0] if x.ndim else x

    if spec.draw is None and data[0].ndim > len(spec.num_actions):
        data = jax.tree.map(squeeze, data)
    states, stream = jax.tree.map(squeeze, (carry.states, carry.stream))
    return data, jax.tree.map(squeeze, keys), carry._replace(states=states, stream=stream)


def devices_for(num_runs: int) -> Mesh | None:
    """As many of JAX's devices as divide the runs evenly, or None where that is one."""
    devices = jax.devices()
    count = next(n for n in range(min(len(devices), num_runs), 0, -1) if num_runs % n == 0)
    return Mesh(np.array(devices[:count]), ("runs",)) if count > 1 else None


def _check(
    carry: kernel.Carry, play_to: Callable[[int], kernel.Carry], rules: Sequence[Rule], seeds: RunSeeds
) -> None:
    """Raise for the first policy that was off the simplex, or for sums that are not finite."""
    first_bad = np.atleast_1d(np.asarray(carry.first_bad))
    if (t := int(first_bad.min())) < kernel.NEVER:
        row = int(first_bad.argmin())
        # Played again to that round, to see what it was.
        policies = []
        for rule, state in zip(rules, play_to(t).states, strict=True):
            policy = np.asarray(kernel.functions(rule, len(first_bad) == 1)[0](state), np.float64)
            policies.append(policy.reshape(len(policy), -1)[:, row])
        wrong = [np.abs(p.sum() - 1) + np.maximum(-p, 0).sum() for p in policies]
        player = int(np.nan_to_num(wrong, nan=np.inf).argmax())
        policy = policies[player]
        tolerance = kernel.tolerance(len(policy), carry.sums[player].play_loss.dtype)
        raise PolicyError(
            f"{rules[player].name} (player {player}) played off the simplex in round {t + 1}, run "
            f"{seeds.runs[row]}: {np.array2string(policy, threshold=8)} (sum {policy.sum():.9g}, minimum "
            f"{policy.min():.3g}); policies must be finite, not negative and sum to 1 within {tolerance:.1g}"
        )
    for player, sums in enumerate(carry.sums):
        if not np.isfinite(np.asarray(sums.play_loss)).all():
            raise FloatingPointError(
                f"the losses of player {player} are not finite, or their sums overflow "
                f"{sums.play_loss.dtype}, within {int(carry.t)} rounds"
            )


def _play(
    carry: kernel.Carry,
    layers: kernel.Layers,
    seed: int,
    episode: TensorEpisode | None,
    earlier: dict[int, Play],
) -> Play:
    def result(sums: Sequence[Array | None], realized: Play | None = None) -> Play:
        t = int(carry.t)
        arrays = [_runs_first(array) for array in sums]
        return Play(
            t=t,
            seed=seed,
            play_losses=tuple(np.ascontiguousarray(array[..., :-1]) for array in arrays),
            mean_policies=tuple(array[..., -1] / t for array in arrays),
            realized=realized,
            outstanding=(min(t, layers.delay),) * len(arrays),
            earlier=earlier,
            _episode=episode,
        )

    realized = result([sums.realized for sums in carry.sums]) if layers.bandit else None
    return result([sums.play_loss for sums in carry.sums], realized)


def _runs_first(array: Any) -> FloatArray:
    """A float64 array with the runs first, of one (d, d + 1) or (d, d + 1, runs)."""
    rows = np.asarray(array, dtype=np.float64)
    return rows[None] if rows.ndim == 2 else np.moveaxis(rows, -1, 0)
