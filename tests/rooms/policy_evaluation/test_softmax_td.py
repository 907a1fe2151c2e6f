"""The softmax Transformer against plain loops of TD, the certainty-equivalence value and the contraction
bound."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from regret_envs.names import UnknownNameError
from regret_envs.rooms.policy_evaluation.markov import boyan_chains
from regret_envs.rooms.policy_evaluation.softmax_td import (
    SoftmaxTransformer,
    prompt,
    prompt_layers,
    weighted_softmax_td,
)


def trajectories(num_runs=4, *, n=30, seed=0, discount=0.7, **settings):
    rng = np.random.default_rng(seed)
    return boyan_chains(num_runs, rng=rng, discount=discount, **settings).sample(n, rng=rng)


def random_transformer(d, num_layers, seed=0):
    rng = np.random.default_rng(seed)
    return SoftmaxTransformer(2 * rng.standard_normal((d, d)), rng.standard_normal(3) / 2, num_layers)


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(1, 12),
    layers=st.integers(1, 6),
    discount=st.sampled_from([0.0, 0.5, 0.95]),
    tau=st.floats(0, 20),
    step=st.floats(0.1, 1.5),
    features=st.sampled_from(["random", "one_hot"]),
    seed=st.integers(0, 99),
)
def test_the_constructed_transformer_is_weighted_softmax_td(n, layers, discount, tau, step, features, seed):
    trajectory = trajectories(
        2, n=n, seed=seed, discount=discount, num_states=4, features=features, num_features=3
    )
    context = trajectory.context
    transformer = SoftmaxTransformer.construct(
        context.features.shape[2], num_layers=layers, inverse_temperature=tau, step_size=step
    )
    expected = weighted_softmax_td(
        context, discount=discount, inverse_temperature=tau, step_size=step, num_steps=layers
    )
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(
        transformer.layer_values(context, discount=discount)[-1], expected, atol=1e-12 * scale
    )
    z = prompt_layers(transformer, prompt(context), discount=discount)
    np.testing.assert_allclose(z[:, -1], expected, atol=1e-12 * scale)


@pytest.mark.parametrize("form", ["shift", "two-head"])
def test_the_written_out_transformer_is_the_fast_one_for_any_parameters(form):
    context = trajectories(n=20, num_states=6, num_features=3).context
    transformer = random_transformer(3, 4)
    z = prompt_layers(transformer, prompt(context), discount=0.7, form=form)
    np.testing.assert_allclose(z[:, -1], transformer.layer_values(context, discount=0.7)[-1], atol=1e-12)
    np.testing.assert_array_equal(z[:, :4], prompt(context)[:, :4])
    np.testing.assert_allclose(z[:, -2, :-1], 0.7 * z[:, -1, 1:], atol=1e-12)
    np.testing.assert_array_equal(z[:, -2, -1], 0.0)


def test_queries_are_valued_as_the_states_of_the_trajectory_are():
    trajectory = trajectories(n=20)
    transformer = random_transformer(5, 3)
    layers = transformer.layer_values(trajectory.context, discount=0.7, queries=trajectory.process.features)
    assert layers.shape == (4, 4, 21 + 5)
    np.testing.assert_array_equal(transformer.state_values(trajectory), layers[:, :, 21:])
    at_states = np.take_along_axis(layers[:, :, 21:], trajectory.states[None], 2)
    np.testing.assert_allclose(at_states, layers[:, :, :21], atol=1e-13)


def test_identity_attention_is_linear_td():
    context = trajectories(n=15, num_features=3).context
    transformer = SoftmaxTransformer.construct(3, num_layers=7, inverse_temperature=1.0, step_size=0.4 / 15)
    z = prompt_layers(transformer, prompt(context), discount=0.7, attention="identity")
    for run, (x, rewards) in enumerate(zip(context.features, context.rewards, strict=True)):
        w = np.zeros(3)
        for _ in range(7):
            w = w + 0.4 / 15 * sum((rewards[k] + 0.7 * w @ x[k + 1] - w @ x[k]) * x[k] for k in range(15))
        np.testing.assert_allclose(z[run, -1], x @ w, atol=1e-13)


def test_one_hot_features_and_sharp_attention_make_tabular_td():
    trajectory = trajectories(n=40, features="one_hot")
    s, rewards = trajectory.states, trajectory.context.rewards
    v = np.zeros((4, 5))
    for _ in range(6):
        errors = rewards + 0.7 * np.take_along_axis(v, s[:, 1:], 1) - np.take_along_axis(v, s[:, :-1], 1)
        v = v + [
            [errors[b][s[b, :-1] == i].mean() if (s[b, :-1] == i).any() else 0.0 for i in range(5)]
            for b in range(4)
        ]
    layers = SoftmaxTransformer.construct(5, num_layers=6, inverse_temperature=40.0).layer_values(
        trajectory.context, discount=0.7
    )
    np.testing.assert_allclose(layers[-1], np.take_along_axis(v, s, 1), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_certainty_equivalence_is_the_only_fixed_point_whatever_the_kernel(seed):
    trajectory = trajectories(8, n=400, seed=seed)
    layer = SoftmaxTransformer(random_transformer(5, 1, seed).attention, [0.9, 0.9, -0.9], 1)
    assert all(len(set(s[:-1])) == 5 for s in trajectory.states)

    def after_a_layer(values):
        """From values of the states to values of the states, both (num_runs, 5)."""
        z = prompt(trajectory.context)
        z[:, -1] = np.take_along_axis(values, trajectory.states, 1)
        z[:, -2, :-1] = 0.7 * z[:, -1, 1:]
        z = prompt_layers(layer, z, discount=0.7)
        first = [[list(s).index(i) for i in range(5)] for s in trajectory.states]
        return np.take_along_axis(z[:, -1], np.array(first), 1)

    constant = after_a_layer(np.zeros((8, 5)))
    columns = [after_a_layer(np.tile(e, (8, 1))) - constant for e in np.eye(5)]
    operator = np.eye(5) - np.stack(columns, axis=2)
    assert np.linalg.cond(operator).max() < 1e6
    fixed = np.linalg.solve(operator, constant[..., None])[..., 0]
    np.testing.assert_allclose(fixed, trajectory.certainty_equivalence, atol=1e-8)


def test_different_kernels_reach_certainty_equivalence_at_different_speeds():
    trajectory = trajectories(n=100, features="one_hot", discount=0.5)
    left = np.stack([(np.bincount(s[:-1], minlength=5) > 0).all() for s in trajectory.states])
    fixed = np.take_along_axis(trajectory.certainty_equivalence, trajectory.states, 1)
    distances = []
    for tau in (2.0, 9.0):
        transformer = SoftmaxTransformer.construct(5, num_layers=1000, inverse_temperature=tau)
        layers = transformer.layer_values(trajectory.context, discount=0.5)
        np.testing.assert_allclose(layers[-1][left], fixed[left], atol=1e-8)
        distances.append(np.abs(layers[20] - fixed)[left].max())
    assert distances[1] < distances[0] / 100


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), tau=st.floats(2, 12), discount=st.sampled_from([0.2, 0.5, 0.8]))
def test_a_layer_contracts_when_the_kernel_is_diagonal_enough(seed, tau, discount):
    trajectory = trajectories(1, n=60, seed=seed, features="one_hot", discount=discount)
    counts = np.bincount(trajectory.states[0, :-1], minlength=5)
    mass = counts * np.exp(tau * np.eye(5))
    margin = (np.diag(mass) / mass.sum(1)).min() - (1 + discount) / 2
    assume(margin > 0)
    layers = SoftmaxTransformer.construct(5, num_layers=12, inverse_temperature=tau).layer_values(
        trajectory.context, discount=discount, queries=trajectory.process.features
    )[:, 0, -5:]
    distance = np.abs(layers - trajectory.certainty_equivalence[0]).max(1)
    assert (distance[1:] <= (1 - 2 * margin) * distance[:-1] + 1e-13).all()


@pytest.mark.parametrize(
    ("attention", "weights", "layers", "message"),
    [
        (np.eye(3)[:2], [1, 1, -1], 1, "square"),
        (np.eye(3), [1, 1], 1, "three numbers"),
        (np.full((2, 2), np.nan), [1, 1, -1], 1, "finite"),
        (np.eye(3), [1, 1, -1], 0, "num_layers must be at least 1"),
    ],
)
def test_wrong_parameters_are_errors(attention, weights, layers, message):
    with pytest.raises(ValueError, match=message):
        SoftmaxTransformer(attention, weights, layers)


def test_wrong_calls_are_errors():
    context = trajectories(num_features=3).context
    transformer = random_transformer(4, 1)
    with pytest.raises(ValueError, match="reads 4 features a state, got 3"):
        transformer.layer_values(context, discount=0.5)
    with pytest.raises(ValueError, match=r"\(num_runs, 7, n \+ 1\), got \(4, 6, 31\)"):
        prompt_layers(transformer, prompt(context), discount=0.5)
    fits = random_transformer(3, 1)
    for discount in (1.0, -0.5):
        with pytest.raises(ValueError, match="discount must lie in"):
            fits.layer_values(context, discount=discount)
        with pytest.raises(ValueError, match="discount must lie in"):
            prompt_layers(fits, prompt(context), discount=discount)
        with pytest.raises(ValueError, match="discount must lie in"):
            weighted_softmax_td(context, discount=discount, inverse_temperature=1, step_size=1, num_steps=1)
    with pytest.raises(ValueError, match=r"queries must have shape \(4, m, 3\), got \(4, 2, 5\)"):
        fits.layer_values(context, discount=0.5, queries=np.zeros((4, 2, 5)))
    with pytest.raises(UnknownNameError, match="did you mean 'two-head'"):
        prompt_layers(fits, prompt(context), discount=0.5, form="two_head")
    with pytest.raises(UnknownNameError, match="unknown attention 'linear'"):
        prompt_layers(fits, prompt(context), discount=0.5, attention="linear")


def test_state_values_do_not_depend_on_how_the_runs_are_divided():
    trajectory = trajectories(130, n=5)
    layers = random_transformer(5, 2).state_values(trajectory)
    whole = random_transformer(5, 2).layer_values(
        trajectory.context, discount=0.7, queries=trajectory.process.features
    )
    np.testing.assert_allclose(layers, whole[:, :, -5:], atol=1e-14)
