"""Trained policies: what holds by construction, and at the edges."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regret_envs.agents import registry
from regret_envs.agents.universal.agent import Universal, read_weights
from regret_envs.agents.universal.features import CONTEXT_FEATURES, EXPERTS, TOKEN_FEATURES, LossFeatures
from regret_envs.agents.universal.network import SHAPES
from regret_envs.metrics import off_simplex

NAMES = ["universal", "universal-swap", "universal-safe", "universal-swap-safe"]


def play(agent, losses, horizon=None):
    """Policies (rounds, num_runs, num_actions)."""
    _, num_runs, num_actions = losses.shape
    agent.reset(num_actions, horizon=horizon, num_runs=num_runs, rng=np.random.default_rng(0))
    policies = []
    for row in losses:
        policies.append(np.array(agent.act()))
        agent.observe(row)
    return np.array(policies)


problems = st.tuples(
    st.integers(1, 9), st.integers(1, 4), st.integers(1, 25), st.integers(0, 2**32 - 1), st.booleans()
)


def losses_of(problem):
    num_actions, num_runs, rounds, seed, binary = problem
    rng = np.random.default_rng(seed)
    shape = (rounds, num_runs, num_actions)
    return rng.integers(0, 2, shape).astype(float) if binary else rng.standard_t(3, shape)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15, deadline=None)
@given(problem=problems, told=st.booleans())
def test_permuting_the_actions_permutes_play(name, problem, told):
    losses = losses_of(problem)
    order = np.random.default_rng(1).permutation(losses.shape[2])
    horizon = len(losses) if told else None
    agent = registry.make(name)
    expected = play(agent, losses, horizon)[..., order]
    assert np.abs(play(agent, losses[..., order], horizon) - expected).max() <= 1e-9


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15, deadline=None)
@given(problem=problems, shift=st.floats(-100, 100), scale=st.floats(1e-6, 1e6))
def test_shifts_and_scales_change_nothing(name, problem, shift, scale):
    losses = losses_of(problem)
    agent = registry.make(name)
    levels = shift * np.sin(np.arange(len(losses)))[:, None, None]
    expected = play(agent, losses)
    assert np.abs(play(agent, losses + levels) - expected).max() <= 1e-9
    assert np.abs(play(agent, scale * losses) - expected).max() <= 1e-9


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15, deadline=None)
@given(problem=problems)
def test_a_run_plays_the_same_alone_and_in_a_batch(name, problem):
    losses = losses_of(problem)
    agent = registry.make(name)
    together = play(agent, losses, len(losses))
    for run in range(losses.shape[1]):
        alone = play(agent, losses[:, run : run + 1], len(losses))
        assert np.abs(alone[:, 0] - together[:, run]).max() <= 1e-9


def edge_cases():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((30, 2, 4))
    spike = noise.copy()
    spike[10, :, 1] = 1e12
    becoming = noise.copy()
    becoming[15:] = 0.25
    return {
        "one action": noise[..., :1],
        "one round": noise[:1],
        "all zero": np.zeros_like(noise),
        "constant": np.broadcast_to(np.array([3.0, 1.0, 2.0, 1.0]), noise.shape),
        "a huge spike": spike,
        "constant from round 16 on": becoming,
        "tiny": 1e-250 * noise,
        "large": 1e100 * noise,
        "one run that never differs": noise * np.array([1.0, 0.0])[:, None],
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("horizon", [None, 1, 12, 10**6])
@pytest.mark.parametrize("case", edge_cases())
def test_play_stays_on_the_simplex(name, horizon, case):
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        policies = play(registry.make(name), edge_cases()[case], horizon)
    assert not off_simplex(policies).any()


@pytest.mark.parametrize("name", NAMES)
def test_play_is_uniform_while_nothing_tells_the_actions_apart(name):
    losses = np.zeros((12, 2, 5)) + np.arange(12)[:, None, None]
    assert np.abs(play(registry.make(name), losses, 12) - 0.2).max() <= 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_a_constant_advantage_is_found(name):
    losses = np.zeros((50, 1, 4))
    losses[..., 2] = -1.0
    assert play(registry.make(name), losses, 50)[-1, 0, 2] >= 0.9


def test_state_is_linear_in_the_actions():
    def numbers(num_actions):
        features = LossFeatures(num_actions, None, 1)
        return sum(value.size for value in vars(features).values() if isinstance(value, np.ndarray))

    assert numbers(2000) - numbers(1000) == numbers(3000) - numbers(2000)


def test_decayed_sums_are_what_they_say():
    losses = np.random.default_rng(3).standard_normal((40, 5, 2))  # (rounds, actions, runs)
    features = LossFeatures(5, 40, 2)
    for row in losses:
        features.observe(row)
    centered = losses - losses.mean(1, keepdims=True)
    scale = np.sqrt((centered**2).sum(1).mean(0) / 4)
    ages = np.arange(40)[::-1, None, None]
    for rounds in (2, 4, 8, 16):
        decay = np.exp(-ages / rounds)
        expected = (decay * centered).sum(0) / scale / np.sqrt((decay**2).sum(0))
        found = features.tokens[TOKEN_FEATURES.index(f"losses of the last {rounds} rounds")]
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(features.tokens[0], centered.sum(0) / scale / np.sqrt(40), rtol=1e-9)
    assert len(features.tokens) == len(TOKEN_FEATURES) and len(features.context) == len(CONTEXT_FEATURES)
    assert len(features.experts) == len(EXPERTS)


def test_the_expert_is_predictive_regret_matching():
    losses = np.random.default_rng(3).standard_normal((40, 2, 5))
    expected = play(registry.make("predictive-rm+"), losses)
    features = LossFeatures(5, 40, 2)
    for row, policies in zip(losses, expected, strict=True):
        np.testing.assert_allclose(features.experts[-1].T, policies, atol=1e-9)
        features.observe(row.T)


def test_torch_is_not_imported():
    code = (
        "import sys; from regret_envs.agents import make; import numpy as np\n"
        "agent, rng = make('universal-safe'), np.random.default_rng(0)\n"
        "agent.reset(3, horizon=5, num_runs=2, rng=rng)\n"
        "agent.act(); agent.observe(np.ones((2, 3))); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class TestWeights:
    def test_what_is_wrong_is_named(self, tmp_path):
        good = {name: np.zeros(shape) for name, shape in SHAPES.items()}
        path = tmp_path / "weights.npz"
        for change, message in [
            ({"bias_in": np.zeros(3)}, "bias_in"),
            ({"bias_out": np.full(SHAPES["bias_out"], np.nan)}, "bias_out"),
            ({"other": np.zeros(1)}, "other"),
            ({"bias_in": np.array([object()])}, "weights"),
        ]:
            np.savez(path, **{**good, **change})
            with pytest.raises(ValueError, match=message):
                read_weights(path)
        np.savez(path, **{k: v for k, v in good.items() if k != "gate_out"})
        with pytest.raises(ValueError, match="gate_out"):
            read_weights(path)
        path.write_bytes(b"no archive")
        with pytest.raises(ValueError, match="does not hold"):
            read_weights(path)

    def test_own_weights_play_and_are_part_of_the_identity(self, tmp_path):
        path = tmp_path / "mine.npz"
        np.savez(path, **{name: np.zeros(shape) for name, shape in SHAPES.items()})
        spec = f"universal[weights={path}]"
        assert not off_simplex(play(registry.make(spec), np.ones((3, 2, 4)))).any()
        first = registry.source_hash(spec)
        np.savez(path, **{name: np.ones(shape) for name, shape in SHAPES.items()})
        assert None not in (first, registry.source_hash(spec)) and first != registry.source_hash(spec)
        assert registry.source_hash("universal-safe") == registry.source_hash("universal")
        assert isinstance(registry.make("universal"), Universal)
