"""The protocol of play is written once: simulate, the environments and training meet the same losses."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from regret_envs import games, repeated_game_v1, simulate, streams
from regret_envs.agents import Hedge
from regret_envs.agents.base import Agent
from regret_envs.feedback import Bandit, Corrupted, Delayed, Noisy, Pure
from regret_envs.play.hooks import has_hooks
from regret_envs.play.round import Match, Seat
from regret_envs.seeding import RunSeeds
from regret_envs.worlds import Stream

HORIZON = 30
GAMES = {
    "unequal": games.random_game((2, 4), seed=3),
    "three players": games.random_game((2, 3, 2), seed=5),
}
LAYERS = {
    "full": [],
    "bandit": [Bandit()],
    "pure": [Pure()],
    "delayed": [Delayed(3)],
    "composed": [Noisy(0.2), Bandit(implicit_exploration=0.1), Delayed(2, jitter=2)],
    "corrupted": [Corrupted(5.0)],
}


class OutsideSeat(Seat):
    """A seat played from outside the protocol, as training does."""

    def __init__(self, agent, players, num_actions, seeds):
        super().__init__(players, num_actions, seeds)
        self.agent, self.met = agent, []

    @property
    def occupant(self):
        return self.agent

    def ask(self, t):
        self.policies = np.asfortranarray(self.agent.act())
        return self.policies

    def show(self, losses):
        super().show(losses)
        self.met.append(self.losses)

    def observe(self, losses):
        self.agent.observe(losses)


@pytest.mark.parametrize("layers", LAYERS.values(), ids=LAYERS)
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_seats_of_any_kind_meet_the_losses_of_simulate(game, layers, scale):
    num_players, seeds = game.num_players, RunSeeds(7, 5)
    play = simulate(
        game,
        [Hedge(0.3) for _ in range(num_players)],
        horizon=HORIZON,
        num_runs=5,
        seed=7,
        feedback=layers,
        starting_loss_scale=scale,
        record="losses",
    )
    episode = game.start(num_agents=num_players, horizon=HORIZON, seeds=seeds)
    seats = [
        OutsideSeat(Hedge(0.3), range(n, n + 1), d, seeds) for n, d in enumerate(game.seats(num_players))
    ]
    match = Match(game, episode, seats, layers)
    for seat in seats:
        seat.agent.reset(seat.num_actions, horizon=HORIZON, num_runs=5, rng=seeds.agent(seat.players[0]))
        if scale:
            seat.agent.act()
            seat.observe(seat.starting_losses(scale))
    for _ in range(HORIZON):
        match.play_round()
    for seat, expected in zip(seats, play.losses, strict=True):
        assert np.array_equal(np.stack(seat.met), expected)


@pytest.mark.parametrize(("feedback", "layers"), [("full", []), ("bandit", [Bandit()])])
def test_an_environment_meets_the_losses_of_simulate(feedback, layers):
    game = GAMES["three players"]
    agents = [Hedge(0.3) for _ in range(3)]
    play = simulate(game, agents, horizon=HORIZON, seed=4, feedback=layers, record=("policies", "losses"))
    env = repeated_game_v1.parallel_env(
        game=game,
        horizon=HORIZON,
        action_mode="strict",
        feedback=feedback,
        opponents={"player_1": Hedge(0.3), "player_2": Hedge(0.3)},
    )
    _, infos = env.reset(seed=4)
    for t in range(HORIZON):
        _, _, _, _, infos = env.step({"player_0": play.policies[0][t, 0]})
        assert np.array_equal(infos["player_0"]["losses"], play.losses[0][t, 0])


class Recording(Agent):
    """Keeps the losses it meets, behind a fixed policy of unequal weights."""

    def reset(self, num_actions, *, horizon, num_runs, rng):
        self.policy = np.tile(np.arange(1.0, num_actions + 1), (num_runs, 1))
        self.policy /= self.policy.sum(1, keepdims=True)
        self.described, self.watched = None, []

    def act(self):
        return self.policy

    def observe(self, losses):
        pass

    def describe(self, world, seat):
        self.described = (world, seat)

    def watch(self, played):
        self.watched.append([p.copy() for p in played])


def test_the_hooks_are_told_the_world_and_what_was_played():
    game = GAMES["unequal"]
    agents = [Recording(), Recording()]
    play = simulate(game, agents, horizon=3, num_runs=2, record="policies")
    for seat, agent in enumerate(agents):
        assert agent.described == (game, seat)
        watched = [np.stack(column) for column in zip(*agent.watched, strict=True)]
        for seen, played in zip(watched, play.policies, strict=True):
            assert np.array_equal(seen, played)


def test_the_hooks_are_told_drawn_actions_where_actions_are_drawn():
    agents = [Recording(), Recording()]
    simulate(GAMES["unequal"], agents, horizon=20, feedback=Bandit())
    for played in agents[0].watched:
        for actions in played:
            assert set(np.unique(actions)) <= {0.0, 1.0} and (actions.sum(1) == 1).all()


def test_an_environment_tells_its_opponents():
    opponent = Recording()
    env = repeated_game_v1.parallel_env(
        game=GAMES["unequal"], horizon=3, action_mode="strict", opponents={"player_1": opponent}
    )
    env.reset(seed=0)
    env.step({"player_0": np.array([0.25, 0.75])})
    (seated,) = env.unwrapped._rounds.opponents.values()
    assert seated.described[1] == 1
    assert np.array_equal(seated.watched[0][0], [[0.25, 0.75]])


def test_training_in_a_bandit_game_meets_the_losses_of_drawn_actions():
    torch = pytest.importorskip("torch")
    from regret_envs.agents.attention.linear import LinearAttention
    from regret_envs.agents.attention.recipe import default_recipe
    from regret_envs.agents.attention.rollout import _react

    game = games.random_game((3, 3), seed=2)
    model = LinearAttention.from_step_size(0.4, 3)
    recipe = default_recipe(
        "linear-attention", num_actions=3, horizon=10, feedback="bandit", stream="self-play"
    )
    with torch.no_grad():
        _, losses = _react(model, recipe, game, RunSeeds(1, 4), 10, 0)
    # Every loss vector of player 0 is a column of its losses: the other's action was drawn.
    columns = game.losses[0].T
    for met in losses[:4].reshape(-1, 3).double().numpy():
        assert min(np.abs(columns - met).max(1)) < 1e-6


@pytest.mark.parametrize("feedback", ["full", "bandit"])
def test_training_meets_the_losses_of_simulate(feedback):
    torch = pytest.importorskip("torch")
    from regret_envs.agents.attention.linear import LinearAttention
    from regret_envs.agents.attention.recipe import default_recipe
    from regret_envs.agents.attention.rollout import _react

    game = games.random_game((3, 3), seed=2)
    model = LinearAttention.from_step_size(0.4, 3).double()
    recipe = default_recipe(
        "linear-attention",
        num_actions=3,
        horizon=10,
        feedback=feedback,
        stream="self-play",
        implicit_exploration=0.1,
    )
    with torch.no_grad():
        _, losses = _react(model, recipe, game, RunSeeds(1, 4), 10, 0)
    play = simulate(
        game,
        [copy.deepcopy(model), copy.deepcopy(model)],
        horizon=10,
        num_runs=4,
        seed=1,
        starting_loss_scale=1.0,
        feedback=[Bandit(implicit_exploration=0.1, loss_offset=0.0)] if feedback == "bandit" else [],
        record="losses",
    )
    for n in range(2):
        met = losses[4 * n : 4 * (n + 1)].numpy().swapaxes(0, 1)
        assert np.array_equal(met, play.losses[n])


def test_a_stream_is_met_alike(seed=11):
    stream = streams.BiasedGaussian(4, bias_scale=0.5)
    play = simulate(stream, Hedge(0.1), horizon=HORIZON, num_runs=3, seed=seed, record="losses")
    episode = stream.start(num_agents=1, horizon=HORIZON, seeds=RunSeeds(seed, 3))
    seat = OutsideSeat(Hedge(0.1), range(1), 4, RunSeeds(seed, 3))
    seat.agent.reset(4, horizon=HORIZON, num_runs=3, rng=np.random.default_rng(0))
    match = Match(stream, episode, [seat], [])
    for _ in range(HORIZON):
        match.play_round()
    assert np.array_equal(np.stack(seat.met), play.losses[0])


def test_what_is_watched_is_the_agents_own_and_read_only():
    class Keeping(Recording):
        def watch(self, played):
            self.watched.append(played)

    class Meddling(Recording):
        def watch(self, played):
            played[0][...] = 0

    agents = [Keeping(), Recording()]
    play = simulate(GAMES["unequal"], agents, horizon=600, feedback=Bandit())
    mean = np.mean([played[1] for played in agents[0].watched], 0)
    assert np.allclose(mean, play.realized.mean_policies[1], rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        simulate(GAMES["unequal"], [Meddling(), Recording()], horizon=2)


def test_an_agent_with_hooks_needs_a_seat_of_its_own():
    game = games.random_game((3, 3), seed=1)
    assert has_hooks(Recording()) and not has_hooks(Hedge()) and not has_hooks(object())
    with pytest.raises(ValueError, match="one agent per player"):
        simulate(game, Recording(), horizon=2)
    simulate(streams.Gaussian(3), Recording(), horizon=2)


class _NotANumber(Stream):
    """One loss of round 5 is not a number."""

    num_actions, loss_scale = 3, 1.0

    def draw(self, rng, state, t, num_rounds):
        losses = rng.random((num_rounds, 3))
        losses[4 - t : 5 - t, 1] = np.nan if t <= 4 else 0
        return losses


def test_the_world_is_blamed_for_its_own_nan():
    with pytest.raises(
        FloatingPointError, match=r"the world's losses for player 0 are not finite in round 5"
    ):
        simulate(_NotANumber(), Hedge(), horizon=20)
