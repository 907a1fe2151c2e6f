"""AdaHedge over agents."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regret_envs import simulate, streams
from regret_envs.agents import make
from regret_envs.agents.registry import SpecError, canonical
from regret_envs.names import UnknownNameError


def test_regret_is_within_what_the_members_have_and_the_meta_term():
    # Against losses that were fixed before play a member plays the same alone.
    members = ("ftl", "hedge", "rm+", "uniform")
    for world, scale in [
        (streams.Alternating(3), 1.0),
        (streams.SwitchingBest(4, phase_length=20), 1.0),
        (streams.Recorded(1e6 * np.random.default_rng(0).random((200, 5))), 1e6),
    ]:

        def regrets(spec, world=world):
            return simulate(world, make(spec), horizon=200, num_runs=8, seed=1).regret("external")

        best = np.min([regrets(member) for member in members], axis=0)
        meta = scale * (math.sqrt(200 * math.log(4)) + 4 / 3 * math.log(4) + 2)
        assert (regrets(f"hedged[members=({','.join(members)})]") <= best + meta).all()


def test_one_member_plays_alone():
    world = streams.Gaussian(4)
    alone, hedged = (
        simulate(world, make(spec), horizon=30, num_runs=3, seed=2, record=("policies",)).policies[0]
        for spec in ("rm+", "hedged[members=(rm+,)]")
    )
    np.testing.assert_allclose(hedged, alone, atol=1e-15)


def test_the_number():
    # Hedge's ρ sqrt(T ln d / 2) for ρ = 2, and AdaHedge's for two members.
    expected = 2 * math.sqrt(40 * math.log(3) / 2) + 2 * (
        math.sqrt(40 * math.log(2)) + 4 / 3 * math.log(2) + 2
    )
    assert make("hedged[members=(ftl,hedge)]").regret_bound(3, 40, 2.0) == pytest.approx(expected)
    assert make("hedged[members=(ftl,uniform)]").regret_bound(3, 40, 2.0) is None
    assert make("hedged[members=(internal-rm,uniform)]").regret_bound(3, 40, 2.0) is None


def test_specs():
    assert (
        canonical("hedged[members=( hedge[step_size=0.50] ,rm+)]")
        == "hedged[members=(hedge[step_size=0.5],rm+)]"
    )
    spec = "hedged[members=(hedged[members=(ftl,rm+)],uniform)]"
    assert canonical(spec) == spec
    assert len(make(spec).members) == 2
    with pytest.raises(UnknownNameError, match="hedge"):
        make("hedged[members=(hegde,rm+)]")
    with pytest.raises(SpecError, match="at least one"):
        make("hedged[members=()]")
    with pytest.raises(SpecError, match="bandit"):
        make("hedged[members=(exp3,rm+)]")
