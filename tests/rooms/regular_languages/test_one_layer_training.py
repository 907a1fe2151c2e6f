"""Training against the update rule written out, the max-margin vector against its optimality conditions."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from regret_envs.rooms.regular_languages.training import Trajectory, max_margin, train, train_head
from regret_envs.rooms.regular_languages.transformer import (
    OneLayerTransformer,
    even_pairs_set,
    parity_chain_set,
)


class TestTrain:
    @pytest.mark.parametrize("attention_steps", [0, 3, 100])
    def test_the_update_rule(self, attention_steps):
        data = even_pairs_set(4)
        model, by_hand = (OneLayerTransformer(4, temperature=3.0) for _ in range(2))
        for each in (model, by_hand):
            each.head[:] = np.linspace(-1, 1, 8)
            each.attention[:] = np.random.default_rng(0).standard_normal((8, 8))
        trajectory = train(
            model, data, num_steps=6, step_size=0.2, attention_steps=attention_steps, keep=[0, 6]
        )
        for t in range(6):
            margins, head, attention = by_hand.gradient(data)
            assert trajectory.losses[t] == pytest.approx(data.weights @ np.log1p(np.exp(-margins)), rel=1e-13)
            np.testing.assert_array_equal(trajectory.heads[t], by_hand.head)
            by_hand.head[:] -= 0.2 * head
            by_hand.attention[:] -= (0.6 if t < attention_steps else 0.2) * attention
        np.testing.assert_allclose(model.head, by_hand.head, rtol=1e-13)
        np.testing.assert_allclose(model.attention, by_hand.attention, rtol=1e-13)
        assert set(trajectory.models) == {0, 6}
        np.testing.assert_array_equal(trajectory.models[6].attention, model.attention)
        assert (trajectory.models[0].head == np.linspace(-1, 1, 8)).all()

    def test_even_pairs_are_learned_and_the_first_step_is_exact(self):
        model = OneLayerTransformer()
        trajectory = train(model, even_pairs_set(), num_steps=300, keep=[1])
        # Half of ln 2 a length and no answer at zero; then η / 4 on the first token and nothing else.
        assert trajectory.losses[0] == pytest.approx(6 * np.log(2)) and not trajectory.all_right[0]
        np.testing.assert_allclose(trajectory.heads[1], [0.025] * 2 + [0] * 10, atol=1e-15)
        assert not trajectory.models[1].attention.any()
        assert trajectory.first_step_right is not None and trajectory.first_step_right <= 300
        assert trajectory.all_right[trajectory.first_step_right :].all()
        assert not trajectory.all_right[trajectory.first_step_right - 1]

    def test_the_chain_alone_does_not_leave_zero_and_with_the_regularizer_it_does(self):
        stuck, free = OneLayerTransformer(), OneLayerTransformer()
        train(stuck, parity_chain_set(regularized=False), num_steps=200)
        train(free, parity_chain_set(), num_steps=200)
        assert np.abs(stuck.head).max() < 1e-14 and np.abs(free.head).max() > 0.1

    def test_first_step_right(self):
        def first(*right):
            return Trajectory(np.empty(0), np.array(right), np.empty((0, 0)), {}).first_step_right

        assert first(False, True, False, True, True) == 3
        assert first(True, True) == 0
        assert first(True, False) is None

    def test_bad_settings(self):
        model, data = OneLayerTransformer(3), even_pairs_set(3)
        with pytest.raises(ValueError, match="step_size must be positive"):
            train(model, data, num_steps=1, step_size=0.0)
        with pytest.raises(ValueError, match="attention_steps must be at least 0"):
            train(model, data, num_steps=1, attention_steps=-1)
        with pytest.raises(ValueError, match=r"0 … num_steps = 5, got 6"):
            train(model, data, num_steps=5, keep=[6])
        with pytest.raises(ValueError, match="max_length 3, a model of 4"):
            train(OneLayerTransformer(4), data, num_steps=1)
        model.head[:] = np.nan
        with np.errstate(invalid="ignore"), pytest.raises(FloatingPointError, match="after 0 steps"):
            train(model, data, num_steps=1)


def separable(rng, num_sequences, dim):
    features = rng.standard_normal((num_sequences, dim))
    return features, np.where(features @ rng.standard_normal(dim) > 0, 1, -1)


class TestMaxMargin:
    @pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
    @pytest.mark.parametrize("seed", range(4))
    def test_optimality(self, seed, scale):
        """u is a non-negative combination of the constraints that bind: sufficient, for it is convex."""
        features, labels = separable(np.random.default_rng(seed), 30, 5)
        features *= scale
        u = max_margin(features, labels)
        signed = features * labels[:, None]
        assert (signed @ u).min() == pytest.approx(1.0, abs=1e-9)
        binding = signed[signed @ u < 1 + 1e-7]
        multipliers = np.linalg.lstsq(binding.T, u, rcond=None)[0]
        np.testing.assert_allclose(binding.T @ multipliers, u, atol=1e-8 * np.linalg.norm(u))
        assert multipliers.min() >= -1e-8 * multipliers.max()

    def test_against_a_general_solver(self):
        features, labels = separable(np.random.default_rng(9), 12, 3)
        signed = features * labels[:, None]
        start = linprog(np.zeros(3), -signed, -np.ones(12), bounds=(None, None)).x
        constraint = {"type": "ineq", "fun": lambda u: signed @ u - 1, "jac": lambda u: signed}
        solved = minimize(lambda u: u @ u / 2, start, jac=lambda u: u, constraints=constraint, method="SLSQP")
        np.testing.assert_allclose(max_margin(features, labels), solved.x, rtol=1e-5)

    def test_features_that_no_vector_separates(self):
        features = np.array([[1.0, 0.0], [2.0, 0.0]])
        with pytest.raises(ValueError, match="not linearly separable"):
            max_margin(features, np.array([1, -1]))

    def test_the_head_alone_turns_to_it(self):
        features, labels = separable(np.random.default_rng(1), 20, 4)
        u = max_margin(features, labels)
        weights = np.random.default_rng(2).uniform(0.5, 2, 20)
        cosines = []
        for num_steps in (100, 30_000):
            head = train_head(features, labels, weights, np.zeros(4), num_steps=num_steps, step_size=0.5)
            cosines.append(head @ u / np.linalg.norm(head) / np.linalg.norm(u))
        assert cosines[0] < cosines[1] and cosines[1] > 0.99

    def test_one_step_of_the_head_alone(self):
        features, labels = separable(np.random.default_rng(5), 6, 3)
        weights, start = np.linspace(1, 2, 6), np.array([0.1, -0.2, 0.3])
        expected = start + 0.3 * sum(
            w * y * z / (1 + np.exp(y * (z @ start)))
            for w, y, z in zip(weights, labels, features, strict=True)
        )
        head = train_head(features, labels, weights, start, num_steps=1, step_size=0.3)
        np.testing.assert_allclose(head, expected, rtol=1e-13)
