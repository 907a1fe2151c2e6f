"""Training by TD: the torch forward pass against numpy's, updates against finite differences, a short
training."""

import dataclasses

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from regret_envs.rooms.policy_evaluation.softmax_td import SoftmaxTransformer  # noqa: E402
from regret_envs.rooms.policy_evaluation.training import (  # noqa: E402
    SoftmaxTDTraining,
    expected_update,
    layer_values,
    train,
)

SMALL = SoftmaxTDTraining(
    num_layers=4, num_states=4, num_features=4, context_length=20, num_steps=200, seed=1
)


def trajectory_of(config, num_runs=6, seed=0):
    rng = np.random.default_rng(seed)
    return config.processes(num_runs, rng=rng).sample(config.context_length, rng=rng)


def random_transformer(num_layers=4, seed=0):
    rng = np.random.default_rng(seed)
    return SoftmaxTransformer(rng.standard_normal((4, 4)), rng.standard_normal(3) / 2, num_layers)


def test_the_forward_pass_is_numpys():
    trajectory, transformer = trajectory_of(SMALL), random_transformer()
    context, queries = trajectory.context, trajectory.process.features
    values = layer_values(
        torch.from_numpy(transformer.attention),
        torch.from_numpy(transformer.value_weights),
        torch.from_numpy(np.concatenate([context.features, queries], axis=1)),
        torch.from_numpy(context.rewards),
        discount=0.5,
        num_layers=4,
    )
    expected = transformer.layer_values(context, discount=0.5, queries=queries)[-1]
    np.testing.assert_allclose(values.numpy(), expected, atol=1e-12)


def test_the_expected_update_is_the_td_error_times_the_gradient():
    trajectory, transformer = trajectory_of(SMALL), random_transformer()
    process = trajectory.process

    def values(parameters):
        moved = SoftmaxTransformer(parameters[:16].reshape(4, 4), parameters[16:], 4)
        return moved.layer_values(trajectory.context, discount=0.5, queries=process.features)[-1, :, -4:]

    at = np.concatenate([transformer.attention.ravel(), transformer.value_weights])
    v = values(at)
    errors = process.rewards + 0.5 * np.einsum("bij,bj->bi", process.transitions, v) - v
    expected = []
    for direction in 1e-5 * np.eye(19):
        slope = (values(at + direction) - values(at - direction)) / 2e-5
        expected.append((process.stationary * errors * slope).sum(1).mean())
    np.testing.assert_allclose(expected_update(transformer, trajectory), expected, atol=1e-8)


def test_a_short_training_learns_and_repeats_itself():
    losses = {}
    transformer = train(SMALL, progress=losses.__setitem__)
    assert list(losses) == list(range(1, 201))
    again = train(SMALL)
    np.testing.assert_array_equal(again.attention, transformer.attention)
    np.testing.assert_array_equal(again.value_weights, transformer.value_weights)
    other = train(dataclasses.replace(SMALL, num_steps=1, seed=2))
    assert not np.array_equal(other.attention, train(dataclasses.replace(SMALL, num_steps=1)).attention)

    fresh = trajectory_of(SMALL, 500, seed=9)
    process = fresh.process
    values = transformer.layer_values(fresh.context, discount=0.5, queries=process.features)[-1, :, -4:]
    error = process.mean_square_value_error(values).mean()
    assert error < 0.2 * process.mean_square_value_error(np.zeros_like(values)).mean()


def test_one_hot_features_are_as_many_as_states():
    config = dataclasses.replace(SMALL, features="one_hot", num_states=3, num_steps=1)
    assert train(config).num_features == 3


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"discount": 1.0}, r"discount must lie in \[0, 1\)"),
        ({"num_layers": 0}, "num_layers must be at least 1"),
        ({"context_length": 0}, "context_length must be at least 1"),
        ({"batch_size": 0}, "batch_size"),
        ({"num_steps": 0}, "num_steps"),
        ({"num_states": 1}, "num_states must be at least 2"),
        ({"num_features": 0}, "num_features"),
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
        ({"clip_norm": float("nan")}, "clip_norm must be positive"),
        ({"seed": -1}, "seed"),
    ],
)
def test_wrong_settings_are_errors(setting, message):
    with pytest.raises(ValueError, match=message):
        SoftmaxTDTraining(**setting)


def test_divergence_is_an_error_that_names_the_step():
    with pytest.raises(FloatingPointError, match=r"in step .* learning_rate below 1e\+200"):
        train(dataclasses.replace(SMALL, learning_rate=1e200))
