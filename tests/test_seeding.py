"""The generators of many runs at once are numpy's own, bit for bit."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regret_envs import experts_v1
from regret_envs.seeding import RunSeeds, generators

WORDS = st.integers(0, 2**32 - 1)


@given(
    seed=st.one_of(st.integers(0, 2**63 - 1), st.integers(0, 2**200)),
    key=st.lists(WORDS, max_size=4),
    first=st.integers(0, 2**32 - 6),
    count=st.sampled_from([1, 5]),
)
def test_bit_for_bit(seed, key, first, count):
    runs = range(first, first + count)
    for run, rng in zip(runs, generators(seed, key, runs), strict=True):
        expected = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(*key, run))))
        assert rng.bit_generator.state == expected.bit_generator.state
        children = rng.spawn(2) + rng.spawn(1)
        for child, other in zip(children, expected.spawn(3), strict=True):
            assert child.random() == other.random()
        assert np.random.MT19937(rng.bit_generator.seed_seq).random_raw() == (
            np.random.MT19937(expected.bit_generator.seed_seq).random_raw()
        )


def test_pickled_generators_go_on():
    for rng in RunSeeds(5, 3).world():
        rng.random()
        copy = pickle.loads(pickle.dumps(rng))
        assert copy.random() == rng.random()
        assert copy.spawn(1)[0].random() == rng.spawn(1)[0].random()


def test_a_run_has_the_same_generators_in_every_batch():
    many, one = RunSeeds(7, 10), RunSeeds(7, 1, first_run=6)
    for each in (RunSeeds.world, lambda s: s.starting_losses(2), lambda s: s.feedback(1, 0)):
        assert each(many)[6].random() == each(one)[0].random()


def test_runs_beyond_one_word():
    first = 2**32 - 1
    for run, rng in zip(range(first, first + 3), generators(7, (1, 2), range(first, first + 3)), strict=True):
        expected = np.random.Generator(np.random.PCG64(np.random.SeedSequence(7, spawn_key=(1, 2, run))))
        assert rng.random() == expected.random()


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.int32, int])
def test_seeds_may_be_numpys_integers(kind):
    one, two = RunSeeds(kind(5), kind(2), kind(1)), RunSeeds(5, 2, 1)
    assert one.world()[1].random() == two.world()[1].random()
    assert one.agent(0).random() == two.agent(0).random()
    env = experts_v1.parallel_env()
    same, other = env.reset(seed=kind(5))[0], experts_v1.parallel_env().reset(seed=5)[0]
    np.testing.assert_equal(same, other)


@pytest.mark.parametrize(
    ("seed", "error"), [(-1, ValueError), (1.5, TypeError), ("1", TypeError), (True, TypeError)]
)
def test_what_is_no_seed_is_named(seed, error):
    with pytest.raises(error, match="seed must be"):
        RunSeeds(seed, 1)
