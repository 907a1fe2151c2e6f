"""Labels, chain of thought and the logarithmic loss, against their definitions."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regret_envs.rooms.regular_languages import languages

words = st.lists(st.integers(0, 1), min_size=1, max_size=12).map(np.array)


@pytest.mark.parametrize("length", [1, 2, 5])
def test_sequences_are_all_of_them_in_order(length):
    expected = list(itertools.product((0, 1), repeat=length))
    np.testing.assert_array_equal(languages.sequences(length), expected)


@given(words)
def test_even_pairs_counts_the_changes(tokens):
    changes = sum(left != right for left, right in itertools.pairwise(tokens))
    assert languages.even_pairs(tokens) == (1 if changes % 2 == 0 else -1)


@given(words)
def test_parity_counts_b(tokens):
    assert languages.parity(tokens) == (1 if list(tokens).count(1) % 2 == 0 else -1)


@given(words)
def test_even_pairs_asked_again_and_again_is_parity(tokens):
    parity = languages.parity(tokens)
    length = len(tokens)
    for _ in range(length - 1):
        tokens = languages.think(tokens, languages.even_pairs(tokens))
        assert len(tokens) == length
    assert tokens[-1] == (0 if parity == 1 else 1)


@given(words)
def test_so_is_comparing_every_token_with_the_last_of_an_untruncated_chain(tokens):
    thoughts = tokens
    for t in range(len(tokens) - 1):
        thoughts = languages.think(thoughts, languages.even_pairs(thoughts[t:]), truncate=False)
    assert len(thoughts) == 2 * len(tokens) - 1
    assert thoughts[-1] == (0 if languages.parity(tokens) == 1 else 1)


def test_log_loss_is_in_nats_and_bounded():
    p = np.array([0.0, 1e-7, 0.2, 1.0])
    bound = languages.MAX_LOG_LOSS
    np.testing.assert_allclose(languages.log_loss(p, 1), [bound, bound, math.log(5), 0.0], rtol=1e-15)
    np.testing.assert_allclose(languages.log_loss(p, -1), [0.0, 1e-7, -math.log(0.8), bound], rtol=1e-7)
    assert not np.signbit(languages.log_loss(1.0, 1))


@pytest.mark.parametrize(("length", "error"), [(0, ValueError), (17, ValueError), (2.0, TypeError)])
def test_a_length_out_of_bounds_is_an_error(length, error):
    with pytest.raises(error, match="length"):
        languages.sequences(length)
