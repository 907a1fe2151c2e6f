"""The simplex as a Gymnasium space."""

import pickle

import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from regret_envs.envs.spaces import Simplex


def test_samples_are_uniform_on_the_simplex():
    space = Simplex(4, seed=1)
    samples = np.stack([space.sample() for _ in range(4000)])
    assert samples.dtype == np.float32
    assert all(space.contains(x) for x in samples[:200])
    # Dirichlet(1, 1, 1, 1): mean 1/4, variance 3/80, covariance −1/80; the margin is five standard errors.
    covariance = np.cov(samples.T)
    assert np.abs(samples.mean(0) - 1 / 4).max() < 5 * np.sqrt(3 / 80 / 4000)
    assert np.abs(covariance - (np.eye(4) / 20 - 1 / 80)).max() < 0.006


def test_contains_checks_sum_sign_shape_and_type():
    space = Simplex(3)
    assert np.array([0.2, 0.3, 0.5], np.float32) in space
    for outside in ([0.2, 0.3, 0.6], [-0.1, 0.6, 0.5], [np.nan, 0.5, 0.5], [0.5, 0.5]):
        assert np.array(outside, np.float32) not in space
    assert np.array([0.2, 0.3, 0.5]) not in space  # float64 does not fit float32
    # 10,000 entries rounded to float32 still sum to 1 within the tolerance.
    assert Simplex(10_000, seed=0).sample() in Simplex(10_000)


def test_seeded_equal_and_representable():
    one, other = Simplex(3, seed=5), Simplex(3, seed=5)
    assert (one.sample() == other.sample()).all()
    one.seed(9)
    other.seed(9)
    assert (one.sample() == other.sample()).all()
    assert one == Simplex(3) != Simplex(4)
    assert Simplex(3) != Box(0, 1, (3,)) and Box(0, 1, (3,)) != Simplex(3)
    assert eval(repr(Simplex(3))) == Simplex(3)
    batch = Simplex(3, batch_shape=(2,))
    assert eval(repr(batch)) == batch != Simplex(3)
    copy = pickle.loads(pickle.dumps(one))
    assert copy == one and (copy.sample() == one.sample()).all()


def test_batched_samples_have_rows_on_the_simplex():
    space = Simplex(3, seed=0)
    batch = batch_space(space, 5)
    assert batch == Simplex(3, batch_shape=(5,))
    sample = batch.sample()
    assert sample.shape == (5, 3) and sample in batch
    rows = list(iterate(batch, sample))
    assert all(row in space for row in rows)
    assert (concatenate(space, rows, create_empty_array(space, 5)) == sample).all()
    assert batch_space(batch, 2).shape == (2, 5, 3)


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="num_actions must be at least 1"):
        Simplex(0)
    with pytest.raises(TypeError, match="num_actions must be an integer"):
        Simplex(2.5)
    with pytest.raises(ValueError, match="no mask"):
        Simplex(2).sample(mask=np.ones(2))
