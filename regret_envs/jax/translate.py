"""From agents to rules: the rule that plays as an agent of `regret_envs.agents` does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from regret_envs import agents
from regret_envs.agents import Agent, registry
from regret_envs.arrays import FloatArray
from regret_envs.jax.attention import Attention, linear_attention, swap_attention
from regret_envs.jax.bandits import exp3, tsallis_inf
from regret_envs.jax.matching import (
    internal_regret_matching,
    predictive_regret_matching_plus,
    regret_matching,
    regret_matching_plus,
)
from regret_envs.jax.numbers import NoFormError
from regret_envs.jax.rule import Rule, State
from regret_envs.jax.rules import (
    adahedge,
    fixed_share,
    follow_the_leader,
    hedge,
    online_gradient_descent,
    optimistic_hedge,
    uniform,
)
from regret_envs.jax.swap import blum_mansour


def make(spec: str) -> Rule:
    """The rule that plays as the agent of a spec, such as `make("blum-mansour[copies=rm+]")`.

    Raises:
        NoFormError: if that agent has no form as a rule; says which have.
        Other errors: as `regret_envs.agents.make`.
    """
    return from_agent(registry.make(spec))


def from_agent(agent: Agent) -> Rule:
    """The rule that plays as an agent.

    Raises:
        NoFormError: if there is none; says which agents have one.
    """
    # By exact type: a subclass may play otherwise.
    if translated := _RULES.get(type(agent)):
        return translated(agent)
    if type(agent).__module__.startswith("regret_envs.agents.attention.") and (rule := _attention(agent)):
        return rule
    known = ", ".join(sorted(kind.__name__ for kind in _RULES))
    raise NoFormError(
        f"{agent!r} has no rule in regret_envs.jax: there are {known}, linear and swap attention"
    )


_RULES: dict[type[Agent], Callable[[Any], Rule]] = {
    agents.Uniform: lambda agent: uniform(),
    agents.FollowTheLeader: lambda agent: follow_the_leader(),
    agents.Hedge: lambda agent: hedge(agent.step_size),
    agents.OptimisticHedge: lambda agent: optimistic_hedge(agent.step_size),
    agents.AdaHedge: lambda agent: adahedge(),
    agents.OnlineGradientDescent: lambda agent: online_gradient_descent(agent.step_size),
    agents.RegretMatching: lambda agent: regret_matching(),
    agents.RegretMatchingPlus: lambda agent: regret_matching_plus(),
    agents.PredictiveRegretMatchingPlus: lambda agent: predictive_regret_matching_plus(),
    agents.InternalRegretMatching: lambda agent: internal_regret_matching(),
    agents.FixedShare: lambda agent: fixed_share(
        agent.num_switches, step_size=agent.step_size, share=agent.share
    ),
    agents.BlumMansour: lambda agent: blum_mansour(from_agent(agent.copies)),
    agents.Exp3: lambda agent: exp3(agent.step_size, loss_range=agent.loss_range),
    agents.TsallisINF: lambda agent: tsallis_inf(loss_range=agent.loss_range),
}


def _attention(agent: Agent) -> Rule | None:
    """The rule of an attention model, of its checkpoint, or of the agent at its stationary point."""
    from regret_envs.agents.attention import builtin, checkpoint, linear, swap

    playing: Any = agent.model if isinstance(agent, checkpoint.Checkpoint) else agent
    if isinstance(playing, (linear.LinearAttention, builtin.LinearAttentionAgent)):
        parameters, make_rule, name = _linear_parameters, linear_attention, "linear_attention()"
    elif isinstance(playing, (swap.SwapAttention, builtin.SwapAttentionAgent)):
        parameters, make_rule, name = _swap_parameters, swap_attention, "swap_attention()"
    else:
        return None

    def begin(num_actions: int, horizon: int | None) -> State:
        # Which model it is, and its factor, depend on the problem.
        if reason := agent.unsupported(num_actions, horizon=horizon):
            raise ValueError(reason)
        model = playing
        if isinstance(model, builtin.TheoreticalAgent):
            model = model.playing(num_actions, horizon)
        return make_rule(parameters(model, horizon)).init(num_actions, horizon)

    some = make_rule(Attention(0, 0, 0))
    return some._replace(init=begin, name=name)


def _linear_parameters(model: Any, horizon: int | None) -> Attention:
    if model.operator != "softmax":
        raise NoFormError(f"{model!r} has no rule in regret_envs.jax: its operator is not the softmax")
    value, value_bias, score, score_bias = (_numpy(x) for x in model.reduced())
    return Attention(value, value_bias, score, score_bias, _numpy(model.horizon_factor(horizon)))


def _swap_parameters(model: Any, horizon: int | None) -> Attention:
    d = model.num_actions
    value, score = _numpy(model.value), _numpy(model.score)
    if model.form == "block":
        # Head j sees block j alone.
        value = (np.eye(d)[:, None, :, None] * value[:, :, None]).reshape(d, d, d * d)
        score = (np.eye(d)[:, :, None] * score[:, None]).reshape(d, d * d)
    factor = model.logit_scale * _numpy(model.horizon_factor(horizon))
    return Attention(value, _numpy(model.value_bias), score, 1.0, factor)


def _numpy(tensor: Any) -> FloatArray:
    return np.asarray(tensor.detach().cpu() if hasattr(tensor, "detach") else tensor, dtype=np.float64)
