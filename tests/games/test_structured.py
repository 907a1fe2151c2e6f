"""Games without a tensor, against brute force over action profiles from each game's definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from regret_envs import games, simulate
from regret_envs.agents import Hedge
from regret_envs.games import (
    ColonelBlotto,
    PublicGoods,
    braess,
    minority,
    random_congestion,
    random_polymatrix,
)
from regret_envs.games.aggregative import AnonymousGame
from regret_envs.games.auctions import FirstPriceAuction, SecondPriceAuction, win_probabilities
from regret_envs.games.blotto import divisions
from regret_envs.games.congestion import CongestionGame
from regret_envs.games.counting import count_distribution, expected_by_counts
from regret_envs.games.polymatrix import GRAPHS, PolymatrixGame
from regret_envs.games.structured import leave_one_out_product, stack


def random_policies(num_actions, num_runs=3, seed=0):
    """Policies with zeros and a pure one among them."""
    rng = np.random.default_rng(seed)
    policies = [rng.dirichlet(np.full(d, 0.5), num_runs) for d in num_actions]
    policies[-1][0] = np.eye(num_actions[-1])[0]
    return policies


def brute_force(num_actions, loss, policies, outcome=None):
    """Expected losses (one array (num_runs, d) a player) by summing over all action profiles.

    `loss(profile)` gives every player's loss; `outcome(profile)`, if given, a number whose expectation
    is returned as well.
    """
    num_runs = len(policies[0])
    expected = [np.zeros((num_runs, d)) for d in num_actions]
    total = np.zeros(num_runs)
    for profile in itertools.product(*map(range, num_actions)):
        losses = loss(profile)
        for n in range(len(num_actions)):
            others = [policies[m][:, a] for m, a in enumerate(profile) if m != n]
            expected[n][:, profile[n]] += np.prod(others, axis=0) * losses[n]
        if outcome is not None:
            total += np.prod([policies[m][:, a] for m, a in enumerate(profile)], axis=0) * outcome(profile)
    return expected, total


def check(game, loss, outcomes=(), seed=0):
    """A structured game against its definition: expected losses, outcomes, and the stated range."""
    policies = random_policies(game.num_actions, seed=seed)
    expected, _ = brute_force(game.num_actions, loss, policies)
    episode = game.start(num_agents=game.num_players, horizon=1, seeds=None)
    for own, right in zip(episode.step(policies), expected, strict=True):
        assert own.shape == right.shape and np.allclose(own, right, rtol=0, atol=1e-12)
    assert set(game.outcome_names) == set(game.outcomes(stack(policies))) == set(dict(outcomes))
    for name, outcome in dict(outcomes).items():
        _, right = brute_force(game.num_actions, loss, policies, outcome)
        assert np.allclose(game.outcomes(stack(policies))[name], right, rtol=0, atol=1e-12)
    table = np.array([loss(p) for p in itertools.product(*map(range, game.num_actions))])
    assert np.ptp(table, axis=0).max() <= game.loss_scale + 1e-12
    return float(np.ptp(table, axis=0).max())


# Unequal players: a path of two roads, single roads, a road that only one player knows, an empty strategy.
STRATEGIES = [[[0, 1], [2], [1, 3]], [[0], [2]], [[1, 2], [0, 3], [], [2, 3]], [[4], [0, 1]]]


def congestion_loss(latencies, strategies):
    def loss(profile):
        used = [strategies[n][a] for n, a in enumerate(profile)]
        counts = [sum(r in s for s in used) for r in range(len(latencies))]
        return [sum(latencies[r][counts[r] - 1] for r in s) for s in used]

    def potential(profile):
        used = [strategies[n][a] for n, a in enumerate(profile)]
        return sum(latencies[r][k] for r in range(len(latencies)) for k in range(sum(r in s for s in used)))

    return loss, {"potential": potential}


@pytest.mark.parametrize("law", ["affine", "general", "falling"])
def test_congestion(law):
    rng = np.random.default_rng(3)
    k = np.arange(1, 5)
    latencies = {
        "affine": rng.random((5, 1)) * k + rng.random((5, 1)),
        "general": rng.random((5, 4)),
        "falling": rng.random((5, 1)) / k,
    }[law]
    game = CongestionGame(latencies, STRATEGIES)
    assert game.affine == (law == "affine") and game.num_actions == (3, 2, 4, 2)
    span = check(game, *congestion_loss(latencies, STRATEGIES))
    assert law != "affine" or game.loss_scale <= 1.5 * span


def test_the_potential_changes_by_what_a_players_own_loss_changes_by():
    loss, outcomes = congestion_loss(np.random.default_rng(0).random((5, 4)), STRATEGIES)
    for a in itertools.product(range(3), range(2), range(4), range(2)):
        for i in range(4):
            b = (*a[:2], i, a[3])
            moved = outcomes["potential"](b) - outcomes["potential"](a)
            assert moved == pytest.approx(loss(b)[2] - loss(a)[2], abs=1e-12)


def test_both_ways_of_congestion_agree_with_many_players():
    game = random_congestion(60, 4, seed=1)
    policies = stack(random_policies(game.num_actions, num_runs=2))
    closed, potential = game.expected_losses(policies), game.outcomes(policies)["potential"]
    game.affine = False
    assert np.allclose(game.expected_losses(policies), closed, rtol=0, atol=1e-12)
    assert game.outcomes(policies)["potential"] == pytest.approx(potential, rel=1e-12)


def test_a_single_player_meets_nobody():
    game = CongestionGame([[1.0], [3.0]])
    assert game.expected_losses(np.full((2, 1, 1), 0.5)).ravel().tolist() == [1, 3]


def test_random_congestion():
    assert random_congestion(7, 3, seed=4).loss_scale == pytest.approx(1)
    own = random_congestion(5, 6, num_strategies=4, strategy_size=3, degree=2, seed=1)
    assert own.num_actions == (4,) * 5 and not own.affine
    assert all(len(set(s)) == 3 for player in own.strategies for s in player)
    assert own.strategies[0] != own.strategies[1]


def test_braess_paradox():
    for shortcut, cost in [(False, 1.5), (True, 2.0)]:
        game = braess(10, shortcut=shortcut)
        policies = np.zeros((game.num_actions[0], 10, 1))
        if shortcut:
            policies[2] = 1
        else:
            policies[0, :5] = policies[1, 5:] = 1
        losses = game.expected_losses(policies)
        assert np.allclose((losses * policies).sum(0), cost)
        # No driver gains by another path.
        assert (losses.min(0) >= cost - 1e-12).all()


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (([1.0, 2.0],), "num_resources, num_players"),
        (([[1.0, np.nan]],), "finite"),
        (([[1.0, 2.0]], [[[0]]]), "for 2 players, strategies for 1"),
        (([[1.0, 2.0]], [[[0]], []]), "player 1 has no strategy"),
        (([[1.0, 2.0]], [[[0]], [[1]]]), r"player 1: strategy \[1\] must name resources 0 … 0"),
        (([[1.0, 2.0]], [[[0, 0]], [[0]]]), "none twice"),
    ],
)
def test_congestion_games_that_are_not(arguments, match):
    with pytest.raises(ValueError, match=match):
        CongestionGame(*arguments)


def auction(values, bids, price):
    def result(profile):
        offered = [bids[a] for a in profile]
        top = max(offered)
        winners = [n for n, b in enumerate(offered) if b == top]
        return [(n, price(offered, n)) for n in winners]

    def loss(profile):
        winners = result(profile)
        losses = np.zeros(len(values))
        for n, paid in winners:
            losses[n] = (paid - values[n]) / len(winners)
        return losses

    def mean(value):
        return lambda profile: np.mean([value(n, paid) for n, paid in result(profile)])

    return loss, {
        "revenue": mean(lambda n, paid: paid),
        "efficiency": mean(lambda n, paid: values[n] / max(values)),
    }


@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("kind", [FirstPriceAuction, SecondPriceAuction])
def test_auctions(kind, num_players):
    values = np.array([0.9, 0.35, 0.7, 0.0])[:num_players]
    bids = np.array([0.05, 0.2, 0.5, 0.6, 1.0])
    game = kind(values, bids, budgets=[0.6, 2.0, 0.5, 0.05][:num_players])
    assert game.num_actions == (4, 5, 3, 1)[:num_players]
    prices = {
        FirstPriceAuction: lambda offered, n: offered[n],
        SecondPriceAuction: lambda offered, n: max(b for m, b in enumerate(offered) if m != n),
    }
    check(game, *auction(values, bids, prices[kind]))


def test_the_range_of_an_auction_is_attained():
    game = FirstPriceAuction([0.9, 0.3], [0.0, 0.5, 1.0])
    loss, _ = auction([0.9, 0.3], [0.0, 0.5, 1.0], lambda offered, n: offered[n])
    assert game.loss_scale == pytest.approx(1.0)
    assert np.ptp([loss(p) for p in itertools.product(range(3), repeat=2)], axis=0).max() <= 1.0


def test_truth_is_dominant_in_a_second_price_auction():
    bids = np.linspace(0, 1, 6)
    game = SecondPriceAuction([0.4, 0.8, 0.2], bids)
    losses = game.expected_losses(stack(random_policies(game.num_actions)))
    for n, value in enumerate(game.values):
        truthful = losses[np.flatnonzero(np.isclose(bids, value)), n]
        assert (truthful <= losses[:, n] + 1e-12).all()


def test_ties_among_many_are_exact():
    # Everybody at one bid: each of N wins with probability 1/N.
    for num_players in (2, 7, 40):
        policies = np.zeros((3, num_players, 1))
        policies[1] = 1
        below, wins = win_probabilities(policies)
        assert np.allclose(wins[1], 1 / num_players, rtol=1e-12)
        assert np.allclose(wins[2], 1) and np.allclose(wins[0], 0) and np.allclose(below[1], 0)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"values": [1.0]}, "at least two"),
        ({"values": [0.0, 0.0]}, "one positive"),
        ({"values": [np.inf, 1.0]}, "finite"),
        ({"bids": [0.5, 0.5]}, "rising"),
        ({"bids": [-0.5, 0.5]}, "not negative"),
        ({"bids": []}, "bids must be finite"),
        ({"budgets": [1.0]}, "2 values and 1 budgets"),
        ({"budgets": [1.0, 0.1]}, "player 1 can make no bid"),
    ],
)
def test_auctions_that_are_not(settings, match):
    with pytest.raises(ValueError, match=match):
        FirstPriceAuction(**{"values": [1.0, 0.5], "bids": [0.2, 0.4], **settings})


def test_divisions():
    ways = divisions(4, 3)
    assert len(ways) == math.comb(6, 2) == len({tuple(w) for w in ways})
    assert (ways.sum(1) == 4).all() and ways.min() == 0
    assert divisions(4, 1).tolist() == [[4]] and divisions(0, 3).tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("troops", [(3, 2), (2, 3, 1)])
@pytest.mark.parametrize("own_values", [False, True])
def test_blotto(troops, own_values):
    values = np.array([[2.0, 1.0, 0.5], [1.0, 1.0, 3.0], [0.0, 1.0, 1.0]])[: len(troops)]
    values = values if own_values else values[0]
    game = ColonelBlotto(troops, values)
    per_player = np.broadcast_to(values, (len(troops), 3))

    def loss(profile):
        placed = np.array([game.divisions[n][a] for n, a in enumerate(profile)])
        wins = (placed == placed.max(0)) / (placed == placed.max(0)).sum(0)
        return -(wins * per_player).sum(1)

    check(game, loss)


def test_blotto_games_that_are_not():
    with pytest.raises(ValueError, match="at least two players"):
        ColonelBlotto([3])
    with pytest.raises(ValueError, match=r"troops\[1\] must be at least 0"):
        ColonelBlotto([3, -1])
    with pytest.raises(ValueError, match="not negative"):
        ColonelBlotto([3, 3], [1, -1])
    with pytest.raises(ValueError, match="3 rows for 2 players"):
        ColonelBlotto([3, 3], np.ones((3, 2)))


def polymatrix_loss(edges, num_players):
    def loss(profile):
        losses = np.zeros(num_players)
        for (n, m), (a, b) in edges.items():
            losses[n] -= a[profile[n], profile[m]]
            losses[m] -= b[profile[m], profile[n]]
        return losses

    return loss


@pytest.mark.parametrize("common", [False, True])
def test_polymatrix(common):
    rng, num_actions = np.random.default_rng(2), (2, 3, 1, 4, 2)
    edges = {}
    for n, m in [(1, 0), (1, 3), (3, 2)]:  # player 4 has no neighbor
        a = rng.normal(size=(num_actions[n], num_actions[m]))
        edges[n, m] = (a, a.T if common else rng.normal(size=a.T.shape))
    game = PolymatrixGame(num_actions, edges)
    loss = polymatrix_loss(edges, 5)
    check(game, loss, {"potential": lambda p: loss(p).sum() / 2} if common else {})


def test_random_polymatrix():
    assert [len(GRAPHS[g](5)) for g in ("ring", "complete", "star")] == [5, 10, 4]
    assert len(GRAPHS["ring"](2)) == 1
    for law in ("general", "zero-sum", "coordination"):
        game = random_polymatrix((2, 3, 2), graph="complete", law=law, seed=1)
        assert game.loss_scale == pytest.approx(1)
        assert game.outcome_names == (("potential",) if law == "coordination" else ())
        losses = [-a for a in games.normal_form(game).payoffs]
        assert np.allclose(sum(losses), 0, atol=1e-12) == (law == "zero-sum")


@pytest.mark.parametrize(
    ("edges", "match"),
    [
        ({(0, 0): (np.eye(2), np.eye(2))}, "two different players"),
        ({(0, 2): (np.eye(2), np.eye(2))}, r"edge \(0, 2\)"),
        ({(0, 1): (np.eye(2), np.eye(2))}, r"player 0 must be finite and of shape \(2, 3\)"),
        ({(0, 1): (np.ones((2, 3)), np.full((3, 2), np.nan))}, "player 1 must be finite"),
        ({(0, 1): (np.ones((2, 3)), np.ones((3, 2))), (1, 0): (0, 0)}, "twice"),
    ],
)
def test_polymatrix_games_that_are_not(edges, match):
    with pytest.raises(ValueError, match=match):
        PolymatrixGame([2, 3], edges)


def test_public_goods():
    endowments, levels = (1.0, 2.5, 0.5), (3, 2, 4)
    game = PublicGoods(endowments, multiplier=1.7, num_levels=levels)

    def amounts(profile):
        return np.array([e * a / (d - 1) for e, d, a in zip(endowments, levels, profile, strict=True)])

    def loss(profile):
        return amounts(profile) - 1.7 / 3 * amounts(profile).sum()

    outcomes = {
        "contribution": lambda p: amounts(p).sum(),
        "potential": lambda p: (1 - 1.7 / 3) * amounts(p).sum(),
    }
    assert check(game, loss, outcomes) == pytest.approx(game.loss_scale)
    # Nothing is dominant, and everything is best for all.
    assert (np.diff(game.expected_losses(stack(random_policies(levels)))[:2], axis=0) > 0).all()
    profiles = list(itertools.product(*map(range, levels)))
    assert min(profiles, key=lambda p: loss(p).sum()) == (2, 1, 3)
    for settings, match in [
        ({"multiplier": 0.0}, "positive"),
        ({"num_levels": (2, 2)}, "3 endowments and 2"),
    ]:
        with pytest.raises(ValueError, match=match):
            PublicGoods(**settings)


@pytest.mark.parametrize(("num_players", "num_actions"), [(1, 2), (2, 1), (5, 2), (4, 3), (3, 4)])
def test_anonymous(num_players, num_actions):
    table = np.random.default_rng(1).normal(size=(num_actions,) + (num_players,) * num_actions)
    game = AnonymousGame(lambda i, k: table[(i, *k)], num_players, num_actions)

    def loss(profile):
        counts = np.bincount(profile, minlength=num_actions)
        return [table[(a, *(counts - np.eye(num_actions, dtype=int)[a]))] for a in profile]

    def potential(profile):
        j = range(profile.count(0))
        return sum(table[0, k, num_players - 1 - k] - table[1, k, num_players - 1 - k] for k in j)

    check(game, loss, {"potential": potential} if num_actions == 2 else {})
    if num_actions == 2:
        # It changes by what a player's own loss changes by.
        for a in itertools.product(range(2), repeat=num_players):
            b = (1 - a[0], *a[1:])
            assert potential(b) - potential(a) == pytest.approx(loss(b)[0] - loss(a)[0], abs=1e-12)


def test_anonymous_games_that_are_not():
    with pytest.raises(ValueError, match=r"100 players and 5 actions need .* bytes"):
        AnonymousGame(lambda i, k: 0.0, 100, 5)
    with pytest.raises(ValueError, match="finite"):
        AnonymousGame(lambda i, k: np.inf, 3, 2)


def test_minority_is_a_congestion_game():
    game, policies = minority(7), stack(random_policies((2,) * 7))
    same = CongestionGame(np.tile(np.arange(7) / 6, (2, 1)))
    assert np.allclose(game.expected_losses(policies), same.expected_losses(policies), rtol=0, atol=1e-12)
    assert game.loss_scale == 1


def test_counts_in_few_columns_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    policies = rng.dirichlet(np.ones(3), (6, 5)).transpose(2, 0, 1)
    values = rng.normal(size=(2, 6, 6, 5))
    whole = expected_by_counts(values, policies)
    monkeypatch.setattr("regret_envs.games.counting._CELLS", 2 * 6**3 * 2)
    assert np.allclose(expected_by_counts(values, policies), whole, rtol=1e-13)


def test_counts_keep_their_digits_where_a_probability_is_0_or_1_or_tiny():
    # Dividing one player's factor out of the distribution would lose all digits here.
    use = np.array([0.0, 1.0, 1e-12, 1 - 1e-12, 0.5, 1.0])[:, None]
    values = np.random.default_rng(0).normal(size=(1, 6, 1))
    expected = expected_by_counts(values, np.stack([use, 1 - use]))[0, :, 0]
    for n in range(6):
        distribution = count_distribution(np.delete(use, n, axis=0))[:, 0]
        assert expected[n] == pytest.approx(distribution @ values[0, :, 0], abs=1e-14)


def test_products_that_leave_one_out_may_hold_zeros():
    x = np.array([[2.0, 0.0], [3.0, 0.0], [5.0, 7.0]])
    assert leave_one_out_product(x).tolist() == [[15, 0], [10, 0], [6, 0]]


@pytest.mark.parametrize(
    "name",
    ["congestion", "braess", "polymatrix", "blotto", "first_price_auction", "public_goods", "minority"],
)
def test_gaps_are_those_of_the_normal_form(name):
    settings = {
        "congestion": {"num_players": 3, "num_strategies": 2, "degree": 2},
        "braess": {"num_players": 4},
        "polymatrix": {"num_actions": (2, 4, 3)},
        "blotto": {"troops": (3, 2), "battlefields": (1, 2)},
        "first_price_auction": {"num_bids": 4},
        "minority": {"num_players": 4},
    }.get(name, {})
    game = games.make(name, **settings)
    plays = [
        simulate(
            world,
            [Hedge(step_size=0.5 + n) for n in range(game.num_players)],
            horizon=30,
            num_runs=3,
            starting_loss_scale=1.0,
        )
        for world in (game, games.normal_form(game))
    ]
    for kind in ("cce", "ce", "swap"):
        ours, theirs = (getattr(play.gaps(), kind).per_player for play in plays)
        assert np.allclose(ours, theirs, rtol=0, atol=1e-10)
    assert np.allclose(plays[0].nash_conv(), plays[1].nash_conv(), rtol=0, atol=1e-10)


def test_a_tensor_that_would_not_fit_names_its_size():
    with pytest.raises(games.TensorSizeError, match=r"40 players, an array of 40 axes each, .* GiB"):
        games.normal_form(random_congestion(40, 3))
    with pytest.raises(
        games.TensorSizeError, match=r"16 axes each, in each of 2000 runs, would take 15.6 GiB"
    ):
        simulate(games.RandomGames((2,) * 16), [Hedge() for _ in range(16)], horizon=1, num_runs=2000)
    with pytest.raises(games.TensorSizeError, match=r"6 players, an array of 50 × 50 .* GiB"):
        games.random_game((50,) * 6)
