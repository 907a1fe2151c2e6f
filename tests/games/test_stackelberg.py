"""Stackelberg values against closed forms and a fine grid, and a leader that uses what it knows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from regret_envs import games, simulate, streams
from regret_envs.agents import BlumMansour, FollowTheLeader, Hedge, Uniform, make
from regret_envs.agents.stackelberg_leader import StackelbergLeader, best_plan
from regret_envs.games import NormalFormGame
from regret_envs.games.stackelberg import stackelberg


@pytest.mark.parametrize("leader", [0, 1])
@pytest.mark.parametrize("seed", range(6))
def test_value_against_a_grid_of_commitments(seed, leader):
    game = games.random_game([(2, 5), (5, 2)][leader], seed=seed)
    found = stackelberg(game.losses, leader)
    u, v = (-game.losses[n] if leader == 0 else -game.losses[n].T for n in (leader, 1 - leader))
    grid = np.linspace(0, 1, 20_001)
    commitments = np.stack([grid, 1 - grid], axis=1)
    responses = commitments @ v
    best = responses >= responses.max(1, keepdims=True) - 1e-12
    payoffs = np.where(best, commitments @ u, -np.inf).max(1)
    assert found.value >= payoffs.max() - 1e-9
    assert found.value == pytest.approx(payoffs.max(), abs=2e-3)
    # The commitment makes the response a best one, and pays the value.
    assert found.commitment.sum() == pytest.approx(1)
    row = found.commitment @ v
    assert row[found.response] == pytest.approx(row.max(), abs=1e-9)
    assert (found.commitment @ u)[found.response] == pytest.approx(found.value, abs=1e-9)


def test_value_in_games_that_are_known():
    # In a zero-sum game it is the value; in chicken committing to dare pays 7.
    assert stackelberg(games.weighted_rps().losses).value == pytest.approx(0, abs=1e-9)
    assert stackelberg(games.chicken().losses).value == pytest.approx(7)
    # Conitzer and Sandholm's example: the dominant action pays 2, committing to half of each 3.5.
    game = games.NormalFormGame([[[2, 4], [1, 3]], [[1, 0], [0, 1]]])
    found = stackelberg(game.losses)
    assert found.value == pytest.approx(3.5) and found.commitment == pytest.approx([0.5, 0.5])
    for margin in (0.01, 0.04, 0.5):
        assert stackelberg(games.deng_schneider_sivan(margin).losses).value == pytest.approx(0, abs=1e-9)


def test_what_has_no_stackelberg_value():
    for losses, leader in [(games.jordan().losses, 0), (games.chicken().losses, 2)]:
        with pytest.raises(ValueError, match="one game of two players and leader 0 or 1"):
            stackelberg(losses, leader)
    with pytest.raises(ValueError, match="defined in games"):
        simulate(streams.Gaussian(3), Uniform(), horizon=3).extraction()
    with pytest.raises(ValueError, match="one game of two players"):
        simulate(
            games.make("random_games", num_actions=(2, 2)), [Uniform(), Uniform()], horizon=3
        ).extraction()
    for margin in (0, 1, -0.1, np.nan):
        with pytest.raises(ValueError, match="margin must be above 0 and below 1"):
            games.deng_schneider_sivan(margin)


def test_extraction_is_the_payoff_above_the_value():
    game = games.random_game((2, 4), seed=3)
    plan, agents = ((0.3, 1), (0.7, 0)), [Hedge(step_size=0.4)]
    play = simulate(game, [StackelbergLeader([plan]), *agents], horizon=10, record="policies", rounds=[4])
    for t in (4, 10):
        leader, agent = (p[:t, 0] for p in play.policies)
        payoff = -np.einsum("ti,ij,tj->", leader, game.losses[0], agent) / t
        expected = payoff - stackelberg(game.losses).value
        np.testing.assert_allclose(play.at(t).extraction(), [expected], atol=1e-12)
    np.testing.assert_array_equal(play.policies[0][:, 0].argmax(1), [1] * 3 + [0] * 7)


def test_a_leader_extracts_from_hedge_and_follow_the_leader_and_not_from_blum_mansour():
    game, horizon = games.deng_schneider_sivan(0.04), 2_000
    plan, payoff = best_plan(game, FollowTheLeader(), horizon=horizon)
    assert plan == ((0.5, 0), (0.5, 1))
    # 1 − √γ in the limit: left is played for another √γ / 2 of the time, at 0.
    assert payoff == pytest.approx(0.8, abs=5e-3)
    plan, payoff = best_plan(game, Hedge(), horizon=horizon)
    assert plan == ((0.5, 0), (0.5, 1)) and 0.6 < payoff < 0.8
    for spec in ("blum-mansour", "blum-mansour-rm+", "stoltz-lugosi"):
        assert best_plan(game, make(spec), horizon=horizon)[1] < 1e-9


def test_no_plan_extracts_more_than_swap_regret_allows():
    # The theorem's o(T) is the follower's swap regret up to a constant of the game, here less than 1.
    for seed in range(5):
        game = games.random_game((3, 4), seed=seed)
        agent, horizon = BlumMansour(), 1_000
        _, payoff = best_plan(game, agent, horizon=horizon, num_shares=8)
        slack = agent.regret_bound(4, horizon, 2.0) / horizon
        assert payoff - stackelberg(game.losses).value < slack


def test_plans_one_a_run():
    plans = [((1.0, 0),), ((0.5, 0), (0.5, 1)), ((0.24, 1), (0.26, 0), (0.5, 1))]
    agent = StackelbergLeader(plans)
    agent.reset(2, horizon=8, num_runs=3, rng=np.random.default_rng(0))
    actions = []
    for t in range(8):
        if t == 5:
            agent = pickle.loads(pickle.dumps(agent))
        actions.append(agent.act().argmax(1))
    expected = [[0] * 8, [0] * 4 + [1] * 4, [1] * 2 + [0] * 2 + [1] * 4]
    np.testing.assert_array_equal(np.transpose(actions), expected)
    with pytest.raises(ValueError, match="3 plans for 2 runs"):
        agent.reset(2, horizon=8, num_runs=2, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("plans", "message"),
    [
        ([], "at least one plan"),
        ([((0.5, 0), (0.4, 1))], "at least 0 and sum to 1"),
        ([((1.5, 0), (-0.5, 1))], "at least 0 and sum to 1"),
        ([((1.0, -1),)], "an action of a plan must be at least 0, got -1"),
    ],
)
def test_plans_that_are_none(plans, message):
    with pytest.raises(ValueError, match=message):
        StackelbergLeader(plans)


def test_what_a_plan_cannot_be_played_in():
    agent = StackelbergLeader([((0.5, 0), (0.5, 2))])
    assert agent.unsupported(3, horizon=5) is None
    assert agent.unsupported(2, horizon=5) == "a plan has action 2, the task 2 actions"
    assert agent.unsupported(3, horizon=None) == "a plan needs the horizon"
    with pytest.raises(ValueError, match="needs the horizon"):
        agent.reset(3, horizon=None, num_runs=1, rng=np.random.default_rng(0))


def test_a_leader_may_sit_in_either_seat_and_finds_its_plan():
    game = games.random_game((3, 2), seed=4)
    mirrored = NormalFormGame([game.payoffs[1].T, game.payoffs[0].T])
    first, second = best_plan(game, Hedge(), horizon=60), best_plan(mirrored, Hedge(), horizon=60, leader=1)
    assert first[0] == second[0] and first[1] == pytest.approx(second[1], abs=1e-12)
    for world, seat in ((game, 0), (mirrored, 1)):
        leader = StackelbergLeader(follower=Hedge())
        agents = [leader, Hedge()] if seat == 0 else [Hedge(), leader]
        play = simulate(world, agents, horizon=60)
        payoff = -np.trace(play.play_losses[seat][0]) / 60
        assert payoff == pytest.approx(first[1], abs=1e-12)


def test_a_leader_needs_to_know_what_it_plays():
    leader = StackelbergLeader(follower=Hedge())
    leader.reset(2, horizon=5, num_runs=1, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="must be told the game"):
        leader.act()
    with pytest.raises(ValueError, match="game of two players in arrays"):
        leader.describe(games.make("jordan"), 0)
    for wrong in ({}, {"plans": [((1.0, 0),)], "follower": Hedge()}):
        with pytest.raises(ValueError, match="plans or a follower"):
            StackelbergLeader(**wrong)
    assert best_plan(NormalFormGame([np.ones((1, 2)), np.ones((1, 2))]), Hedge(), horizon=4)[1] == 1
