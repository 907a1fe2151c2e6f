"""Layers between world and agent."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from regret_envs import games, simulate, streams
from regret_envs.agents import Agent, Hedge
from regret_envs.feedback import (
    FEEDBACK,
    Bandit,
    Channels,
    Corrupted,
    Delayed,
    Noisy,
    Phased,
    Place,
    Pure,
    make,
)
from regret_envs.names import UnknownNameError
from regret_envs.seeding import RunSeeds
from regret_envs.streams import AdaptiveAdversary
from regret_envs.streams.adversaries import AdaptiveEpisode


class Recorder(Agent):
    """Plays a fixed policy and keeps what it is shown, with the round in which it arrived."""

    def __init__(self, policy):
        self.policy = policy

    def reset(self, num_actions, *, horizon, num_runs, rng):
        self.num_runs, self.t, self.shown = num_runs, 0, []

    def act(self):
        self.t += 1
        return np.tile(self.policy, (self.num_runs, 1))

    def observe(self, losses):
        self.shown.append((self.t, np.array(losses)))


@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_bandit_estimates_are_the_formula_and_unbiased(gamma):
    policy = np.array([0.6, 0.3, 0.1])
    agent = Recorder(policy)
    layer = Bandit(implicit_exploration=gamma, loss_offset=-2.0)
    play = simulate(
        streams.Bernoulli(3), agent, horizon=20, num_runs=2_000, seed=1, feedback=layer, record="losses"
    )
    estimate = np.concatenate([shown for _, shown in agent.shown])
    losses = play.losses[0].reshape(-1, 3)
    drawn = estimate != 0
    np.testing.assert_array_equal(drawn.sum(1), 1)
    np.testing.assert_allclose(
        estimate[drawn], (losses + 2.0)[drawn] / (policy + gamma)[np.nonzero(drawn)[1]]
    )
    error = estimate - (losses + 2.0) * policy / (policy + gamma)
    standard_error = error.std(0, ddof=1) / np.sqrt(len(error))
    assert (np.abs(error.mean(0)) < 5 * standard_error).all()


def test_a_game_answers_the_drawn_actions_and_both_regrets_are_reported():
    game = games.random_game((3, 2), seed=2)
    play = simulate(
        game, [Hedge(), Hedge()], horizon=400, num_runs=3, feedback=Bandit(loss_offset=-1), record="losses"
    )
    # Realized losses of a player are rows of its payoff matrix.
    for n, losses in enumerate(game.losses):
        rows = np.moveaxis(losses, 1 - n, 0)
        for run in play.losses[n][:, 1]:
            assert any(np.allclose(run, row, atol=1e-14) for row in rows)
    counts = play.realized.mean_policies[0] * 400
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-9)
    difference = play.realized.regret() - play.regret()
    assert (difference != 0).all()
    assert (np.abs(difference) < 5 * np.sqrt(400) * game.loss_scale).all()
    assert simulate(game, [Hedge(), Hedge()], horizon=2).realized is None


def test_a_run_draws_the_same_actions_in_any_batch():
    settings = {"horizon": 300, "seed": 4, "feedback": Bandit()}
    batch = simulate(streams.Bernoulli(3), Hedge(), num_runs=20, **settings).realized
    alone = simulate(streams.Bernoulli(3), Hedge(), first_run=13, **settings).realized
    np.testing.assert_allclose(alone.mean_policies[0][0], batch.mean_policies[0][13], atol=1e-12)


def shown_and_losses(layers, horizon=70, num_runs=2, world=None, seed=0, policy=(0.5, 0.5)):
    agent = Recorder(np.array(policy))
    world = world or streams.Gaussian(len(policy))
    play = simulate(
        world, agent, horizon=horizon, num_runs=num_runs, seed=seed, feedback=layers, record="losses"
    )
    return agent.shown, play.losses[0], play


@pytest.mark.parametrize(
    ("layers", "least", "most", "outstanding"),
    [
        (Delayed(0), 0, 0, 0),
        (Delayed(4), 4, 4, 4),
        ([Delayed(3)], 3, 3, 3),
        (Phased(7), 0, 6, 0),
        (Phased(8), 0, 7, 70 % 8),
    ],
)
def test_delayed_losses_arrive_in_order_and_none_is_lost(layers, least, most, outstanding):
    shown, losses, play = shown_and_losses(layers)
    assert play.outstanding == (outstanding,) and len(shown) == 70 - outstanding
    late = [arrival - (t + 1) for t, (arrival, _) in enumerate(shown)]
    assert min(late) == least and max(late) == most
    for t, (_, loss) in enumerate(shown):
        np.testing.assert_array_equal(loss, losses[t])


def test_random_delays_keep_the_order():
    shown, losses, play = shown_and_losses(Delayed(2, jitter=6), horizon=2_000)
    arrivals = np.array([arrival for arrival, _ in shown])
    late = arrivals - np.arange(1, len(shown) + 1)
    assert (np.diff(arrivals) >= 0).all() and len(set(late)) > 3
    # A round waits for those before it, so delays are the running maximum of what was drawn.
    assert late.min() >= 2 and late.max() == 8
    assert play.outstanding == (2_000 - len(shown),) and 2 <= play.outstanding[0] <= 8
    np.testing.assert_array_equal(np.array([loss for _, loss in shown]), losses[: len(shown)])


def test_random_delays_are_the_same_in_every_batch():
    layer = Delayed(1, jitter=5)
    whole, _, _ = shown_and_losses(layer, num_runs=4, seed=3)
    agent = Recorder(np.array([0.5, 0.5]))
    simulate(streams.Gaussian(2), agent, horizon=70, num_runs=2, first_run=2, seed=3, feedback=layer)
    assert [t for t, _ in whole] == [t for t, _ in agent.shown]


def test_outstanding_is_there_at_every_round_kept():
    play = simulate(streams.Gaussian(2), Hedge(), horizon=20, rounds=[2, 7], feedback=Phased(5))
    assert [play.at(t).outstanding for t in (2, 7, 20)] == [(2,), (2,), (0,)]
    assert simulate(streams.Gaussian(2), Hedge(), horizon=3).outstanding == (0,)


def test_delayed_hedge_is_hedge_some_rounds_later():
    settings = {"horizon": 40, "num_runs": 3, "record": "policies"}
    agent = Hedge(step_size=0.3)
    now = simulate(streams.Gaussian(3), agent, **settings).policies[0]
    later = simulate(streams.Gaussian(3), agent, feedback=Delayed(6), **settings).policies[0]
    np.testing.assert_array_equal(later[6:], now[:-6])
    np.testing.assert_array_equal(later[:6], 1 / 3)


def test_noise_has_the_scale_asked_for_and_metrics_do_not_see_it():
    shown, losses, play = shown_and_losses(Noisy(0.7), horizon=4_000, num_runs=3)
    noise = np.array([loss for _, loss in shown]) - losses
    assert abs(noise.mean()) < 5 * 0.7 / np.sqrt(noise.size)
    assert noise.std() == pytest.approx(0.7, rel=5 / np.sqrt(2 * noise.size))
    flat = noise.reshape(len(noise), -1)
    correlation = np.corrcoef(np.hstack([flat[1:], flat[:-1]]).T) - np.eye(2 * flat.shape[1])
    assert np.abs(correlation).max() < 5.5 / np.sqrt(len(flat))
    quiet = simulate(streams.Gaussian(2), Recorder([0.5, 0.5]), horizon=4_000, num_runs=3)
    np.testing.assert_array_equal(play.regret(), quiet.regret())


@pytest.mark.parametrize(("budget", "magnitude"), [(2.25, 0.5), (0.0, 1.0), (3.0, 0.0), (1e9, 0.25)])
def test_corruption_raises_the_leader_within_its_budget(budget, magnitude):
    shown, losses, _ = shown_and_losses(Corrupted(budget, magnitude=magnitude), horizon=30, num_runs=4)
    added = np.array([loss for _, loss in shown]) - losses
    np.testing.assert_allclose(np.abs(added).max(2).sum(0), min(budget, 30 * magnitude), rtol=0, atol=1e-12)
    assert added.min() >= -1e-12 and added.max() <= magnitude + 1e-12
    leader = losses.cumsum(0).argmin(2)
    on_leader = np.take_along_axis(added, leader[..., None], 2)[..., 0]
    np.testing.assert_allclose(added.sum(2), on_leader, rtol=0, atol=1e-12)


def test_corruption_costs_an_agent_regret():
    world, settings = streams.Bernoulli(3, gap=0.3), {"horizon": 400, "num_runs": 64}
    clean = simulate(world, Hedge(), **settings).regret()[0]
    misled = simulate(world, Hedge(), feedback=Corrupted(100), **settings).regret()[0]
    difference = misled - clean
    assert difference.mean() > 5 * difference.std(ddof=1) / 8


@pytest.mark.parametrize("order", [1, -1])
def test_a_delayed_bandit_is_the_bandit_some_rounds_later(order):
    # Whichever layer comes first, the estimate belongs to the action drawn in the loss's own round.
    layers = [Bandit(implicit_exploration=0.1, loss_offset=-1.0), Delayed(2, jitter=3)][::order]
    policy = [0.2, 0.5, 0.3]
    shown, losses, play = shown_and_losses(layers, world=streams.Bernoulli(3), policy=policy)
    player = Recorder(np.array(policy))
    plain = simulate(streams.Bernoulli(3), player, horizon=70, num_runs=2, feedback=layers[::order][0])
    assert len(shown) == 70 - play.outstanding[0] < 70
    assert plain.outstanding == (0,)
    if order == 1:
        for (_, estimate), (_, expected) in zip(shown, player.shown, strict=False):
            np.testing.assert_array_equal(estimate, expected)
    for t, (_, estimate) in enumerate(shown):
        assert ((estimate != 0).sum(1) == 1).all()
        drawn = estimate != 0
        expected = (losses[t] + 1.0) / (np.array(policy) + 0.1)
        np.testing.assert_allclose(estimate[drawn], expected[drawn], atol=1e-12)


def test_noise_on_the_loss_or_on_the_estimate():
    world = streams.Bernoulli(3)
    shown, _, _ = shown_and_losses([Noisy(0.5), Bandit()], world=world, policy=[0.2, 0.5, 0.3])
    assert ((np.array([e for _, e in shown]) != 0).sum(2) == 1).all()
    shown, _, _ = shown_and_losses([Bandit(), Noisy(0.5)], world=world, policy=[0.2, 0.5, 0.3])
    assert (np.array([e for _, e in shown]) != 0).all()


@pytest.mark.parametrize(
    "layers",
    [
        [Noisy(0.3), Bandit(), Delayed(1, jitter=4)],
        [Phased(4), Bandit()],
        [Corrupted(3.0), Noisy(0.1)],
    ],
)
def test_layers_survive_pickling_between_policy_and_losses(layers):
    rng = np.random.default_rng(0)
    policies = rng.dirichlet(np.ones(3), size=(60, 4)).transpose(0, 2, 1)
    losses = rng.normal(size=(60, 3, 4))

    def play(pickled_at):
        channels = Channels(layers, 3, agent=None, seeds=RunSeeds(7, 4), player=0)
        played, shown = [], []
        for t in range(60):
            played.append(channels.play(policies[t]))
            if t == pickled_at:
                channels = pickle.loads(pickle.dumps(channels))
            shown += channels.show(losses[t])
        return np.array(played), np.array(shown)

    for whole, resumed in zip(play(None), play(33), strict=True):
        np.testing.assert_array_equal(resumed, whole)


def test_implicit_exploration_is_what_the_agent_asks_for():
    class Explorer(Recorder):
        implicit_exploration = 0.25

    def estimates(agent, layer):
        simulate(streams.Bernoulli(2), agent, horizon=50, seed=2, feedback=layer)
        return np.array([loss for _, loss in agent.shown])

    policy = np.array([0.5, 0.5])
    asked = estimates(Explorer(policy), Bandit())
    np.testing.assert_array_equal(asked, estimates(Recorder(policy), Bandit(implicit_exploration=0.25)))
    # A layer's own setting comes first.
    np.testing.assert_array_equal(
        estimates(Explorer(policy), Bandit(implicit_exploration=0.0)), estimates(Recorder(policy), Bandit())
    )
    assert not np.array_equal(asked, estimates(Recorder(policy), Bandit()))


def test_an_adversary_answers_policies_and_not_the_drawn_actions(monkeypatch):
    seen, step = [], AdaptiveEpisode.step
    monkeypatch.setattr(AdaptiveEpisode, "step", lambda self, p: (seen.append(p[0].copy()), step(self, p))[1])
    simulate(AdaptiveAdversary(3), Recorder([0.2, 0.5, 0.3]), horizon=5, feedback=Bandit())
    np.testing.assert_allclose(np.array(seen), np.tile([0.2, 0.5, 0.3], (5, 1, 1)))


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("bandit", {"implicit_exploration": -0.1}, "implicit_exploration .*not negative, got -0.1"),
        ("bandit", {"loss_offset": np.inf}, "loss_offset must be finite, got inf"),
        ("delayed", {"delay": -1}, "delay must be at least 0, got -1"),
        ("delayed", {"jitter": -2}, "jitter must be at least 0, got -2"),
        ("phased", {"length": 0}, "length must be at least 1, got 0"),
        ("noisy", {"scale": -1.0}, "scale .*not negative, got -1.0"),
        ("corrupted", {"budget": np.nan}, "budget must be finite and not negative, got nan"),
        ("corrupted", {"magnitude": -3}, "magnitude must be finite and not negative, got -3"),
    ],
)
def test_settings_out_of_range_are_named_with_their_range(name, settings, message):
    with pytest.raises(ValueError, match=message):
        make(name, **settings)


def test_layers_by_name():
    assert make("delayed", delay=3, jitter=1) == Delayed(3, jitter=1)
    assert {type(make(name)) for name in FEEDBACK} == set(FEEDBACK.values())
    with pytest.raises(UnknownNameError, match="unknown feedback 'bandits': did you mean 'bandit'"):
        make("bandits")
    with pytest.raises(TypeError, match="exploration"):
        make("bandit", exploration=0.1)
    with pytest.raises(TypeError, match="delay must be an integer"):
        make("delayed", delay=1.5)


@pytest.mark.parametrize(
    ("layers", "what"),
    [([Bandit(), Bandit()], "draw actions"), ([Delayed(2), Bandit(), Phased(3)], "delay losses")],
)
def test_layers_that_exclude_each_other(layers, what):
    with pytest.raises(ValueError, match=f"at most one layer of feedback may {what}"):
        simulate(streams.Gaussian(2), Hedge(), horizon=5, feedback=layers)


def test_an_agent_that_needs_what_is_not_given_is_named():
    class Full(Recorder):
        takes = "full"

    class Partial(Recorder):
        takes = "bandit"

    world = streams.Gaussian(2)
    simulate(world, Full([0.5, 0.5]), horizon=2, feedback=Delayed(1))
    simulate(world, Partial([0.5, 0.5]), horizon=2, feedback=[Bandit(), Delayed(1)])
    with pytest.raises(ValueError, match=r"player 1\) needs bandit feedback"):
        simulate(world, [Hedge(), Partial([0.5, 0.5])], horizon=2, feedback=Delayed(1))
    with pytest.raises(ValueError, match=r"player 0\) needs the losses of all actions"):
        simulate(world, Full([0.5, 0.5]), horizon=2, feedback=Bandit())


@pytest.mark.parametrize("feedback", ["bandit", Bandit, None, [Bandit(), "delayed"]])
def test_what_is_no_layer_is_named(feedback):
    with pytest.raises(TypeError, match=r"feedback must be layers such as regret_envs.feedback.Bandit\(\)"):
        simulate(streams.Bernoulli(3), Hedge(), horizon=5, feedback=feedback)


@pytest.mark.parametrize("num_actions", [1, 2, 3, 8, 9])
def test_the_draws_of_a_run_do_not_depend_on_the_batch(num_actions):
    """Small and large batches add up the probabilities in different ways."""
    policies = np.random.default_rng(0).dirichlet(np.ones(num_actions), 300).T
    if num_actions > 1:
        policies[0, ::7] = 0.0
    drawn = {}
    for num_runs in (1, 40, 300):
        channel = Pure().start(num_actions, Place(None, RunSeeds(5, num_runs), 0, 0))
        drawn[num_runs] = np.stack([channel.play(policies[:, :num_runs]) for _ in range(130)])
        np.testing.assert_array_equal(drawn[num_runs].sum(1), 1)
    for num_runs in (1, 40):
        np.testing.assert_array_equal(drawn[num_runs], drawn[300][:, :, :num_runs])
