"""The adaptive adversary forces regret of the order of the minimax value on every agent."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regret_envs import agents, simulate, streams
from regret_envs.seeding import RunSeeds
from regret_envs.streams import AdaptiveAdversary

AGENTS = [
    agents.Uniform(),
    agents.FollowTheLeader(),
    agents.Hedge(),
    agents.Hedge("anytime"),
    agents.AdaHedge(),
    agents.OptimisticHedge(),
    agents.OnlineGradientDescent(),
    agents.RegretMatching(),
    agents.RegretMatchingPlus(),
    agents.PredictiveRegretMatchingPlus(),
    agents.BlumMansour(),
    agents.StoltzLugosi(),
]


@pytest.mark.parametrize("agent", AGENTS, ids=repr)
@pytest.mark.parametrize(("d", "horizon"), [(2, 60), (3, 200), (10, 200)])
def test_forces_nearly_half_the_minimax_regret_on_every_agent(agent, d, horizon):
    minimax = np.sqrt(2 * horizon * np.log(d))
    assert simulate(AdaptiveAdversary(d), agent, horizon=horizon).regret()[0, 0] > 0.45 * minimax
    against_swaps = simulate(AdaptiveAdversary(d, regret="swap"), agent, horizon=horizon)
    assert against_swaps.regret("swap")[0, 0] > 0.45 * minimax


@pytest.mark.parametrize(("d", "share"), [(2, 0.45), (3, 0.45), (5, 0.45), (10, 0.4)])
def test_forces_swap_regret_of_a_good_share_of_blum_mansours_bound(d, share):
    play = simulate(AdaptiveAdversary(d, regret="swap"), agents.BlumMansour(), horizon=500)
    bound = (d + 1) * np.sqrt(500 * np.log(d) / 2)
    assert share * bound < play.regret("swap")[0, 0] <= bound


@pytest.mark.parametrize("agent", [agents.Uniform(), agents.FollowTheLeader()], ids=repr)
@pytest.mark.parametrize("d", [2, 3, 10])
def test_regret_is_linear_for_agents_that_have_no_guarantee(agent, d):
    play = simulate(AdaptiveAdversary(d), agent, horizon=2000, rounds=[1000])
    half, whole = play.at(1000).regret()[0, 0], play.regret()[0, 0]
    assert half > 0.5 * 1000
    assert whole > 1.9 * half


@settings(max_examples=50, deadline=None)
@given(d=st.integers(1, 6), seed=st.integers(0, 10_000))
def test_the_regret_never_falls_below_zero_whatever_is_played(d, seed):
    rng = np.random.default_rng(seed)
    episode = AdaptiveAdversary(d).start(num_agents=1, horizon=30, seeds=RunSeeds(0, 2))
    incurred, of_actions = np.zeros(2), np.zeros((2, d))
    for _ in range(30):
        policies = rng.dirichlet(np.full(d, 0.3), size=2)
        (losses,) = episode.step([policies])
        assert losses.shape == (2, d)
        assert set(np.unique(losses)) <= {-1.0, 1.0}
        incurred += (policies * losses).sum(1)
        of_actions += losses
        assert (incurred - of_actions.min(1) > -1e-7).all()


@pytest.mark.parametrize(
    ("agent", "d", "kind"),
    [
        (agents.Hedge(), 5, "external"),
        (agents.StoltzLugosi(), 7, "external"),
        (agents.BlumMansour(), 10, "external"),
        (agents.OnlineGradientDescent(), 10, "swap"),
    ],
    ids=repr,
)
def test_runs_do_not_depend_on_the_batch(agent, d, kind):
    world = AdaptiveAdversary(d, regret=kind)
    alone = simulate(world, agent, horizon=150)
    batch = simulate(world, agent, horizon=150, num_runs=7)
    np.testing.assert_allclose(batch.regret(), np.repeat(alone.regret(), 7, axis=1), atol=1e-10)


@pytest.mark.parametrize("policy", [(0.25, 0.25, 0.25, 0.25), (0.35, 0.15, 0.25, 0.25)])
@pytest.mark.parametrize("kind", ["external", "swap"])
def test_the_last_bits_of_a_policy_decide_nothing(policy, kind):
    rng = np.random.default_rng(0)
    world = AdaptiveAdversary(4, regret=kind)
    exact, noisy = (world.start(num_agents=1, horizon=60, seeds=RunSeeds(0, 20)) for _ in range(2))
    policies = np.tile(policy, (20, 1))
    for _ in range(60):
        noise = 1e-15 * rng.standard_normal(policies.shape)
        np.testing.assert_array_equal(exact.step([policies])[0], noisy.step([policies + noise])[0])


def test_runs_of_a_batch_are_played_apart():
    # Two policies at once are answered as each would be alone.
    policies = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    world = AdaptiveAdversary(3)
    both = world.start(num_agents=1, horizon=20, seeds=RunSeeds(0, 2))
    each = [world.start(num_agents=1, horizon=20, seeds=RunSeeds(0, 1)) for _ in policies]
    for _ in range(20):
        apart = [episode.step([policy[None]])[0][0] for episode, policy in zip(each, policies, strict=True)]
        np.testing.assert_array_equal(both.step([policies])[0], np.stack(apart))


def test_an_episode_survives_pickling():
    episode = AdaptiveAdversary(3, regret="swap").start(num_agents=1, horizon=20, seeds=RunSeeds(0, 1))
    policies = [np.array([[0.5, 0.3, 0.2]])]
    episode.step(policies)
    copy = pickle.loads(pickle.dumps(episode))
    for _ in range(19):
        np.testing.assert_array_equal(episode.step(policies)[0], copy.step(policies)[0])


def test_made_by_name():
    world = streams.make("adaptive", num_actions=4, regret="swap")
    assert world == AdaptiveAdversary(4, regret="swap")
    assert repr(world) == "AdaptiveAdversary(num_actions=4, regret='swap')"
    assert world.loss_scale == 2.0


def test_bad_settings():
    with pytest.raises(ValueError, match="num_actions must be at least 1, got 0"):
        AdaptiveAdversary(0)
    with pytest.raises(ValueError, match="regret must be 'external' or 'swap', got 'internal'"):
        AdaptiveAdversary(2, regret="internal")
    with pytest.raises(ValueError, match=r"AdaptiveAdversary.* plays against exactly one agent, got 2"):
        simulate(AdaptiveAdversary(2), [agents.Hedge(), agents.Hedge()], horizon=1)
