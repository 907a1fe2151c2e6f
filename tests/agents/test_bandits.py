"""Bandit agents: what they are made of, their formulas, and their bounds in expectation."""

from __future__ import annotations

import math

import gymnasium
import numpy as np
import pytest

from regret_envs import games, simulate, streams
from regret_envs.agents import (
    AGENTS,
    UCB1,
    BlumMansour,
    Exp3,
    Exp3IX,
    Hedge,
    ThompsonSampling,
    TsallisINF,
    Uniform,
    make,
)
from regret_envs.feedback import Bandit, Delayed, Noisy
from regret_envs.play import LossRangeError

BANDITS = [name for name, entry in AGENTS.items() if entry.takes == "bandit"]


def policies(agent, layer, horizon=200, world=None, **settings):
    world = world or streams.Bernoulli(4)
    play = simulate(world, agent, horizon=horizon, num_runs=3, feedback=layer, record="policies", **settings)
    return play.policies[0]


def test_exp3_is_hedge_behind_the_layer():
    step = math.sqrt(2 * math.log(4) / (4 * 200))
    np.testing.assert_allclose(policies(Exp3(), Bandit()), policies(Hedge(step), Bandit()), atol=1e-12)
    halved = policies(Exp3(loss_range=2.0), Bandit(loss_offset=-1.0))
    np.testing.assert_allclose(halved, policies(Hedge(step / 2), Bandit(loss_offset=-1.0)), atol=1e-12)


def test_exp3_ix_is_hedge_behind_the_layer_with_implicit_exploration():
    step = math.sqrt(2 * math.log(4) / (4 * 200))
    layer = Bandit(implicit_exploration=step / 2)
    np.testing.assert_allclose(policies(Exp3IX(), Bandit()), policies(Hedge(step), layer), atol=1e-12)
    anytime = Exp3IX()
    anytime.reset(4, horizon=None, num_runs=1, rng=np.random.default_rng(0))
    explorations = []
    for _ in range(5):
        explorations.append(anytime.implicit_exploration)
        anytime.observe(np.zeros((1, 4)))
    scale = math.sqrt(math.log(4) / 8)
    np.testing.assert_allclose(explorations, scale / np.sqrt([1, 1, 2, 3, 4]))


def test_tsallis_inf_is_the_paper_s_formula():
    # w = 4 (η (L − x))^−2 with η = 2 / √t and x < min L such that they sum to 1.
    agent = TsallisINF(loss_range=2.0)
    agent.reset(3, horizon=9, num_runs=1, rng=np.random.default_rng(0))
    rng, total = np.random.default_rng(1), np.zeros(3)
    for t in range(1, 9):
        policy = agent.act()[0]
        roots = policy**-0.5 * math.sqrt(t) - total / 2.0
        np.testing.assert_allclose(roots, roots[0], atol=1e-9)
        row = np.where(np.arange(3) == rng.integers(3), rng.random() * 5, 0.0)
        total += row
        agent.observe(row[None])


def test_bandit_blum_mansour_is_the_reduction_on_estimates():
    world, horizon = streams.Bernoulli(3), 60
    agent = BlumMansour(Hedge(step_size=0.3))
    play = simulate(world, agent, horizon=horizon, feedback=Bandit(), record=("policies", "losses"), seed=5)
    drawn = simulate(world, Spy(play.policies[0]), horizon=horizon, feedback=Bandit(), seed=5)
    assert np.array_equal(drawn.realized.mean_policies[0], play.realized.mean_policies[0])
    sums = np.zeros((3, 3))
    for policy, estimate in zip(play.policies[0][:, 0], Spy.shown, strict=True):
        proposals = np.exp(-0.3 * sums)
        proposals /= proposals.sum(1, keepdims=True)
        np.testing.assert_allclose(policy @ proposals, policy, atol=1e-12)
        sums += policy[:, None] * estimate[0]


class Spy(Uniform):
    """Plays given policies and keeps what it is shown."""

    shown: list = []  # noqa: RUF012

    def __init__(self, policies):
        self.policies = iter(policies)
        self.shown.clear()

    def act(self):
        return next(self.policies)

    def observe(self, losses):
        self.shown.append(np.array(losses))


WORLDS = [
    streams.Bernoulli(5, gap=0.2),
    streams.Bernoulli(5, gap=0.05),
    streams.SwitchingBest(5, phase_length=150, gap=0.4),
    streams.Alternating(5),
]


@pytest.mark.parametrize("name", ["exp3", "exp3-ix", "tsallis-inf"])
@pytest.mark.parametrize("world", WORLDS, ids=lambda w: type(w).__name__)
def test_expected_regret_is_within_its_bound(name, world):
    agent = make(name)
    play = simulate(world, agent, horizon=600, num_runs=128, seed=1, feedback=Bandit())
    bound = agent.regret_bound(5, 600, 1.0)
    # The regret against the best action of the run, which is above the one that the bound is about.
    regret = play.regret()[0]
    assert regret.mean() + 5 * regret.std(ddof=1) / math.sqrt(128) < bound


def test_exp3_ix_keeps_its_bound_with_high_probability():
    # With δ = 0.05 at most a run in twenty may be above.
    d, horizon, log_d = 5, 600, math.log(5)
    bound = 2 * math.sqrt(2 * horizon * d * log_d)
    bound += (math.sqrt(2 * horizon * d / log_d) + 1) * math.log(2 / 0.05)
    for world in WORLDS:
        play = simulate(world, Exp3IX(), horizon=horizon, num_runs=256, feedback=Bandit())
        assert (play.realized.regret()[0] > bound).mean() <= 0.05


def test_ucb1_against_a_plain_loop():
    world, horizon = streams.Bernoulli(3, gap=0.3), 300
    play = simulate(
        world, UCB1(), horizon=horizon, num_runs=4, feedback=Bandit(), record=("policies", "losses")
    )
    for run in range(4):
        counts, lost = np.zeros(3), np.zeros(3)
        for t in range(horizon):
            with np.errstate(divide="ignore", invalid="ignore"):
                index = lost / counts - np.sqrt(2 * np.log(max(t, 1)) / counts)
            action = t if t < 3 else int(index.argmin())
            assert play.policies[0][t, run].argmax() == action
            counts[action] += 1
            lost[action] += play.losses[0][t, run, action]


def pseudo_regret(play, gap):
    """Σ_t Δ(A_t): each run draws its means; the better action is the one of least loss in the long run."""
    best = play.losses[0].mean(0).argmin(1)
    return gap * play.t * (1 - play.mean_policies[0][np.arange(play.num_runs), best])


def test_stochastic_agents_keep_their_logarithmic_bounds():
    gap, d, horizon, num_runs = 0.4, 5, 4_000, 64
    regrets = {}
    for agent in (UCB1(), ThompsonSampling(), TsallisINF()):
        play = simulate(
            streams.Bernoulli(d, gap=gap),
            agent,
            horizon=horizon,
            num_runs=num_runs,
            feedback=Bandit(),
            record="losses",
        )
        regrets[type(agent)] = pseudo_regret(play, gap)
    bound = (d - 1) * (8 * math.log(horizon) / gap + (1 + math.pi**2 / 3) * gap)
    ucb1 = regrets[UCB1]
    assert ucb1.mean() + 5 * ucb1.std(ddof=1) / 8 < bound < 0.5 * gap * horizon
    # Thompson sampling is near Lai and Robbins' Σ Δ ln T / kl; below twice it at ε = 1 but for the constant.
    kl = 0.5 * math.log(0.5 / 0.1) + 0.5 * math.log(0.5 / 0.9)
    assert regrets[ThompsonSampling].mean() < 2 * (d - 1) * gap * math.log(horizon) / kl
    assert regrets[ThompsonSampling].mean() < regrets[UCB1].mean()


def test_thompson_sampling_keeps_counts_of_plays_and_failures():
    agent = ThompsonSampling(loss_range=2.0)
    agent.reset(3, horizon=400, num_runs=5, rng=np.random.default_rng(0))
    for _ in range(400):
        agent.observe(np.where(agent.act() == 1, [0.0, 2.0, 0.5], 0.0))
    assert (agent._counts.sum(0) == 400).all()
    np.testing.assert_array_equal(agent._lost[0], 0)
    np.testing.assert_array_equal(agent._lost[1], agent._counts[1])
    assert (agent._lost[2] < agent._counts[2]).all() and (agent._counts.argmax(0) == 0).all()


def test_delayed_one_action_agents_credit_the_action_that_was_played():
    layers = [Bandit(), Delayed(7)]
    play = simulate(
        streams.Bernoulli(3, gap=0.3),
        agent := UCB1(),
        horizon=200,
        num_runs=2,
        feedback=layers,
        record="policies",
    )
    seen = play.policies[0][: 200 - play.outstanding[0]]
    np.testing.assert_array_equal(agent._counts.T, seen.sum(0))


def test_in_games_all_losses_come_from_the_drawn_actions():
    play = simulate(
        games.weighted_rps(),
        [TsallisINF(loss_range=2.0), Exp3IX(loss_range=2.0)],
        horizon=3_000,
        num_runs=16,
        feedback=Bandit(loss_offset=-1.0),
    )
    assert play.gaps().cce.max.mean() < 0.11  # what uniform play has
    assert play.realized.gaps().cce.max.mean() < 0.11


@pytest.mark.parametrize("name", BANDITS)
def test_settings_out_of_range(name):
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"loss_range must be (positive|finite and not negative)"):
            type(make(name))(loss_range=wrong)


@pytest.mark.parametrize("name", BANDITS)
def test_full_information_is_refused_with_a_reason(name):
    for spec in (name, f"blum-mansour[copies={name}]", f"strongly-adaptive[copies={name}]"):
        with pytest.raises(ValueError, match="needs bandit feedback, and is shown the losses of all actions"):
            simulate(streams.Bernoulli(3), make(spec), horizon=3)


PD = games.prisoners_dilemma()  # payoffs 0, 1, 3, 5: losses in [−5, 0]


@pytest.mark.parametrize("name", BANDITS)
def test_the_range_is_set_from_a_world_that_knows_it(name):
    """By default as with the offset and the range written down, to the bit; and defecting pays."""

    def play(spec, feedback):
        agents = [Hedge(0.0), make(spec)]
        return simulate(PD, agents, horizon=2000, num_runs=4, seed=1, feedback=feedback)

    found = play(name, Bandit())
    given = play(f"{name}[loss_range=5]", Bandit(loss_offset=-5))
    np.testing.assert_array_equal(found.mean_policies[1], given.mean_policies[1])
    assert found.mean_policies[1][:, 0].mean() < 0.1


@pytest.mark.parametrize("name", BANDITS)
def test_losses_in_the_unit_interval_keep_the_range_of_1(name):
    """Whether they are known to lie there, or were brought there by an offset that was given."""
    half = games.NormalFormGame([-0.5 * np.random.default_rng(0).random((3, 2)) for _ in range(2)])
    for world, layer in ((half, Bandit()), (PD, Bandit(loss_offset=-5))):
        found, given = (
            simulate(world, [make(s), Hedge(0.1)], horizon=50, seed=1, feedback=layer).mean_policies[0]
            for s in (name, f"{name}[loss_range=1]" if layer.loss_offset is None else f"{name}[loss_range=5]")
        )
        np.testing.assert_array_equal(found, given)


def test_an_agent_forgets_a_range_that_it_was_told():
    agent, fresh = TsallisINF(), TsallisINF()
    simulate(PD, [agent, Hedge()], horizon=5, feedback=Bandit())
    assert agent.played_range == 5 and agent.loss_range is None
    for one in (agent, fresh):
        simulate(streams.Bernoulli(3), one, horizon=50, feedback=Bandit())
    np.testing.assert_array_equal(agent.act(), fresh.act())


@pytest.mark.parametrize(
    ("world", "spec", "layer", "says"),
    [
        (
            streams.Gaussian(2),
            "thompson",
            Bandit(),
            r"assumes losses in \[0, 1\] and saw .* in round \d+, row \d",
        ),
        (streams.Gaussian(2), "tsallis-inf", Bandit(), "give the feedback a loss_offset of at most -"),
        (streams.Gaussian(2), "ucb1", Bandit(loss_offset=-99), "give the agent a loss_range of at least 9"),
        (
            streams.Rademacher(2),
            "exp3",
            Bandit(loss_offset=0),
            "the losses here lie in .-1, 1.*loss_offset -1",
        ),
        (streams.Rademacher(2), "exp3-ix[loss_range=1]", Bandit(), "the agent the loss_range 2, or neither"),
    ],
)
def test_the_first_loss_outside_says_what_to_set(world, spec, layer, says):
    with pytest.raises(LossRangeError, match=says):
        simulate(world, make(spec), horizon=100, feedback=layer)


def test_what_is_wide_enough_is_not_refused():
    wide = Bandit(loss_offset=-50)
    for spec in (
        "thompson[loss_range=100]",
        "exp3[loss_range=100]",
        "strongly-adaptive[copies=exp3[loss_range=100]]",
    ):
        simulate(streams.Gaussian(2), make(spec), horizon=100, feedback=wide)
    # A step that is given says what losses it is for; and feedback that is noisy may show anything.
    simulate(streams.Gaussian(2), make("exp3[step_size=0.1]"), horizon=100, feedback=Bandit())
    simulate(streams.Bernoulli(2), make("thompson"), horizon=100, feedback=[Noisy(5.0), Bandit()])


def test_reductions_tell_their_copies():
    spec = "strongly-adaptive[copies=exp3{}]"
    found, given = (
        simulate(
            PD, [Hedge(0.0), make(spec.format(text))], horizon=300, seed=1, feedback=Bandit()
        ).mean_policies[1]
        for text in ("", "[loss_range=5]")
    )
    np.testing.assert_array_equal(found, given)


def test_opponents_of_environments_are_told_too():
    env = gymnasium.make(
        "regret_envs/RepeatedGame-v1",
        game="prisoners_dilemma",
        opponents="thompson",
        feedback="bandit",
        action_mode="discrete",
        horizon=1000,
    )
    env.reset(seed=1)
    rewards = np.array([env.step(0)[1] for _ in range(1000)])  # 3 where both cooperate, 0 where it defects
    assert (rewards[500:] == 3).mean() < 0.05
