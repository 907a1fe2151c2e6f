"""`simulate`: rounds of many runs at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, Protocol

import numpy as np

from regret_envs import metrics
from regret_envs.feedback import Channels, Feedback, check_layers, unfit
from regret_envs.play import Play
from regret_envs.registry import lookup
from regret_envs.worlds import Episode, FloatArray, RunSeeds, World, at_least, non_negative


class AgentLike(Protocol):
    """What `simulate` asks of an agent; see `regret_envs.agents.Agent`."""

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Begin `num_runs` runs."""

    def act(self) -> FloatArray:
        """Policies, shape (num_runs, num_actions)."""
        ...

    def observe(self, losses: FloatArray) -> None:
        """Losses, shape (num_runs, num_actions)."""


class PolicyError(ValueError):
    """An agent's policies are of the wrong shape or off the simplex."""


Recorded = Literal["policies", "losses"]


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
    record: Recorded | Sequence[Recorded] = (),
    horizon_known: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Play:
    """Play `horizon` rounds of `num_runs` independent runs.

    Memory is O(num_runs · d²) a player whatever the horizon, unless play is recorded.

    Args:
        world: a stream (any number of agents face the same losses; an adversary takes one) or a
            game (one agent a player).
        agents: one agent, or one a seat.
        horizon: rounds, T.
        num_runs: independent runs, B.
        seed: same seed, same result to the bit.
        first_run: number of the first run. Run r of a seed faces the same losses in whatever batch.
        starting_loss_scale: s; every player and run is shown losses drawn from N(0, s² I) in a
            round 0 that the metrics leave out (self-play from uniform is degenerate where the
            equilibrium is uniform). 0: no such round.
        feedback: what lies between the world and every agent, one layer or several in series; none:
            full information.
        rounds: rounds at which the play so far is kept, for anytime curves (`Play.at`).
        record: "policies", "losses" or both: kept whole, in memory proportional to the horizon.
        horizon_known: whether agents are told the horizon.
        progress: called now and then with the number of rounds played.

    Returns:
        The play.

    Raises:
        PolicyError: if policies are of the wrong shape or off the simplex; names the agent, the
            round and the run.
        ValueError: if there are not as many agents as players, the same object is given two seats,
            `horizon` or `num_runs` is below 1, a round to keep lies outside 1 … horizon, two layers of
            feedback delay or two draw actions, an agent does not play behind such layers, or the
            world takes none.
    """
    horizon, num_runs = at_least("horizon", horizon, 1), at_least("num_runs", num_runs, 1)
    seed, first_run = at_least("seed", seed, 0), at_least("first_run", first_run, 0)
    non_negative("starting_loss_scale", starting_loss_scale)
    agents = list(agents) if isinstance(agents, Sequence) else [agents]
    if len({id(agent) for agent in agents}) < len(agents):
        raise ValueError("the same agent object is given two seats: give every seat its own")
    keep = sorted({at_least("a round to keep", t, 1) for t in rounds} | {horizon})
    if keep[-1] > horizon:
        raise ValueError(f"round {keep[-1]} was asked to be kept, but the horizon is {horizon}")
    recorded = {record} if isinstance(record, str) else set(record)
    for name in recorded:
        lookup("record", name, {"policies": 0, "losses": 0})

    layers = [feedback] if isinstance(feedback, Feedback) else list(feedback)
    check_layers(layers)
    if layers and not world.takes_feedback:
        raise ValueError(f"{world!r} takes no layer of feedback (full information only), got {layers}")
    for player, agent in enumerate(agents):
        if reason := unfit(agent, layers):
            raise ValueError(f"{agent!r} (player {player}) {reason}")

    seeds = RunSeeds(seed, num_runs, first_run)
    num_actions = world.seats(len(agents))
    episode = world.start(num_agents=len(agents), horizon=horizon, seeds=seeds)
    block_rounds = min(max(_BLOCK_CELLS // (max(num_actions) * num_runs), 8), 256)
    seats = [
        _Seat(agent, player, d, num_runs, block_rounds, layers, seeds)
        for player, (agent, d) in enumerate(zip(agents, num_actions, strict=True))
    ]
    for player, seat in enumerate(seats):
        seat.reset(horizon if horizon_known else None, seeds.agent(player))
        if starting_loss_scale:
            seat.show_starting_losses(seeds.starting_losses(player), starting_loss_scale)

    history = [{name: np.empty((horizon, d, num_runs)) for name in recorded} for d in num_actions]
    earlier: dict[int, Play] = {}
    t = 0
    for stop in keep:
        while t < stop:
            count = min(block_rounds, stop - t)
            _play_block(episode, seats, t, count)
            for seat, arrays in zip(seats, history, strict=True):
                seat.add(count)
                for name, array in arrays.items():
                    array[t : t + count] = getattr(seat, name)[:count]
            t += count
            if progress is not None:
                progress(t)
        kept = {name: tuple(a[name][:t].transpose(0, 2, 1) for a in history) for name in recorded}
        earlier[t] = Play(
            t=t,
            seed=seed,
            play_losses=tuple(seat.play_loss.value() for seat in seats),
            mean_policies=tuple((seat.policy_sum / t).T for seat in seats),
            policies=kept.get("policies"),
            losses=kept.get("losses"),
            realised=_realised(seats, t, seed, episode),
            outstanding=tuple(seat.outstanding for seat in seats),
            earlier=earlier if t == horizon else {},
            _episode=episode,
        )
    return earlier.pop(horizon)


_BLOCK_CELLS = 1 << 15


def _realised(seats: Sequence[_Seat], t: int, seed: int, episode: Episode) -> Play | None:
    """Play with the drawn actions in place of the policies, where actions are drawn."""
    if not all(seat.draws_actions for seat in seats):
        return None
    return Play(
        t=t,
        seed=seed,
        play_losses=tuple(seat.realised_play_loss.value() for seat in seats),
        mean_policies=tuple((seat.action_sum / t).T for seat in seats),
        _episode=episode,
    )


def _play_block(episode: Episode, seats: Sequence[_Seat], t: int, count: int) -> None:
    """Play rounds t + 1 … t + count and check the policies, a block at a time since that is cheaper."""
    k = 0
    draws = any(seat.draws_actions for seat in seats)
    try:
        for k in range(count):
            played = [seat.act(k, t) for seat in seats]
            if draws:
                actions = [seat.play(k) for seat in seats]
                played = actions if episode.answers_actions else played
            for seat, loss in zip(seats, episode.step(played), strict=True):
                seat.observe(k, loss)
    except PolicyError:
        raise
    except Exception as error:
        # The cause may be an earlier policy of this block that is not checked yet.
        for seat in seats:
            seat.check(t, k)
        error.add_note(f"raised in round {t + k + 1}")
        raise
    for seat in seats:
        seat.check(t, count)


class _Seat:
    """An agent at its seat: asks it, shows it losses, and keeps a block of rounds of its play."""

    def __init__(
        self,
        agent: AgentLike,
        player: int,
        num_actions: int,
        num_runs: int,
        block_rounds: int,
        layers: Sequence[Feedback],
        seeds: RunSeeds,
    ) -> None:
        self.agent = agent
        self.player = player
        self.policies = np.empty((block_rounds, num_actions, num_runs))
        self.losses = np.empty_like(self.policies)
        # Views made once: making them every round is a tenth of the cost of a single run.
        self._policy_rows = [row.T for row in self.policies]
        self._loss_rows = [row.T for row in self.losses]
        self.policy_sum = np.zeros((num_actions, num_runs))
        self.play_loss = metrics.PlayLossSum(num_actions, num_runs)
        self._shape = (num_runs, num_actions)
        self._channels = None
        if layers:
            self._channels = Channels(layers, num_actions, agent=agent, seeds=seeds, player=player)
        self.draws_actions = any(layer.draws_actions for layer in layers)
        if self.draws_actions:
            self.actions = np.empty_like(self.policies)
            self.action_sum = np.zeros_like(self.policy_sum)
            self.realised_play_loss = metrics.PlayLossSum(num_actions, num_runs)

    @property
    def outstanding(self) -> int:
        """How many rounds' losses the agent has not been shown yet."""
        return 0 if self._channels is None else self._channels.outstanding

    def reset(self, horizon: int | None, rng: np.random.Generator) -> None:
        num_runs, num_actions = self._shape
        self.agent.reset(num_actions, horizon=horizon, num_runs=num_runs, rng=rng)

    def show_starting_losses(self, rngs: Sequence[np.random.Generator], scale: float) -> None:
        """Round 0: the agent acts to no effect and is shown random losses."""
        self.agent.act()
        losses = np.stack([scale * rng.standard_normal(self._shape[1]) for rng in rngs], axis=1)
        self.agent.observe(losses.T)

    def act(self, k: int, t: int) -> FloatArray:
        """The agent's policies in round t + k + 1, kept as row k of the block."""
        policies = np.asarray(self.agent.act())
        if policies.shape != self._shape:
            raise PolicyError(
                f"{self._name} returned policies of shape {policies.shape} in round {t + k + 1}: "
                f"(num_runs, num_actions) is {self._shape}"
            )
        row = self._policy_rows[k]
        row[...] = policies
        return row

    def play(self, k: int) -> FloatArray:
        """What is played in row k of the block: the policies, or the actions drawn from them."""
        if not self.draws_actions or self._channels is None:
            return self.policies[k].T
        self.actions[k] = self._channels.play(self.policies[k])
        return self.actions[k].T

    def observe(self, k: int, losses: FloatArray) -> None:
        """Keep the world's losses as row k of the block, and show the agent what arrives."""
        self._loss_rows[k][...] = losses
        if self._channels is None:
            self.agent.observe(losses)
        else:
            for shown in self._channels.show(self.losses[k]):
                self.agent.observe(shown.T)

    def add(self, count: int) -> None:
        """Sum up the block's first `count` rounds."""
        self.play_loss.add(self.policies[:count], self.losses[:count])
        self.policy_sum += self.policies[:count].sum(0)
        if self.draws_actions:
            self.realised_play_loss.add(self.actions[:count], self.losses[:count])
            self.action_sum += self.actions[:count].sum(0)

    def check(self, t: int, count: int) -> None:
        """Check the block's first `count` rounds.

        Raises:
            PolicyError: for the first policy that is off the simplex.
            FloatingPointError: for the first losses of the world that are not finite.
        """
        for k, run in np.argwhere(metrics.off_simplex(self.policies[:count], axis=1)):
            policy = self.policies[k, :, run]
            raise PolicyError(
                f"{self._name} played off the simplex in round {t + k + 1}, row {run}: "
                f"{np.array2string(policy, threshold=8)} (sum {policy.sum():.9g}, minimum {policy.min():.3g}"
                "); rows must be finite, not negative and sum to 1 within 1e-6"
            )
        # One sum is cheaper than a test of every entry, and not finite if an entry is not.
        if not np.isfinite(self.losses[:count].sum()):
            for k, run in np.argwhere(np.logical_not(np.isfinite(self.losses[:count]).all(1))):
                raise FloatingPointError(
                    f"the world's losses for player {self.player} are not finite in round {t + k + 1}, "
                    f"row {run}: {self.losses[k, :, run]}"
                )

    @property
    def _name(self) -> str:
        return f"{self.agent!r} (player {self.player})"
