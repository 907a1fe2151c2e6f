"""Guarantees against the worst of an adaptive adversary, alternating losses and i.i.d. losses."""

from __future__ import annotations

import math

import pytest

from regret_envs import simulate, streams
from regret_envs.agents import AGENTS, BlumMansour, FollowTheLeader, Hedge, make
from regret_envs.streams import AdaptiveAdversary

# Bandits' bounds are in expectation: see test_bandits.
BOUNDED = [n for n, entry in AGENTS.items() if entry.bounds and not entry.requires and entry.takes == "any"]
# universal-swap-safe holds a reduction already.
_COPIES = [n for n in BOUNDED if AGENTS[n].bounds == "external" and n != "universal-swap-safe"]
REDUCTIONS = [f"blum-mansour[copies={name}]" for name in _COPIES]


def worst_share(spec, num_actions, horizon):
    """The largest regret over the worlds, as a share of the bound."""
    worlds = [
        AdaptiveAdversary(num_actions),
        AdaptiveAdversary(num_actions, regret="swap"),
        streams.Alternating(num_actions),
        streams.Rademacher(num_actions),
        streams.Bernoulli(num_actions, gap=min(1 / math.sqrt(horizon), 0.5)),
        streams.SwitchingBest(num_actions, phase_length=math.ceil(horizon / 6)),
    ]
    shares = []
    for world in worlds:
        agent = make(spec)
        bound = agent.regret_bound(num_actions, horizon, world.loss_scale)
        record = ("policies", "losses") if agent.bounds in ("tracking", "adaptive") else ()
        play = simulate(world, agent, horizon=horizon, num_runs=16, seed=3, record=record)
        if agent.bounds == "tracking":
            regret = play.tracking_regret(agent.num_switches)
        else:
            regret = play.adaptive_regret() if agent.bounds == "adaptive" else play.regret(agent.bounds)
        shares.append(regret.max() / bound)
    return max(shares)


CELLS = [(2, 10), (2, 300), (3, 100), (7, 300)]

# What a bound is at least used by; less where the proof is generous: noise that is averaged over, all
# intervals cut into pieces, a potential that holds for every level of difficulty at once.
USED = {
    "internal-rm": 0.25,
    "oftrl-log-barrier": 0.15,
    "ftpl": 0.2,
    "adanormalhedge": 0.15,
    "squint": 0.2,
    "strongly-adaptive": 0.015,
    "tree-swap": 0.2,
    # AdaHedge's term over the members is a sum of two worst cases, and in 10 rounds a constant.
    "hedged": 0.15,
    "universal-safe": 0.1,
    "universal-swap-safe": 0.05,
    # A constant step, for self-play.
    "blum-mansour-log-barrier": 0.005,
}


@pytest.mark.parametrize(("num_actions", "horizon"), CELLS)
@pytest.mark.parametrize("name", BOUNDED)
def test_regret_is_within_its_bound_which_is_not_idle(name, num_actions, horizon):
    assert USED.get(name, 0.3) <= worst_share(name, num_actions, horizon) <= 1 + 1e-12


@pytest.mark.parametrize("spec", REDUCTIONS)
def test_swap_regret_over_any_copies_is_within_its_bound(spec):
    shares = [worst_share(spec, d, t) for d, t in CELLS]
    assert max(shares) <= 1 + 1e-12
    # Where copies do not share a bound, d whole ones are generous.
    generous = {"adahedge", "oftrl-tsallis", "oftrl-log-barrier", *USED}
    hedged = any(f"={name}]" in spec for name in ("hedged", "universal-safe"))
    assert max(shares) >= (0.05 if hedged else 0.15 if any(f"={name}]" in spec for name in generous) else 0.3)


@pytest.mark.parametrize("name", BOUNDED)
def test_one_action_has_no_regret(name):
    assert make(name).regret_bound(1, 50, 2.0) == 0.0


def test_the_numbers():
    # ln d / η + η ρ² T / 8 and the same at the default step, where it is ρ sqrt(T ln d / 2) for ρ = 2.
    assert Hedge(step_size=0.5).regret_bound(3, 40, 1.0) == pytest.approx(math.log(3) / 0.5 + 0.5 * 40 / 8)
    assert Hedge().regret_bound(3, 40, 2.0) == pytest.approx(2 * math.sqrt(40 * math.log(3) / 2))
    assert Hedge(step_size=0).regret_bound(3, 40, 1.0) == math.inf
    # (d + 1) sqrt(T ln d / 2) for ρ = 2.
    assert BlumMansour().regret_bound(5, 40, 2.0) == pytest.approx(6 * math.sqrt(40 * math.log(5) / 2))
    explicit = BlumMansour(Hedge(step_size=0.7)).regret_bound(3, 40, 1.0)
    assert explicit == pytest.approx(3 * math.log(3) / 0.7 + 0.7 * 40 / 8)


def test_no_number_without_a_guarantee():
    assert FollowTheLeader().regret_bound(3, 40, 1.0) is None
    assert BlumMansour(FollowTheLeader()).regret_bound(3, 40, 1.0) is None
    assert BlumMansour(make("stoltz-lugosi")).regret_bound(3, 40, 1.0) is None
