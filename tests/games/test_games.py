"""Games against brute-force sums, linear programs and closed forms."""

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from regret_envs import games, metrics, simulate
from regret_envs.agents import FixedPolicy, Hedge
from regret_envs.names import UnknownNameError
from regret_envs.seeding import RunSeeds

# From one to four players with unequal action counts.
shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4)
seeds = st.integers(0, 10_000)


def brute_force_losses(payoffs, policies, player):
    """−E[u_n(i, a_{−n})] of every action i of `player`, one profile after the other; one run."""
    losses = np.zeros(len(policies[player]))
    for profile in itertools.product(*(range(len(policy)) for policy in policies)):
        others = [policies[m][a] for m, a in enumerate(profile) if m != player]
        losses[profile[player]] -= np.prod(others) * payoffs[player][profile]
    return losses


def random_policies(rng, shape, num_runs):
    return [rng.dirichlet(np.ones(d), size=num_runs) for d in shape]


def maximin(payoff):
    """The row player's maximin policy and the value of a zero-sum game, by a linear program."""
    rows, columns = payoff.shape
    result = linprog(
        np.append(np.zeros(rows), -1.0),
        A_ub=np.hstack([-payoff.T, np.ones((columns, 1))]),
        b_ub=np.zeros(columns),
        A_eq=np.append(np.ones(rows), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * rows + [(None, None)],
    )
    assert result.success
    return result.x[:-1], -result.fun


def best_correlated_equilibrium(game):
    """The correlated equilibrium with the largest sum of payoffs in a 2-player game, by a linear program."""
    u, shape = game.payoffs, game.num_actions
    obedience = []
    for player in range(2):
        for i, j in itertools.permutations(range(shape[player]), 2):
            gain = np.zeros(shape)
            at = (i, slice(None)) if player == 0 else (slice(None), i)
            instead = (j, slice(None)) if player == 0 else (slice(None), j)
            gain[at] = u[player][instead] - u[player][at]
            obedience.append(gain.ravel())
    result = linprog(
        -sum(u).ravel(),
        A_ub=np.stack(obedience),
        b_ub=np.zeros(len(obedience)),
        A_eq=np.ones((1, u[0].size)),
        b_eq=[1.0],
    )
    assert result.success
    return result.x.reshape(shape)


def nash_conv(game, policies):
    policies = [np.asarray(policy, dtype=float)[None] for policy in policies]
    return float(metrics.nash_conv(games.expected_losses(game.losses, policies), policies)[0])


class TestExpectedLosses:
    @settings(max_examples=60, deadline=None)
    @given(shape=shapes, num_runs=st.integers(1, 3), seed=seeds)
    def test_equal_brute_force_sums(self, shape, num_runs, seed):
        rng = np.random.default_rng(seed)
        game = games.NormalFormGame(list(rng.standard_normal((len(shape), *shape))))
        policies = random_policies(rng, shape, num_runs)
        episode = game.start(num_agents=len(shape), horizon=1, seeds=RunSeeds(0, num_runs))
        losses = episode.step(policies)
        for player, d in enumerate(shape):
            assert losses[player].shape == (num_runs, d)
            for run in range(num_runs):
                expected = brute_force_losses(game.payoffs, [p[run] for p in policies], player)
                np.testing.assert_allclose(losses[player][run], expected, atol=1e-12)

    @settings(max_examples=60, deadline=None)
    @given(shape=shapes, num_runs=st.integers(1, 3), seed=seeds)
    def test_a_game_a_run_equals_the_games_alone(self, shape, num_runs, seed):
        rng = np.random.default_rng(seed)
        payoffs = rng.standard_normal((len(shape), *shape, num_runs))
        policies = random_policies(rng, shape, num_runs)
        together = games.expected_losses(list(-payoffs), policies)
        for run in range(num_runs):
            alone = games.expected_losses(list(-payoffs[..., run]), [p[run : run + 1] for p in policies])
            for player in range(len(shape)):
                assert together[player].shape == (num_runs, shape[player])
                np.testing.assert_allclose(together[player][run], alone[player][0], atol=1e-12)

    def test_pure_profiles_read_the_payoffs(self):
        game = games.random_game((2, 3, 4), seed=1)
        for profile in itertools.product(range(2), range(3), range(4)):
            policies = [np.eye(d)[[a]] for d, a in zip(game.num_actions, profile, strict=True)]
            losses = games.expected_losses(game.losses, policies)
            for player, action in enumerate(profile):
                assert losses[player][0, action] == -game.payoffs[player][profile]


class TestNamedGames:
    @pytest.mark.parametrize("weights", [(3, 2, 1), (1, 1, 1), (0.5, 7, 2.5)])
    @pytest.mark.parametrize("scale", [1 / 3, 2.0])
    def test_weighted_rps_equilibrium_is_proportional_to_the_weights(self, weights, scale):
        game = games.weighted_rps(weights, scale)
        policy, value = maximin(game.payoffs[0])
        np.testing.assert_allclose(policy, np.array(weights) / sum(weights), atol=1e-8)
        assert value == pytest.approx(0, abs=1e-9)
        np.testing.assert_array_equal(game.payoffs[0], -game.payoffs[1])

    def test_weighted_rps_by_default(self):
        game = games.weighted_rps()
        np.testing.assert_allclose(
            game.payoffs[0], np.array([[0, -1, 2], [1, 0, -3], [-2, 3, 0]]) / 3, rtol=1e-15
        )
        assert np.abs(game.payoffs[0]).max() == 1.0
        assert game.loss_scale == 2.0

    @pytest.mark.parametrize("name", ["rock_paper_scissors", "matching_pennies", "shapley", "jordan"])
    def test_uniform_play_is_a_nash_equilibrium(self, name):
        game = games.make(name)
        uniform = [np.full(d, 1 / d) for d in game.num_actions]
        joint = np.full(game.num_actions, 1 / np.prod(game.num_actions))
        gaps = metrics.equilibrium_gaps(game, joint)
        for gap in (gaps.cce, gaps.ce, gaps.swap):
            np.testing.assert_allclose(gap.per_player, 0, atol=1e-15)
        assert nash_conv(game, uniform) == pytest.approx(0, abs=1e-15)

    @pytest.mark.parametrize("name", ["rock_paper_scissors", "matching_pennies", "weighted_rps"])
    def test_zero_sum(self, name):
        assert not sum(games.make(name).payoffs).any()

    @pytest.mark.parametrize("name", ["prisoners_dilemma", "chicken", "stag_hunt"])
    def test_symmetric(self, name):
        row, column = games.make(name).payoffs
        np.testing.assert_array_equal(row, column.T)

    @pytest.mark.parametrize(
        ("name", "equilibria"),
        [
            ("prisoners_dilemma", {(1, 1)}),
            ("chicken", {(0, 1), (1, 0)}),
            ("stag_hunt", {(0, 0), (1, 1)}),
            ("battle_of_the_sexes", {(0, 0), (1, 1)}),
            ("rock_paper_scissors", set()),
            ("matching_pennies", set()),
            ("shapley", set()),
            ("jordan", set()),
        ],
    )
    def test_pure_equilibria(self, name, equilibria):
        game = games.make(name)
        profiles = itertools.product(*(range(d) for d in game.num_actions))
        found = {
            profile
            for profile in profiles
            if nash_conv(game, [np.eye(d)[a] for d, a in zip(game.num_actions, profile, strict=True)]) == 0
        }
        assert found == equilibria

    @pytest.mark.parametrize(
        ("name", "policies"),
        [
            # Indifference: 7 (1 − p) = 2 p + 6 (1 − p); 4 p = 3; 3 q = 2 (1 − q) and 2 p = 3 (1 − p).
            ("chicken", [(1 / 3, 2 / 3), (1 / 3, 2 / 3)]),
            ("stag_hunt", [(3 / 4, 1 / 4), (3 / 4, 1 / 4)]),
            ("battle_of_the_sexes", [(3 / 5, 2 / 5), (2 / 5, 3 / 5)]),
        ],
    )
    def test_mixed_equilibria(self, name, policies):
        assert nash_conv(games.make(name), policies) == pytest.approx(0, abs=1e-14)

    def test_defection_is_dominant_and_cooperation_better_for_both(self):
        row, _ = games.prisoners_dilemma().payoffs
        assert (row[1] > row[0]).all()
        assert row[0, 0] > row[1, 1]

    def test_chickens_correlated_equilibria(self):
        game = games.chicken()
        thirds = np.array([[0, 1], [1, 1]]) / 3
        gaps = metrics.equilibrium_gaps(game, thirds)
        assert gaps.ce.max[0] == pytest.approx(0, abs=1e-15)
        for payoff in game.payoffs:
            assert (payoff * thirds).sum() == pytest.approx(5)
        # Both chicken half of the time is the best that any correlated equilibrium does.
        best = best_correlated_equilibrium(game)
        np.testing.assert_allclose(best, [[0, 1 / 4], [1 / 4, 1 / 2]], atol=1e-9)
        assert metrics.equilibrium_gaps(game, best).ce.max[0] == pytest.approx(0, abs=1e-9)

    def test_jordans_game_is_three_way_matching_pennies(self):
        game = games.jordan()
        for a, b, c in itertools.product(range(2), repeat=3):
            payoffs = [payoff[a, b, c] for payoff in game.payoffs]
            assert payoffs == [1 if a == b else -1, 1 if b == c else -1, 1 if c != a else -1]

    def test_every_name_makes_a_game(self):
        for name in games.NAMED_GAMES:
            settings = {"num_actions": (2, 3)} if name.startswith("random") else {}
            if name == "normal_form":
                settings = {"payoffs": [[[0, 1, 2], [3, 4, 5]], [[1, 0, 2], [0, 3, 1]]]}
            game = games.make(name, **settings)
            horizon, num_runs = 2, 3
            starts = game.start(num_agents=game.num_players, horizon=horizon, seeds=RunSeeds(0, num_runs))
            pickle.loads(pickle.dumps(starts))
            agents = [FixedPolicy(np.full(d, 1 / d)) for d in game.num_actions]
            play = simulate(game, agents, horizon=horizon, num_runs=num_runs)
            assert play.regret().shape == (game.num_players, num_runs)
            assert all(str(d) in repr(game) for d in game.num_actions)

    def test_unknown_names_and_settings(self):
        with pytest.raises(UnknownNameError, match="unknown game 'chiken': did you mean 'chicken'"):
            games.make("chiken")
        with pytest.raises(TypeError, match="wieghts"):
            games.make("weighted_rps", wieghts=(1, 1, 1))


class TestRandomGames:
    @pytest.mark.parametrize("num_players", [2, 3, 4])
    @pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
    def test_covariant_correlation(self, num_players, share):
        lowest = -1 / (num_players - 1)
        rho = lowest + share * (1 - lowest)
        shape = [20, 15, 6, 2][:num_players]
        payoffs = games.random_payoffs(shape, rng=np.random.default_rng(7), law="gaussian", correlation=rho)
        flat = np.stack([payoff.ravel() for payoff in payoffs])
        count = flat.shape[1]
        # Standard errors of a variance and of a covariance of unit Gaussians.
        np.testing.assert_allclose((flat**2).mean(1), 1, atol=5 * np.sqrt(2 / count))
        for n, m in itertools.combinations(range(num_players), 2):
            assert abs((flat[n] * flat[m]).mean() - rho) < 5 * np.sqrt((1 + rho**2) / count)
        if share == 0:
            np.testing.assert_allclose(flat.sum(0), 0, atol=1e-12)
        if share == 1:
            np.testing.assert_allclose(flat, np.broadcast_to(flat[0], flat.shape), atol=1e-12)

    def test_uniform_payoffs_fill_their_range(self):
        (payoff, other) = games.random_payoffs((60, 50), rng=np.random.default_rng(0))
        assert np.abs(payoff).max() <= 1
        assert abs(payoff.mean()) < 5 * np.sqrt(1 / 3 / payoff.size)
        # The fourth moment is 1/5, so a square's standard deviation is sqrt(1/5 − 1/9).
        assert abs((payoff**2).mean() - 1 / 3) < 5 * np.sqrt((1 / 5 - 1 / 9) / payoff.size)
        assert abs((payoff * other).mean()) < 5 / 3 / np.sqrt(payoff.size)

    def test_seeds(self):
        first, again, other = (games.random_game((2, 3), seed=s) for s in (4, 4, 5))
        np.testing.assert_array_equal(first.payoffs, again.payoffs)
        assert not np.intersect1d(first.payoffs[0], other.payoffs[0]).size

    def test_a_run_has_its_game_in_whatever_batch(self):
        world = games.RandomGames((2, 3, 2), law="gaussian", correlation=0.5)
        batch = world.start(num_agents=3, horizon=1, seeds=RunSeeds(3, 50))
        alone = world.start(num_agents=3, horizon=1, seeds=RunSeeds(3, 1, first_run=17))
        for together, single in zip(batch.losses, alone.losses, strict=True):
            assert together.shape == (2, 3, 2, 50)
            np.testing.assert_array_equal(together[..., 17], single[..., 0])
        assert len(np.unique(batch.losses[0])) == batch.losses[0].size

    def test_self_play_in_a_game_a_run_equals_self_play_in_each(self):
        world = games.RandomGames((3, 2))
        play = simulate(world, [Hedge(0.5), Hedge(0.3)], horizon=40, num_runs=4, seed=2)
        episode = world.start(num_agents=2, horizon=40, seeds=RunSeeds(2, 4))
        for run in range(4):
            game = games.NormalFormGame([-losses[..., run] for losses in episode.losses])
            alone = simulate(game, [Hedge(0.5), Hedge(0.3)], horizon=40)
            np.testing.assert_allclose(play.regret()[:, run], alone.regret()[:, 0], atol=1e-10)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"law": "cauchy"}, "law must be 'uniform' or 'gaussian', got 'cauchy'"),
            ({"correlation": 0.5}, "correlation needs law='gaussian'"),
            ({"law": "gaussian", "correlation": 1.01}, r"correlation must lie in \[-0.5, 1\] for 3 players"),
            ({"law": "gaussian", "correlation": -0.51}, r"correlation must lie in \[-0.5, 1\] for 3 players"),
            ({"law": "gaussian", "correlation": np.nan}, "correlation must lie in"),
            ({"num_actions": (2, 0, 2)}, "num_actions must be at least 1, got 0"),
            ({"num_actions": ()}, "one number of actions per player, got none"),
        ],
    )
    def test_bad_settings(self, settings, message):
        for make in (games.RandomGames, games.random_game):
            with pytest.raises(ValueError, match=message):
                make(**{"num_actions": (2, 3, 2)} | settings)


class TestNormalFormGame:
    def test_keeps_negated_read_only_copies(self):
        mine = [np.arange(6.0).reshape(2, 3), np.ones((2, 3))]
        game = games.NormalFormGame(mine)
        mine[0][:] = 7
        np.testing.assert_array_equal(game.losses[0], -np.arange(6.0).reshape(2, 3))
        assert game.losses[0].dtype == np.float64
        assert game.num_actions == (2, 3)
        assert game.loss_scale == 5.0
        with pytest.raises(ValueError, match="read-only"):
            game.losses[0][0, 0] = 1

    @pytest.mark.parametrize(
        ("payoffs", "message"),
        [
            ([], "one array per player, got none"),
            (
                [np.ones((2, 3)), np.ones((3, 2))],
                r"payoffs\[1\] has shape \(3, 2\), payoffs\[0\] has \(2, 3\)",
            ),
            ([np.ones((2, 2))] * 3, r"payoffs\[0\] has shape \(2, 2\): 3 arrays make a game of 3 players"),
            ([np.ones((2, 2, 2))] * 2, r"payoffs\[0\] has shape \(2, 2, 2\): 2 arrays"),
            ([np.ones((2, 0))] * 2, r"payoffs\[0\] has shape \(2, 0\)"),
            ([np.ones((1, 2)), [[1, np.nan]]], r"payoffs\[1\] is not finite at action profile \(0, 1\): nan"),
            (
                [[[1, -np.inf]], np.ones((1, 2))],
                r"payoffs\[0\] is not finite at action profile \(0, 1\): -inf",
            ),
            ([np.ones((1, 2)), [["a", 1]]], r"payoffs\[1\] is not an array of numbers"),
            ([np.ones((1, 2)), [["2", "1"]]], r"payoffs\[1\] is not an array of numbers: .* type <U1"),
            ([[[1j, 2]], np.ones((1, 2))], r"payoffs\[0\] is not an array of numbers: .* type complex128"),
            ([np.ones((2, 2)), [[1, 2], [3]]], r"payoffs\[1\] is .* numbers: its rows have unequal lengths"),
        ],
    )
    def test_says_which_array_is_wrong(self, payoffs, message):
        with pytest.raises(ValueError, match=message):
            games.NormalFormGame(payoffs)

    def test_constructors(self):
        game = games.NormalFormGame.zero_sum([[1, 2, 3], [4, 5, 6]])
        np.testing.assert_array_equal(game.payoffs[1], [[-1, -2, -3], [-4, -5, -6]])
        with pytest.raises(ValueError, match=r"must have two axes, got shape \(3,\)"):
            games.NormalFormGame.zero_sum([1, 2, 3])
        with pytest.raises(ValueError, match=r"square payoff matrix, got shape \(1, 3\)"):
            games.NormalFormGame.symmetric([[1, 2, 3]])
        with pytest.raises(ValueError, match=r"the payoff matrix is not an array of numbers: .* complex128"):
            games.NormalFormGame.zero_sum([[1j, 2]])
        thirds = games.NormalFormGame.symmetric([[Fraction(1, 3), 0], [1, Fraction(2, 3)]])
        np.testing.assert_array_equal(thirds.payoffs[1], [[1 / 3, 1], [0, 2 / 3]])
        for weights in [(1, 2), (1, 2, 0), (1, 2, np.inf)]:
            with pytest.raises(ValueError, match="weights must be three positive numbers"):
                games.weighted_rps(weights)
        for scale in (0, -1, np.nan):
            with pytest.raises(ValueError, match="scale must be positive"):
                games.weighted_rps(scale=scale)

    def test_seats_one_agent_a_player(self):
        with pytest.raises(ValueError, match=r"Jordan's game.* has 3 players, got 2 agents"):
            simulate(games.jordan(), [Hedge(), Hedge()], horizon=1)
