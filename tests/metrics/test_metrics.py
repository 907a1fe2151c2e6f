"""Regrets and gaps against brute force, linear programs and OpenSpiel."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from regret_envs import games, metrics, simulate
from regret_envs.agents import BlumMansour, Hedge


def random_play(rng, horizon=7, num_actions=4, batch=()):
    policies = rng.dirichlet(np.ones(num_actions), (horizon, *batch))
    return policies, rng.normal(size=(horizon, *batch, num_actions))


def joint_of(policies):
    """The time-averaged joint distribution of recorded product play, run 0."""
    letters = "abcd"[: len(policies)]
    spec = ",".join(f"t{x}" for x in letters) + "->" + letters
    return np.einsum(spec, *[p[:, 0] for p in policies]) / len(policies[0])


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_regrets_equal_brute_force(seed, num_actions, horizon):
    policies, losses = random_play(np.random.default_rng(seed), horizon, num_actions)
    matrix = metrics.play_loss_matrix(policies, losses)
    incurred = (policies * losses).sum()
    actions = range(num_actions)
    external = incurred - min(losses[:, a].sum() for a in actions)
    maps = itertools.product(actions, repeat=num_actions)
    swap = incurred - min(sum((policies[:, i] * losses[:, m[i]]).sum() for i in actions) for m in maps)
    internal = max((policies[:, i] * (losses[:, i] - losses[:, j])).sum() for i in actions for j in actions)
    assert metrics.external_regret(matrix) == pytest.approx(external, abs=1e-12)
    assert metrics.swap_regret(matrix) == pytest.approx(swap, abs=1e-12)
    assert metrics.internal_regret(matrix) == pytest.approx(internal, abs=1e-12)


@pytest.mark.parametrize("num_actions", [1, 2, 5, 20])
@pytest.mark.parametrize("num_runs", [1, 3, 9, 40])
def test_blocks_of_play_add_up_to_the_matrix(num_actions, num_runs):
    policies, losses = random_play(np.random.default_rng(0), 11, num_actions, (num_runs,))
    total = metrics.PlayLossSum(num_actions, num_runs)
    for block in (slice(0, 4), slice(4, 5), slice(5, 11)):
        total.add(policies[block].transpose(0, 2, 1), losses[block].transpose(0, 2, 1))
    np.testing.assert_allclose(total.value(), metrics.play_loss_matrix(policies, losses), atol=1e-12)


@given(st.integers(0, 10**6), st.lists(st.integers(1, 5), min_size=2, max_size=4))
@settings(max_examples=30, deadline=None)
def test_gaps_from_the_play_loss_matrix_equal_those_of_the_joint_distribution(seed, num_actions):
    game = games.random_game(num_actions, seed=seed, law="gaussian")
    agents = [Hedge(step_size=0.8), BlumMansour(Hedge(step_size=1.1)), Hedge(), BlumMansour()]
    play = simulate(
        game,
        agents[: len(num_actions)],
        horizon=30,
        starting_loss_scale=1,
        seed=seed,
        record="policies",
    )
    from_joint = metrics.equilibrium_gaps(game, joint_of(play.policies))
    for kind in ("cce", "ce", "swap"):
        from_play = getattr(play.gaps(), kind)
        np.testing.assert_allclose(from_play.per_player, getattr(from_joint, kind).per_player, atol=1e-12)
    # The same numbers are regrets per round.
    np.testing.assert_allclose(play.gaps().cce.per_player, play.regret("external") / 30, atol=1e-12)
    np.testing.assert_allclose(play.gaps().ce.per_player, play.regret("internal") / 30, atol=1e-12)
    np.testing.assert_allclose(play.gaps().swap.per_player, play.regret("swap") / 30, atol=1e-12)


@pytest.mark.parametrize("num_actions", [(3, 5), (4, 2, 3)])
def test_best_deviations_of_a_joint_distribution(num_actions):
    rng = np.random.default_rng(1)
    game = games.random_game(num_actions, seed=5, law="gaussian")
    joint = rng.dirichlet(np.ones(np.prod(num_actions))).reshape(num_actions)
    gaps = metrics.equilibrium_gaps(game, joint)
    for n, d in enumerate(num_actions):
        utility = np.moveaxis(game.payoffs[n], n, 0).reshape(d, -1)
        mass = np.moveaxis(joint, n, 0).reshape(d, -1)
        gain = np.array([[(mass[i] * (utility[j] - utility[i])).sum() for j in range(d)] for i in range(d)])
        assert gaps.cce.per_player[n, 0] == pytest.approx(gain.sum(0).max(), abs=1e-12)
        assert gaps.ce.per_player[n, 0] == pytest.approx(gain.max(), abs=1e-12)
        assert gaps.swap.per_player[n, 0] == pytest.approx(gain.max(1).sum(), abs=1e-12)
        assert gaps.cce.best_deviation[n, 0] == gain.sum(0).argmax()
        assert tuple(gaps.ce.best_deviation[n, 0]) == np.unravel_index(gain.argmax(), gain.shape)
        np.testing.assert_array_equal(gaps.swap.best_deviation[n][0], gain.argmax(1))
    assert gaps.ce.best_deviation.dtype.kind == "i"
    assert gaps.ce.best_deviation.shape == (len(num_actions), 1, 2)
    np.testing.assert_array_equal(gaps.ce.max, gaps.ce.per_player.max(0))


@given(st.integers(0, 10**6), st.lists(st.integers(1, 4), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_neither_cce_nor_ce_exceeds_swap(seed, num_actions):
    game = games.random_game(num_actions, seed=seed)
    joint = np.random.default_rng(seed).dirichlet(np.ones(np.prod(num_actions))).reshape(num_actions)
    gaps = metrics.equilibrium_gaps(game, joint)
    assert (gaps.cce.per_player <= gaps.swap.per_player).all()
    assert (gaps.ce.per_player <= gaps.swap.per_player).all()
    assert (gaps.ce.per_player >= 0).all()


@pytest.mark.parametrize("num_actions", [(2, 3), (5, 2), (3, 2, 4)])
def test_gaps_against_openspiel(num_actions):
    pyspiel = pytest.importorskip("pyspiel", reason="needs the test extra")
    players = range(len(num_actions))
    game = games.random_game(num_actions, seed=1, law="gaussian")
    joint = np.random.default_rng(7).dirichlet(np.ones(np.prod(num_actions))).reshape(num_actions)
    if len(num_actions) == 2:
        matrix_game = pyspiel.create_matrix_game(*[p.tolist() for p in game.payoffs])
    else:
        matrix_game = pyspiel.create_tensor_game([p.ravel().tolist() for p in game.payoffs], num_actions)
    turns = pyspiel.convert_to_turn_based(matrix_game)
    keys, state = [], turns.new_initial_state()
    for _ in players:
        keys.append(state.information_state_string())
        state.apply_action(0)
    device = []
    for profile in np.ndindex(num_actions):
        table = {keys[n]: [(i, float(i == profile[n])) for i in range(num_actions[n])] for n in players}
        device.append((joint[profile], pyspiel.TabularPolicy(table)))
    gaps = metrics.equilibrium_gaps(game, joint)
    # OpenSpiel clips each player's CCE incentive at 0, and its CE is the full-swap gap.
    cce = pyspiel.cce_dist(turns, device).deviation_incentives
    np.testing.assert_allclose(np.maximum(gaps.cce.per_player[:, 0], 0), cce, atol=1e-12)
    swap = pyspiel.ce_dist(turns, device).deviation_incentives
    np.testing.assert_allclose(gaps.swap.per_player[:, 0], swap, atol=1e-12)
    assert max(swap) > 0.1


def test_a_correlated_equilibrium_from_a_linear_program_has_no_gap():
    from scipy.optimize import linprog

    game = games.random_game((3, 4), seed=11, law="gaussian")
    rows = []
    for n, d in enumerate(game.num_actions):
        utility = np.moveaxis(game.payoffs[n], n, 0)
        for i, j in itertools.permutations(range(d), 2):
            gain = np.zeros_like(utility)
            gain[i] = utility[j] - utility[i]
            rows.append(np.moveaxis(gain, 0, n).ravel())
    welfare = sum(game.payoffs).ravel()
    solution = linprog(-welfare, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=[np.ones(12)], b_eq=[1])
    joint = np.maximum(solution.x, 0).reshape(3, 4)
    gaps = metrics.equilibrium_gaps(game, joint)
    assert gaps.ce.max[0] == pytest.approx(0, abs=1e-9)
    assert gaps.swap.max[0] == pytest.approx(0, abs=1e-9)
    assert gaps.cce.max[0] < 1e-9
    # The uniform distribution is not a correlated equilibrium of this game, so the check can fail.
    assert metrics.equilibrium_gaps(game, np.full((3, 4), 1 / 12)).ce.max[0] > 0.01


def test_a_cce_gap_may_be_negative():
    # Both are told the same fair coin: any fixed action misses half of the time.
    game = games.NormalFormGame([np.eye(2), np.eye(2)])
    gaps = metrics.equilibrium_gaps(game, np.eye(2) / 2)
    np.testing.assert_allclose(gaps.cce.per_player, -0.5)
    np.testing.assert_allclose(gaps.ce.per_player, 0)


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        (np.ones((2, 2)) / 4, "shape"),
        (np.full((3, 3), 1 / 8), "sum to 1"),
        (np.full((3, 3), np.nan), "sum to 1"),
        (np.diag([2.0, -1.0, 0.0]), "non-negative"),
    ],
)
def test_joint_distributions_that_are_none(joint, message):
    with pytest.raises(ValueError, match=message):
        metrics.equilibrium_gaps(games.weighted_rps(), joint)


def test_a_joint_distribution_may_be_off_by_rounding_as_solvers_leave_it():
    game = games.prisoners_dilemma()
    exact = metrics.equilibrium_gaps(game, [[0, 0], [0, 1]])
    rounded = metrics.equilibrium_gaps(game, [[-1e-17, 0], [1e-15, 1]])
    np.testing.assert_allclose(rounded.swap.per_player, exact.swap.per_player, atol=1e-14)


@given(st.integers(1, 10**7), st.integers(1, 5))
def test_log_spaced_rounds(horizon, per_decade):
    rounds = metrics.log_spaced_rounds(horizon, per_decade)
    assert rounds == sorted(set(rounds))
    assert rounds[0] == 1
    assert rounds[-1] == horizon
    assert len(rounds) <= per_decade * len(str(horizon)) + 2


def test_off_simplex_finds_every_kind_of_fault():
    policies = np.array([[0.5, 0.5], [np.nan, 1], [np.inf, 0], [1.1, -0.1], [0.5, 0.49], [1 + 1e-7, -1e-13]])
    np.testing.assert_array_equal(metrics.off_simplex(policies), [False, True, True, True, True, False])


def test_nash_conv_is_zero_at_the_equilibrium_and_exact_elsewhere():
    game = games.weighted_rps()
    for policy, expected in (([3 / 6, 2 / 6, 1 / 6], 0), ([1, 0, 0], 2 / 3)):
        # Against rock, paper wins w₃/3 = 1/3 for either player.
        policies = [np.array([policy], float)] * 2
        losses = games.expected_losses(game.losses, policies)
        np.testing.assert_allclose(metrics.nash_conv(losses, policies), expected, atol=1e-15)


@given(arrays(np.float64, (3, 3), elements=st.floats(-1e6, 1e6)))
def test_no_regret_exceeds_the_swap_regret_to_the_bit(matrix):
    regrets = {name: float(regret(matrix)) for name, regret in metrics.REGRETS.items()}
    assert max(regrets["external"], regrets["internal"]) <= regrets["swap"]
