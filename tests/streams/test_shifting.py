"""Losses whose law changes: where it changes and to what, and what the lower bounds do to agents."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regret_envs import games, simulate, streams
from regret_envs.agents import (
    BlumMansour,
    FixedPolicy,
    FollowTheLeader,
    Hedge,
    RegretMatchingPlus,
    Uniform,
    make,
)
from regret_envs.feedback import Bandit
from regret_envs.names import UnknownNameError
from regret_envs.seeding import RunSeeds
from regret_envs.streams import AdaptiveAdversary, BestResponse, Recorded


def losses_of(world, horizon, num_runs, seed=0):
    agent = Uniform()
    return simulate(world, agent, horizon=horizon, num_runs=num_runs, seed=seed, record="losses").losses[0]


@pytest.mark.parametrize(("num_switches", "horizon"), [(0, 30), (4, 30), (29, 30)])
def test_piecewise_stationary_has_so_many_switches(num_switches, horizon):
    # With mean = gap = 1 the best action never errs and the others always do.
    world = streams.PiecewiseStationary(4, num_switches=num_switches, mean=1.0, gap=1.0)
    losses = losses_of(world, horizon, 200)
    assert (losses.sum(2) == 3).all()
    best = losses.argmin(2)
    assert ((np.diff(best, axis=0) != 0).sum(0) == num_switches).all()
    if num_switches == 4:
        # Every action is the best first equally often, and switches are spread evenly.
        assert np.abs(np.bincount(best[0], minlength=4) - 50).max() < 5 * math.sqrt(200 * 3 / 16)
        rounds = np.nonzero(np.diff(best, axis=0).T)[1]
        assert abs(rounds.mean() - 14) < 5 * rounds.std() / math.sqrt(len(rounds))


def test_piecewise_stationary_errs_as_often_as_it_says():
    world = streams.PiecewiseStationary(3, num_switches=0, mean=0.6, gap=0.2)
    means = np.sort(losses_of(world, 4_000, 8).mean(0), axis=1)
    assert np.abs(means - [0.4, 0.6, 0.6]).max() < 5 * 0.5 / math.sqrt(4_000)


def test_seasons_come_round():
    world = streams.Seasonal(4, period=40, mean=0.4, amplitude=0.3)
    losses = losses_of(world, 80, 4_000)
    rounds = np.arange(80)[:, None]
    expected = 0.4 - 0.3 * np.cos(2 * np.pi * (rounds / 40 - np.arange(4) / 4))
    assert np.abs(losses.mean(1) - expected).max() < 5.5 * 0.5 / math.sqrt(4_000)
    assert [expected[t].argmin() for t in (0, 10, 20, 30, 40)] == [0, 1, 2, 3, 0]


def test_the_constrained_adversary_keeps_the_gap():
    losses = losses_of(streams.StochasticallyConstrained(3, gap=0.25), 200, 2_000)
    # Phases of 1, 2, 3, 5, 7, 11, … rounds, low and high in turn.
    lengths = np.ceil(1.6 ** np.arange(11)).astype(int)
    high = np.repeat(np.arange(11) % 2 == 1, lengths)[:200]
    # The best action errs with probability 0 or 3/4, the others with 1/4 or 1.
    best = losses[~high].mean(0).argmin(1)
    for phase, (good, bad) in ((high, (0.75, 1.0)), (~high, (0.0, 0.25))):
        means = losses[phase].mean(0)
        of_best = np.take_along_axis(means, best[:, None], 1)
        others = (means.sum(1, keepdims=True) - of_best) / 2
        error = 5 * 0.5 / math.sqrt(2_000 * phase.sum())
        assert abs(of_best.mean() - good) < error and abs(others.mean() - bad) < error
    assert np.abs(np.bincount(best, minlength=3) - 2_000 / 3).max() < 5 * math.sqrt(2_000 * 2 / 9)


@pytest.mark.parametrize("spec", ["hedge", "blum-mansour", "rm+", "stoltz-lugosi", "internal-rm", "adahedge"])
def test_swap_regret_is_forced_by_groups(spec):
    """Fair coins in every group: E[n/2 − min of two] = sqrt(n/π)/2 each, n = 2T/d, so sqrt(2dT/π)/4 in all.

    What an agent plays outside the group of the phase is not won, for which a fifth is allowed.
    """
    d, horizon, num_runs = 8, 8_000, 64
    play = simulate(streams.SwapLowerBound(d), make(spec), horizon=horizon, num_runs=num_runs)
    swap = play.regret("swap")[0]
    forced = math.sqrt(2 * d * horizon / math.pi) / 4
    assert swap.mean() + 5 * swap.std(ddof=1) / math.sqrt(num_runs) > 0.8 * forced


def test_the_reversal_comes_halfway():
    losses = losses_of(streams.Reversal(0.4), 5, 2)
    np.testing.assert_array_equal(losses[:, 1], [[0, 0.4]] * 3 + [[1, 0]] * 2)


def test_groups_take_turns():
    losses = losses_of(streams.SwapLowerBound(6, group_size=3), 40, 50)
    for run in range(50):
        halves = [(losses[part, run] < 1).any(0).reshape(2, 3).all(1) for part in (slice(20), slice(20, 40))]
        assert sorted(map(tuple, halves)) == [(False, True), (True, False)]


@pytest.mark.parametrize("horizon", [200, 400])
@pytest.mark.parametrize(
    "world", [AdaptiveAdversary(3), BestResponse(), BestResponse("shapley", player=1)], ids=repr
)
def test_following_the_leader_is_linear_against_what_answers(world, horizon):
    regret = simulate(world, FollowTheLeader(), horizon=horizon).regret()[0, 0]
    assert regret > horizon * world.loss_scale / 4
    hedge = simulate(world, Hedge(), horizon=horizon)
    assert hedge.regret()[0, 0] < Hedge().regret_bound(3, horizon, world.loss_scale) < regret


@pytest.mark.parametrize("player", [0, 1])
def test_the_best_response_is_one(player):
    game = games.random_game((3, 4), seed=2)
    rng = np.random.default_rng(0)
    world = BestResponse(game, player=player)
    (d,) = world.seats(1)
    assert d == game.num_actions[player]
    policies = rng.dirichlet(np.ones(d), size=5)
    losses = world.start(num_agents=1, horizon=1, seeds=RunSeeds(0, 5)).step([policies])[0]
    own, other = (game.losses[n] if player == 0 else game.losses[n].T for n in (player, 1 - player))
    for policy, loss in zip(policies, losses, strict=True):
        np.testing.assert_array_equal(loss, own[:, (policy @ other).argmin()])


def test_the_best_response_sees_policies_and_not_draws():
    # In matching pennies uniform play costs nothing against one who sees the policy alone.
    play = simulate(BestResponse(), FixedPolicy((0.5, 0.5)), horizon=200, num_runs=8, feedback=Bandit())
    assert np.abs(play.realized.play_losses[0].trace(axis1=1, axis2=2)).max() < 5 * math.sqrt(200)


@pytest.mark.parametrize(
    ("make_world", "error", "message"),
    [
        (lambda: streams.make("piecewise", num_switches=-1), ValueError, "num_switches must be at least 0"),
        (
            lambda: streams.make("piecewise", num_actions=1),
            ValueError,
            "num_actions must be at least 2, got 1",
        ),
        (lambda: streams.make("piecewise", gap=0.7), ValueError, "must be probabilities"),
        (
            lambda: streams.make("seasonal", amplitude=0.6),
            ValueError,
            "mean ± amplitude must be probabilities",
        ),
        (lambda: streams.make("seasonal", period=0), ValueError, "period must be at least 1, got 0"),
        (lambda: streams.make("constrained", gap=1.5), ValueError, r"gap must lie in \[0, 1\], got 1.5"),
        (
            lambda: streams.make("swap_lower_bound", group_size=3),
            ValueError,
            "group_size must divide .* 4, got 3",
        ),
        (lambda: streams.make("reversal", lead=-0.5), ValueError, r"lead must lie in \[0, 1\], got -0.5"),
        (lambda: streams.make("best_response", game="jordan"), ValueError, "one game of two players"),
        (lambda: streams.make("best_response", game="shaply"), UnknownNameError, "did you mean 'shapley'"),
        (lambda: streams.make("best_response", player=2), ValueError, "player must be 0 or 1, got 2"),
    ],
)
def test_settings_out_of_range(make_world, error, message):
    with pytest.raises(error, match=message):
        make_world()


def test_more_switches_than_rounds():
    with pytest.raises(ValueError, match=r"num_switches must lie in 0 … horizon − 1 = 4, got 5"):
        simulate(streams.PiecewiseStationary(3, num_switches=5), Hedge(), horizon=5)
    with pytest.raises(ValueError, match="exactly one agent, got 2"):
        simulate(BestResponse(), [Hedge(), RegretMatchingPlus()], horizon=5)


def test_recorded_blocks_are_shuffled_run_by_run():
    table = np.arange(46.0).reshape(23, 2)
    stream = Recorded(table, block_length=5)
    losses = losses_of(stream, 23, 40, seed=3)
    orders = set()
    for run in range(40):
        rows = (losses[:, run, 0] / 2).astype(int)
        np.testing.assert_array_equal(np.sort(rows), np.arange(23))
        np.testing.assert_array_equal(losses[:, run], table[rows])
        # Within a block rounds follow each other; 4 blocks of 5 and one of 3.
        starts = [r for r in rows if r % 5 == 0]
        assert sum(np.diff(rows) == 1) >= 18 and len(starts) == 5
        orders.add(tuple(starts))
    assert len(orders) > 20
    np.testing.assert_array_equal(losses_of(stream, 23, 3, seed=3), losses[:, :3])
    assert "block_length=5" in repr(stream)
    play = simulate(streams.make("prices", market="djia", block_length=20), BlumMansour(), horizon=507)
    assert np.isfinite(play.regret()).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"block_length": 0}, "block_length must be at least 1, got 0"),
        ({"block_length": 9}, "holds 8 rounds, less than one block of 9"),
        ({"block_length": 2, "window": 2}, "exclude each other"),
    ],
)
def test_blocks_out_of_range(settings, message):
    with pytest.raises(ValueError, match=message):
        Recorded(np.zeros((8, 2)), **settings)


@pytest.mark.parametrize(("num_actions", "noise"), [(2, 0.0), (3, 0.2), (5, 0.3)])
def test_the_leader_is_misled_and_hedge_is_not(num_actions, noise):
    world, horizon = streams.MisleadingLeader(num_actions, noise=noise), 400
    losses = losses_of(world, horizon, 20)
    leaders = np.concatenate([np.zeros((1, 20), dtype=int), losses.cumsum(0).argmin(2)[:-1]])
    led = np.take_along_axis(losses, leaders[:, :, None], 2)[:, :, 0]
    assert (led >= 1 - noise).all()
    assert (losses.sum(2) <= 1 + (num_actions - 1) * noise).all()
    follower = simulate(world, FollowTheLeader(), horizon=horizon, num_runs=20).regret()[0]
    linear = (horizon - 1) * (1 - noise) - horizon * (1 + (num_actions - 1) * noise) / num_actions
    assert (follower >= linear).all()
    hedge = simulate(world, Hedge(), horizon=horizon, num_runs=20).regret()[0]
    assert (hedge <= math.sqrt(2 * horizon * math.log(num_actions)) + 1e-9).all()
    assert linear > 2 * hedge.max()


def test_misleading_noise_is_a_share():
    with pytest.raises(ValueError, match="noise must lie in"):
        streams.MisleadingLeader(noise=1.5)
