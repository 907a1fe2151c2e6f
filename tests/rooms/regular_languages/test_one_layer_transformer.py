"""The model and its gradient against the definition in plain loops, finite differences and closed forms."""

import math
import pickle

import numpy as np
import pytest

from regret_envs.rooms.regular_languages import languages
from regret_envs.rooms.regular_languages.transformer import (
    LabeledSequences,
    OneLayerTransformer,
    chain_of_thought,
    even_pairs_set,
    parity_chain_set,
)

WORDS = ["b", "abb", "baa", "bbaba", "aabab"]


def tokens_of(word):
    return np.array([["ab".index(letter) for letter in word]])


def random_model(rng, max_length=5, temperature=1.7):
    model = OneLayerTransformer(max_length, temperature=temperature)
    model.head[:] = rng.standard_normal(model.head.shape)
    model.attention[:] = rng.standard_normal(model.attention.shape)
    return model


def embedded(word, max_length):
    """The rows x_l of a word."""
    return np.stack([np.eye(2 * max_length)[2 * position + "ab".index(w)] for position, w in enumerate(word)])


def defined_scores_and_output(model, word):
    """φ and T(X) from the formula, one token after the other."""
    x = embedded(word, model.max_length)
    logits = [row @ model.attention @ x[-1] / model.temperature for row in x]
    total = sum(math.exp(logit) for logit in logits)
    scores = [math.exp(logit) / total for logit in logits]
    return scores, model.head @ sum(score * row for score, row in zip(scores, x, strict=True))


class TestForward:
    def test_scores_outputs_and_features_are_the_definition(self):
        model = random_model(np.random.default_rng(0))
        data = LabeledSequences([(tokens_of(word), [1]) for word in WORDS], 5)
        scores, outputs, features = model.scores(data), model.outputs(data), model.features(data)
        assert features.shape == (5, 10)
        for n, word in enumerate(WORDS):
            expected, output = defined_scores_and_output(model, word)
            np.testing.assert_allclose(scores[: len(word), n], expected, rtol=1e-13)
            assert (scores[len(word) :, n] == 0).all()
            assert outputs[n] == pytest.approx(output, rel=1e-12)
            np.testing.assert_allclose(features[n], np.array(expected) @ embedded(word, 5), rtol=1e-13)

    def test_large_attention_does_not_overflow(self):
        model = random_model(np.random.default_rng(1))
        model.attention[:] *= 1e5
        data = even_pairs_set(5)
        np.testing.assert_allclose(model.scores(data).sum(0), 1.0, rtol=1e-15)
        assert all(np.isfinite(part).all() for part in model.gradient(data))


class TestGradient:
    @pytest.mark.parametrize("data", [even_pairs_set(5), parity_chain_set(3)], ids=["even pairs", "chain"])
    def test_against_finite_differences(self, data):
        model = random_model(np.random.default_rng(2), data.max_length)
        margins, *gradients = model.gradient(data)
        np.testing.assert_allclose(margins, data.labels * model.outputs(data), rtol=1e-14)
        h = 1e-5
        for parameters, gradient in zip((model.head, model.attention), gradients, strict=True):
            difference = np.empty_like(gradient)
            for i in np.ndindex(parameters.shape):
                there = parameters[i]
                losses = []
                for step in (h, -h):
                    parameters[i] = there + step
                    losses.append(data.weights @ np.logaddexp(0, -data.labels * model.outputs(data)))
                parameters[i] = there
                difference[i] = (losses[0] - losses[1]) / (2 * h)
            assert np.abs(gradient - difference).max() < 1e-8 * np.abs(gradient).max()

    def test_the_first_step_of_even_pairs_moves_the_first_token_alone(self):
        """At zero all scores are 1/L, and beyond L = 1 every token is in as many words with as without."""
        model = OneLayerTransformer(6)
        _, head, attention = model.gradient(even_pairs_set(6))
        np.testing.assert_allclose(head[:2], -1 / 4, atol=1e-15)
        np.testing.assert_allclose(head[2:], 0, atol=1e-15)
        np.testing.assert_array_equal(attention, 0)

    def test_swapping_the_letters_swaps_the_gradient(self):
        data = even_pairs_set(4)
        model, mirrored = random_model(np.random.default_rng(3), 4), OneLayerTransformer(4, temperature=1.7)
        swap = np.arange(8) ^ 1
        mirrored.head[:], mirrored.attention[:] = model.head[swap], model.attention[swap][:, swap]
        for one, other in zip(model.gradient(data)[1:], mirrored.gradient(data)[1:], strict=True):
            np.testing.assert_allclose(one[np.ix_(*[swap] * one.ndim)], other, atol=1e-14)


class TestSets:
    def test_even_pairs_has_126_sequences_and_every_length_weighs_1(self):
        data = even_pairs_set(6)
        assert len(data) == 126
        np.testing.assert_allclose(np.bincount(data.lengths, data.weights), [0, 1, 1, 1, 1, 1, 1])
        assert np.bincount(data.lengths, data.labels == 1).tolist() == [0, 2, 2, 4, 8, 16, 32]

    def test_the_chain_compares_token_t_with_the_last(self):
        data = parity_chain_set(4)
        labels = {
            length: dict(
                zip(map(tuple, languages.sequences(length)), data.labels[data.lengths == length], strict=True)
            )
            for length in range(1, 7)
        }
        assert len(data) == 126 and len(parity_chain_set(4, regularized=False)) == 112
        assert labels[3][0, 1, 0] == 1  # the regularizer: first against last
        assert labels[4][0, 1, 1, 1] == -1  # step 1: token 1
        assert labels[5][0, 1, 0, 0, 1] == 1  # step 2: token 2
        assert labels[6][0, 1, 1, 0, 0, 1] == 1  # step 3: token 3

    @pytest.mark.parametrize(
        ("groups", "message"),
        [
            ([], "no sequences"),
            ([([[0, 1]], [1]), ([[0, 2]], [1])], "group 1: tokens"),
            ([([0, 1], [1])], "group 0: tokens"),
            ([(np.empty((0, 2)), [])], "group 0: tokens"),
            ([([[0, 1, 1, 0]], [1])], "length 4, max_length is 3"),
            ([([[0, 1]], [0])], "group 0: labels"),
            ([([[0, 1]], [1, 1])], "group 0: labels"),
        ],
    )
    def test_bad_groups_are_named(self, groups, message):
        with pytest.raises(ValueError, match=message):
            LabeledSequences(groups, 3)

    def test_bad_sizes(self):
        with pytest.raises(ValueError, match="num_tokens must be at least 2"):
            parity_chain_set(1)
        with pytest.raises(ValueError, match="the length of the last step must be at most 16, got 18"):
            parity_chain_set(10)
        with pytest.raises(ValueError, match="temperature must be positive"):
            OneLayerTransformer(temperature=0)
        with pytest.raises(ValueError, match="max_length 4, a model of 6"):
            OneLayerTransformer(6).outputs(even_pairs_set(4))


class TestChainOfThought:
    def right_by_hand(self, reach):
        """A model whose query finds token `last − reach(last)` and says whether the two are equal.

        The score of the pair is large, and the head cannot see the query: so equal letters send the
        attention to the token to be compared, with a positive value, and unequal ones elsewhere.
        """
        model = OneLayerTransformer(6)
        for last in range(1, 6):
            first = reach(last)
            for letter in (0, 1):
                query = 2 * last + letter
                model.attention[2 * first + letter, query] = 100.0
                model.attention[2 * first + 1 - letter, query] = -100.0
        return model

    def test_a_model_that_answers_even_pairs_finds_every_parity(self):
        model = self.right_by_hand(lambda last: 0)
        model.head[:] = [1, 1] + [-1] * 10
        for length in range(1, 7):
            tokens = languages.sequences(length)
            np.testing.assert_array_equal(chain_of_thought(model, tokens), languages.parity(tokens))

    def test_untruncated_chains_grow(self):
        model = self.right_by_hand(lambda last: last - 3 if last >= 3 else 0)
        # Of four tokens, step t compares token t; what attention falls on otherwise is worth less.
        model.head[:] = [4, 4, 3, 3, 2, 2] + [-30] * 6
        tokens = languages.sequences(4)
        answers = chain_of_thought(model, tokens, truncate=False)
        np.testing.assert_array_equal(answers, languages.parity(tokens))
        with pytest.raises(ValueError, match="length 7, max_length is 6"):
            chain_of_thought(model, languages.sequences(5), truncate=False)

    def test_a_model_at_zero_answers_b(self):
        np.testing.assert_array_equal(chain_of_thought(OneLayerTransformer(4), languages.sequences(3)), -1)


def test_save_and_load(tmp_path):
    model = random_model(np.random.default_rng(4))
    model.save(tmp_path / "model")
    for again in (OneLayerTransformer.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert repr(again) == repr(model) == "OneLayerTransformer(max_length=5, temperature=1.7)"
        np.testing.assert_array_equal(again.head, model.head)
        np.testing.assert_array_equal(again.attention, model.attention)
        again.head[:] = 0
        np.testing.assert_array_equal(again.outputs(even_pairs_set(5)), 0)
    (tmp_path / "text").write_text("nonsense")
    np.savez(tmp_path / "other.npz", head=np.zeros(4))
    np.savez(tmp_path / "shape.npz", head=np.zeros(4), attention=np.zeros((3, 3)), temperature=1.0)
    for bad in ("text", "other.npz", "shape.npz"):
        with pytest.raises(ValueError, match=f"{bad} does not hold a one-layer Transformer"):
            OneLayerTransformer.load(tmp_path / bad)
    with pytest.raises(FileNotFoundError):
        OneLayerTransformer.load(tmp_path / "absent")
