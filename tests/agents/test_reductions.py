"""Every reduction over every agent: what the copies need is forwarded, or is a reason not to play."""

from dataclasses import fields

import numpy as np
import pytest

from regret_envs import simulate, streams
from regret_envs.agents import AGENTS, Exp3, Exp3IX, registry
from regret_envs.agents.base import Reduction
from regret_envs.feedback import Bandit, unfit

REDUCTIONS = ("blum-mansour", "tree-swap", "strongly-adaptive")
COPIES = [name for name, entry in AGENTS.items() if entry.requires is None]


def test_the_reductions_are_those_with_copies():
    made = {name: registry.make(name) for name in COPIES}
    reductions = {name for name, agent in made.items() if isinstance(agent, Reduction)}
    with_copies = {
        name
        for name, agent in made.items()
        if hasattr(type(agent), "__dataclass_fields__") and "copies" in {f.name for f in fields(agent)}
    }
    assert set(REDUCTIONS) <= reductions == with_copies


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_every_reduction_over_every_agent(reduction, copies):
    agent, copied = registry.make(f"{reduction}[copies={copies}]"), registry.make(copies)
    assert agent.takes == copied.takes
    reason = agent.unsupported(3, horizon=8)
    if copied.sees_own_draw or copied.unsupported(3, horizon=8):
        assert reason
        return
    if reason:
        return
    layers = [Bandit()] if agent.takes == "bandit" else []
    assert unfit(agent, layers) is None
    play = simulate(streams.Bernoulli(3), agent, horizon=8, num_runs=2, feedback=layers)
    assert np.isfinite(play.regret()).all()


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_implicit_exploration_arrives(reduction):
    ix, plain = (registry.make(f"{reduction}[copies={name}]") for name in ("exp3-ix", "exp3"))
    for agent in (ix, plain):
        agent.reset(3, horizon=50, num_runs=1, rng=np.random.default_rng(0))
    copy = Exp3IX()
    copy.reset(
        3, horizon=1 if reduction == "strongly-adaptive" else 50, num_runs=1, rng=np.random.default_rng(0)
    )
    assert ix.implicit_exploration > 0 == plain.implicit_exploration
    plays = [
        simulate(streams.Bernoulli(3), agent, horizon=200, seed=3, feedback=Bandit()).play_losses[0]
        for agent in (ix, plain)
    ]
    assert not np.array_equal(*plays)


def test_with_one_action_to_choose_blum_mansour_explores_as_its_copy_does():
    both = []
    for agent in (Exp3IX(), registry.make("blum-mansour[copies=exp3-ix]")):
        agent.reset(1, horizon=50, num_runs=1, rng=np.random.default_rng(0))
        both.append(agent.implicit_exploration)
    assert both[0] == both[1]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("copies", ["thompson", "ucb1"])
def test_copies_that_must_see_their_own_draws_are_refused(reduction, copies):
    reason = registry.make(f"{reduction}[copies={copies}]").unsupported(3, horizon=100)
    assert reason and "must see the loss of the action that they drew themselves" in reason


def test_copies_must_be_agents():
    with pytest.raises(registry.SpecError, match="copies must be an agent"):
        registry.make("tree-swap[copies=3]")
    assert Exp3().takes == "bandit"
