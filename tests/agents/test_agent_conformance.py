"""What every built-in agent must do: a new agent is tested by being registered.

`check_agent` holds them to what any agent must do; the rest here is asked of built-in agents alone.
"""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from conftest import play_on

from regret_envs.agents import AGENTS, Agent, make
from regret_envs.metrics import REGRETS, off_simplex
from regret_envs.testing import check_agent

# Agents whose play depends on the level of the losses and not on their differences alone.
# What attention was trained to is nearly free of it; at d = 3 and T = 20 the first two play that too.
SHIFT_DEPENDENT = {
    "ucb1",
    "thompson",
    "linear-attention",
    "swap-attention",
    "linear-attention-trained",
    "swap-attention-trained",
    "transformer-2",
    "transformer-4",
}
# Agents that break ties, or try actions, in their order.
ORDER_DEPENDENT = {"ucb1", "thompson"}
# Agents that draw from their generator, so that calls more or fewer change what comes.
RANDOM = {"thompson"}


def agent_of(name, num_actions=3, horizon=20):
    """The agent, where its extra is installed and it can play the problem."""
    requires = AGENTS[name].requires
    if requires and importlib.util.find_spec(requires) is None:
        pytest.skip(f"needs the extra {requires!r}")
    agent = make(name)
    reason = agent.unsupported(num_actions, horizon=horizon)
    if reason is not None:
        pytest.skip(reason)
    return agent


def begin(agent, num_actions, num_runs, horizon=20):
    agent.reset(num_actions, horizon=horizon, num_runs=num_runs, rng=np.random.default_rng(5))
    return agent


def play_as(name, losses, horizon=20):
    _, num_runs, num_actions = losses.shape
    return play_on(begin(agent_of(name, num_actions, horizon), num_actions, num_runs, horizon), losses)


def losses_of(num_actions, num_runs, num_rounds=8, seed=0):
    return np.random.default_rng(seed).normal(size=(num_rounds, num_runs, num_actions))


@pytest.mark.parametrize("name", AGENTS)
class TestEveryAgent:
    def test_says_what_it_is(self, name):
        entry, agent = AGENTS[name], agent_of(name)
        assert isinstance(agent, Agent)
        assert entry.bounds == agent.bounds and entry.bounds in {"", *REGRETS, "tracking", "adaptive"}
        assert entry.takes == agent.takes
        if agent.bounds:
            assert agent.reference and agent.guarantee
        assert len(entry.summary) <= 60
        assert repr(agent).startswith(type(agent).__name__ + "(")

    def test_conforms(self, name):
        findings = check_agent(agent_of(name, horizon=20))
        drawing = {
            "plays a run alike alone and among others",
            "plays the same when asked again before it is shown losses",
        }
        assert {f.what for f in findings if f.status == "advice"} <= (drawing if name in RANDOM else set())

    @pytest.mark.parametrize("horizon", [None, 6])
    @pytest.mark.parametrize("num_actions", [1, 7])
    def test_policies_are_float64_and_sum_to_1_to_rounding(self, name, num_actions, horizon):
        policies = play_as(name, losses_of(num_actions, 3, horizon or 6), horizon)
        assert policies.shape == (horizon or 6, 3, num_actions) and policies.dtype == np.float64
        assert np.abs(policies.sum(-1) - 1).max() < 1e-12

    def test_a_constant_changes_nothing(self, name):
        if name in SHIFT_DEPENDENT:
            pytest.skip("the play depends on the level of the losses")
        losses = losses_of(3, 2)
        shift = np.random.default_rng(1).normal(size=(len(losses), 2, 1))
        assert np.allclose(play_as(name, losses + shift), play_as(name, losses), rtol=0, atol=1e-9)

    def test_permuting_actions_permutes_play(self, name):
        if name in ORDER_DEPENDENT:
            pytest.skip("the play depends on the order of the actions")
        losses, order = losses_of(4, 2), np.array([2, 0, 3, 1])
        assert np.allclose(
            play_as(name, losses[..., order]), play_as(name, losses)[..., order], rtol=0, atol=1e-9
        )

    @pytest.mark.parametrize("scale", [0.0, 1e-200, 1e-12, 1e6, 1e150])
    def test_losses_of_any_size(self, name, scale):
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            policies = play_as(name, scale * losses_of(3, 4, num_rounds=20))
        assert not off_simplex(policies).any()

    def test_losses_of_other_types_and_layouts(self, name):
        losses = losses_of(3, 4).astype(np.float32)
        expected = play_as(name, losses.astype(np.float64))
        assert np.allclose(play_as(name, losses), expected, rtol=0, atol=1e-12)
        strided = np.zeros((8, 8, 6))
        strided[:, ::2, ::2] = losses
        assert np.array_equal(play_as(name, strided[:, ::2, ::2]), expected)
        by_run = np.ascontiguousarray(losses.transpose(0, 2, 1).astype(np.float64)).transpose(0, 2, 1)
        assert np.allclose(play_as(name, by_run), expected, rtol=0, atol=1e-12)

    def test_arrays_are_left_alone(self, name):
        losses = losses_of(3, 2)
        expected = play_as(name, losses)
        agent, kept, shown = begin(agent_of(name), 3, 2), [], np.empty((2, 3))
        for row in losses:
            kept.append(agent.act())
            shown.flags.writeable = True
            shown[...] = row
            shown.flags.writeable = False
            agent.observe(shown)
        assert np.array_equal(kept, expected)

    def test_a_copy_is_unplayed_and_apart(self, name):
        losses = losses_of(3, 2)
        agent = agent_of(name)
        copy = agent.as_copy(3)
        assert type(copy) is type(agent) and copy is not agent
        before = repr(agent)
        play_on(begin(copy, 3, 2), losses)
        assert repr(agent) == before
        assert np.array_equal(play_on(begin(agent, 3, 2), losses), play_as(name, losses))
