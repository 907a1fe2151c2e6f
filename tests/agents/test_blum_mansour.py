"""Blum–Mansour: the identity that makes it work, closed forms, and copies of any kind."""

from __future__ import annotations

import numpy as np
import pytest

from regret_envs import games, metrics, simulate
from regret_envs.agents import AGENTS, Agent, BlumMansour, FollowTheLeader, Hedge, SingleRunAgent, make

EXTERNAL = [name for name, entry in AGENTS.items() if entry.bounds == "external" and not entry.requires]


class Watched(Agent):
    """Hands everything through and keeps the play–loss matrix of what it was shown."""

    def __init__(self, agent, log):
        self.agent, self.log = agent, log

    def reset(self, num_actions, *, horizon, num_runs, rng):
        self.agent.reset(num_actions, horizon=horizon, num_runs=num_runs, rng=rng)

    def act(self):
        self.policies = self.agent.act()
        return self.policies

    def observe(self, losses):
        self.log.append((self.policies.copy(), losses.copy()))
        self.agent.observe(losses)

    def as_copy(self, num_copies):
        return Watched(self.agent.as_copy(num_copies), self.log)


@pytest.mark.parametrize("name", EXTERNAL)
def test_swap_regret_is_the_sum_of_the_copies_external_regrets(name):
    game, num_runs, log = games.random_game((4, 3), seed=2), 5, []
    agents = [BlumMansour(Watched(make(name), log)), make("hedge")]
    play = simulate(game, agents, horizon=60, num_runs=num_runs, starting_loss_scale=0.0)
    policies, losses = (np.array(x) for x in zip(*log, strict=True))
    regrets = metrics.external_regret(metrics.play_loss_matrix(policies, losses))
    # Copy i of run r is row i · num_runs + r.
    assert np.allclose(regrets.reshape(4, num_runs).sum(0), play.regret("swap")[0], rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", EXTERNAL)
def test_the_policy_is_a_fixed_point_of_the_proposals(name):
    log = []
    agent = BlumMansour(Watched(make(name), log))
    agent.reset(4, horizon=10, num_runs=3, rng=np.random.default_rng(0))
    for row in np.random.default_rng(1).normal(size=(10, 3, 4)):
        policies = agent.act()
        agent.observe(row)
        proposals, shares = (x.reshape(4, 3, 4) for x in log[-1])
        assert np.allclose(np.einsum("ri,irj->rj", policies, proposals), policies, rtol=0, atol=1e-12)
        assert np.allclose(shares, policies.T[:, :, None] * row, rtol=1e-15)


def test_closed_form_on_weighted_rock_paper_scissors():
    gaps = simulate(games.weighted_rps(), [BlumMansour(), BlumMansour()], horizon=20).gaps()
    assert gaps.ce.max == pytest.approx([0.0617213], abs=1e-7)
    assert gaps.swap.max == pytest.approx([0.1040524], abs=1e-7)
    assert gaps.cce.max == pytest.approx([0.1040524], abs=1e-7)


def policies_of(agent, horizon=20):
    game = games.random_game((3, 4), seed=1)
    other = Hedge(step_size=0.3)
    play = simulate(game, [agent, other], horizon=20, record="policies", horizon_known=horizon is not None)
    return play.policies[0]


def test_the_default_step_is_d_times_that_of_hedge():
    explicit = BlumMansour(Hedge(step_size=3 * np.sqrt(2 * np.log(3) / 20)))
    assert np.allclose(policies_of(BlumMansour()), policies_of(explicit), rtol=0, atol=1e-14)
    assert np.array_equal(policies_of(BlumMansour(Hedge())), policies_of(BlumMansour()))
    anytime = policies_of(BlumMansour(Hedge(step_size="anytime")))
    assert np.array_equal(anytime, policies_of(BlumMansour(), horizon=None))
    assert not np.allclose(anytime, policies_of(BlumMansour()))


def test_a_copy_of_the_reduction_multiplies_again():
    nested = BlumMansour().as_copy(5).copies.as_copy(3)
    nested.reset(3, horizon=20, num_runs=1, rng=np.random.default_rng(0))
    nested.observe(np.array([[0.01, 0.0, 0.0]]))
    logits = np.log(nested.act()[0])
    assert logits[1] - logits[0] == pytest.approx(0.01 * 15 * np.sqrt(2 * np.log(3) / 20))


def test_its_agent_is_a_pattern_that_is_never_played():
    pattern = FollowTheLeader()
    policies_of(BlumMansour(pattern))
    assert not hasattr(pattern, "_cumulative")


class Slow(SingleRunAgent):
    """Hedge with step 1/2, one run at a time."""

    def reset_run(self, num_actions, *, horizon, rng):
        self.total = np.zeros(num_actions)

    def act_run(self):
        weights = np.exp(-0.5 * self.total)
        return weights / weights.sum()

    def observe_run(self, losses):
        self.total = self.total + losses


def test_copies_may_be_written_for_one_run():
    expected = policies_of(BlumMansour(Hedge(step_size=0.5)))
    assert np.allclose(policies_of(BlumMansour(Slow())), expected, rtol=0, atol=1e-12)


def test_what_the_copies_cannot_play_it_cannot_either():
    class OnlyThree(Hedge):
        def unsupported(self, num_actions, *, horizon):
            return None if num_actions == 3 else "three actions only"

    assert BlumMansour(OnlyThree()).unsupported(3, horizon=1) is None
    assert BlumMansour(OnlyThree()).unsupported(4, horizon=1) == "three actions only"


def test_copies_must_be_an_agent():
    with pytest.raises(TypeError, match="copies must be an agent, got 3"):
        BlumMansour(copies=3)
