import numpy as np
import pytest

from regret_envs.benchmarks.analysis.nash_averaging import nash_averaging

RPS = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], dtype=float)
MARGIN = np.array([[2.0], [1.0], [0.5]])
WEIGHTED = np.array([[0, -1, 2], [1, 0, -3], [-2, 3, 0]]) / 3


def copies(matrix, counts):
    """The game in which strategy i is there counts[i] times."""
    index = np.repeat(np.arange(len(matrix)), counts)
    return matrix[np.ix_(index, index)]


def transitive(skills):
    return np.subtract.outer(skills, skills)


def antisymmetric(n, seed, whole=False):
    a = np.random.default_rng(seed).normal(size=(n, n))
    a = np.round(a) if whole else a
    return a - a.T


MATRICES = {
    "rps": RPS,
    "weighted": WEIGHTED,
    "copies": copies(WEIGHTED, [1, 3, 2]),
    "nothing": np.zeros((4, 4)),
    "transitive": transitive(np.array([0.3, 1.0, -2.0])),
    "two best": transitive(np.array([1.0, 1.0, 0.0])),
    # Three in a cycle that all beat a fourth, by more or less.
    "beaten": np.block([[RPS, MARGIN], [-MARGIN.T, np.zeros((1, 1))]]),
    # The fourth draws with the whole cycle's mixture: many equilibria, an inequality that binds or not.
    "draws": np.block([[RPS, np.zeros((3, 1))], [np.zeros((1, 4))]]),
    "odd": antisymmetric(5, 0),
    "even": antisymmetric(6, 1),
    "whole": antisymmetric(7, 2, whole=True),
}


def test_known_equilibria():
    for name, p in {
        "rps": [1 / 3] * 3,
        "weighted": [3 / 6, 2 / 6, 1 / 6],
        "copies": [3 / 6, *[2 / 18] * 3, *[1 / 12] * 2],
        "nothing": [1 / 4] * 4,
        "transitive": [0, 1, 0],
        "two best": [1 / 2, 1 / 2, 0],
        "beaten": [1 / 3, 1 / 3, 1 / 3, 0],
        "draws": [1 / 4] * 4,
    }.items():
        np.testing.assert_allclose(nash_averaging(MATRICES[name])[0], p, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("name", MATRICES)
def test_it_is_an_equilibrium_of_the_most_entropy(name):
    a = MATRICES[name]
    p, payoffs = nash_averaging(a)
    assert p.sum() == pytest.approx(1) and p.min() >= 0
    np.testing.assert_allclose(payoffs, a @ p, atol=1e-12 * np.abs(a).max())
    assert payoffs.max() <= 1e-7
    # First-order condition: no equilibrium q has −Σ (q − p) log p > 0. All of them, by linear programs.
    from scipy.optimize import linprog

    cost = np.log(np.maximum(p, 1e-300))
    best = linprog(cost, A_ub=a, b_ub=np.full(len(a), 1e-9), A_eq=np.ones((1, len(a))), b_eq=[1.0])
    assert best.fun >= cost @ np.where(p > 0, p, 0) - 1e-5


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_do_not_matter(scale):
    p, payoffs = nash_averaging(MATRICES["odd"])
    scaled, scaled_payoffs = nash_averaging(scale * MATRICES["odd"])
    np.testing.assert_allclose(scaled, p, atol=1e-7)
    np.testing.assert_allclose(scaled_payoffs, scale * payoffs, atol=1e-7 * scale)


@pytest.mark.parametrize("name", MATRICES)
def test_openspiel_finds_the_same(name):
    pytest.importorskip("cvxpy")
    pyspiel = pytest.importorskip("pyspiel")
    from open_spiel.python.algorithms.nash_averaging import nash_averaging as theirs

    a = MATRICES[name]
    p, payoffs = nash_averaging(a)
    # OpenSpiel wants A = −Aᵀ to the bit.
    game = pyspiel.create_matrix_game(a.tolist(), (-a).tolist())
    their_p, their_payoffs = theirs(game, a_v_a=True)
    np.testing.assert_allclose(np.ravel(their_p), p, atol=2e-4)
    np.testing.assert_allclose(np.ravel(their_payoffs), payoffs, atol=2e-4)


def test_what_is_no_meta_game():
    with pytest.raises(ValueError, match="not antisymmetric"):
        nash_averaging(np.eye(3))
    with pytest.raises(ValueError, match="square"):
        nash_averaging(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="finite"):
        nash_averaging(np.full((2, 2), np.nan))
