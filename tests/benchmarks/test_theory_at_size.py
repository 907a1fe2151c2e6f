"""What theory predicts of many players and many actions; what takes long behind the marker `suites`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regret_envs import games, simulate, streams
from regret_envs.agents import AGENTS, Hedge, OptimisticHedge, make
from regret_envs.benchmarks.running import planning, runner
from regret_envs.benchmarks.tasks.core import SUITES, TASKS
from regret_envs.games import random_congestion, random_polymatrix


def self_play(game, spec, horizon, num_runs=2, **more):
    return simulate(game, make(spec), horizon=horizon, num_runs=num_runs, starting_loss_scale=1.0, **more)


def least_cost_of_roads(game):
    """The least social cost where everyone takes one road: players one by one where they cost all least."""
    counts = np.zeros(len(game.latencies), dtype=int)
    totals = np.pad(game.latencies * np.arange(1, game.num_players + 1), ((0, 0), (1, 0)))
    for _ in range(game.num_players):
        added = [totals[r, counts[r] + 1] - totals[r, counts[r]] for r in range(len(counts))]
        counts[int(np.argmin(added))] += 1
    return sum(totals[r, k] for r, k in enumerate(counts))


def least_cost(game):
    """The least social cost over all action profiles."""
    return sum(games.normal_form(game).losses).min()


@pytest.mark.parametrize("spec", ["hedge-anytime", "optimistic-hedge", "rm+"])
def test_in_congestion_games_average_play_approaches_cce_at_the_rate_of_regret(spec):
    game, gaps = random_congestion(200, 10), []
    for horizon in (100, 400, 1600):
        play = self_play(game, spec, horizon)
        bound = make(spec).regret_bound(10, horizon, game.loss_scale)
        assert (play.regret("external") <= bound).all()
        gaps.append(play.gaps().cce.max.max())
    # At least as 1/√T, by which four times the rounds halve it.
    assert gaps[1] <= 0.55 * gaps[0] and gaps[2] <= 0.55 * gaps[1]


@pytest.mark.parametrize("spec", ["hedge", "regret-matching", "blum-mansour"])
def test_social_cost_stays_within_the_smoothness_bound(spec):
    # Affine congestion games are (5/3, 1/3)-smooth, so play of average regrets ε_n costs at most
    # 5/2 of the optimum and 3/2 Σ ε_n (Roughgarden, "Intrinsic Robustness of the Price of Anarchy", 2009).
    own = random_congestion(6, 4, num_strategies=3, strategy_size=2, seed=5)
    for game, optimum in [
        (roads := random_congestion(100, 8, seed=1), least_cost_of_roads(roads)),
        (own, least_cost(own)),
    ]:
        assert game.affine
        play = self_play(game, spec, 1000)
        cost, regrets = play.social_cost(), play.regret("external").sum(0) / play.t
        assert (cost <= 2.5 * optimum + 1.5 * regrets).all() and (cost >= optimum - 1e-9).all()
        # The worst case is far from here.
        assert (cost <= 1.6 * optimum).all()


def test_the_least_cost_of_roads_is_that_of_brute_force():
    game = random_congestion(5, 3, seed=2)
    assert least_cost_of_roads(game) == pytest.approx(least_cost(game), rel=1e-12)


def test_the_potential_falls_to_where_no_player_gains():
    game = random_congestion(50, 5, seed=3)
    starts, ends = (self_play(game, "hedge", horizon, outcomes=True) for horizon in (10, 2000))
    assert (ends.outcomes["potential"] < starts.outcomes["potential"]).all()
    assert (ends.nash_conv() < 0.1 * starts.nash_conv()).all()


@pytest.mark.parametrize(
    "game",
    [
        games.RandomGames((5, 5)),
        random_polymatrix([3] * 8, graph="complete"),
        random_congestion(10, 4),
    ],
    ids=repr,
)
def test_summed_regret_of_optimistic_agents_stays_bounded_where_that_of_hedge_grows(game):
    # Syrgkanis et al. 2015: N ln d / η whatever T, for a constant step η.
    step = 0.25 / game.loss_scale
    bound = game.num_players * math.log(game.num_actions[0]) / step
    optimistic, plain = [], []
    for horizon in (1000, 8000):
        for agent, sums in [(OptimisticHedge(step_size=step), optimistic), (Hedge(), plain)]:
            settings = {"horizon": horizon, "num_runs": 8, "starting_loss_scale": 1.0}
            sums.append(simulate(game, agent, **settings).regret("external").sum(0).mean())
    assert max(optimistic) <= 1.1 * bound
    assert optimistic[1] <= 1.1 * optimistic[0] and plain[1] >= 2 * plain[0]


def test_log_barrier_copies_have_logarithmic_swap_regret_in_self_play():
    game = games.RandomGames((3, 3))
    regrets = {
        spec: [self_play(game, spec, t, num_runs=16).regret("swap").max(0).mean() for t in (300, 1200, 4800)]
        for spec in ("blum-mansour-log-barrier", "blum-mansour")
    }
    barrier, entropy = regrets["blum-mansour-log-barrier"], regrets["blum-mansour"]
    # Equal factors of T add about equal amounts, which √T does not.
    assert barrier[2] - barrier[1] <= 1.5 * (barrier[1] - barrier[0])
    assert entropy[2] - entropy[1] >= 1.5 * (entropy[1] - entropy[0])
    assert barrier[2] < 0.3 * entropy[2]


def test_average_play_of_zero_sum_polymatrix_games_is_as_near_nash_as_regret_is_small():
    # Cai and Daskalakis 2011; an identity, since all losses sum to 0.
    game = random_polymatrix([3, 2, 4, 3, 2], graph="complete", law="zero-sum", seed=1)
    agents = [make("hedge") for _ in range(5)]
    play = simulate(game, agents, horizon=2000, num_runs=3, starting_loss_scale=1.0)
    assert np.allclose(play.nash_conv(), play.regret("external").sum(0) / play.t, rtol=0, atol=1e-10)
    assert (play.nash_conv() < 0.2).all()


def test_contributions_to_a_public_good_die_out():
    play = self_play(
        games.make("public_goods", endowments=[1.0] * 20, multiplier=3.0), "hedge", 2000, outcomes=True
    )
    assert (play.outcomes["contribution"] < 1.0).all() and (play.nash_conv() < 0.05 * 20).all()


def swap_regrets(num_actions, horizon, num_runs):
    """A round's swap regret, mean and standard error over runs, of Blum–Mansour and of TreeSwap."""
    found = []
    for spec in ("blum-mansour", "tree-swap"):
        world = streams.DriftingMean(num_actions)
        regret = simulate(world, make(spec), horizon=horizon, num_runs=num_runs, seed=1).regret("swap")[0]
        found.append((regret.mean() / horizon, regret.std() / math.sqrt(num_runs) / horizon))
    return found


def test_blum_mansour_is_ahead_of_tree_swap_with_few_actions():
    (blum_mansour, its_error), (tree_swap, error) = swap_regrets(10, 300, 8)
    assert blum_mansour + 3 * (its_error + error) < tree_swap


@pytest.mark.suites
def test_tree_swap_overtakes_blum_mansour_as_actions_grow():
    ahead = []
    for num_actions, num_runs in [(10, 8), (100, 4), (1000, 2)]:
        (blum_mansour, _), (tree_swap, _) = swap_regrets(num_actions, 300, num_runs)
        ahead.append(tree_swap / blum_mansour)
    assert ahead[0] > 1.5 and ahead[0] > ahead[1] > ahead[2] and ahead[2] < 0.9


@pytest.mark.suites
def test_a_thousand_players():
    game = TASKS["congestion_n1000_t1000"]
    world = games.make("congestion", **game.settings)
    optimum = least_cost_of_roads(world)
    play = self_play(world, "optimistic-hedge", 1000, num_runs=1)
    assert (play.regret("external") <= make("optimistic-hedge").regret_bound(10, 1000, 1.0)).all()
    # Within the bound even without the regrets, which after 1,000 rounds are as large as the optimum.
    assert (play.social_cost() <= 2.5 * optimum).all()


@pytest.mark.suites
@pytest.mark.parametrize("suite", ["many-players", "many-actions"])
def test_suites_at_size(suite):
    tasks = [TASKS[id] for id in SUITES[suite].tasks]
    specs = [name for name, entry in AGENTS.items() if not entry.requires]
    for cell in planning.plan(suite, tasks, specs, runs=64, seed=0):
        rows = runner.measure(cell)
        assert rows[0].status in ("ok", "n/a"), rows[0].message
