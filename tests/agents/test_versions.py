"""A built-in agent whose play changes has its version raised, so that its results are run again.

The play of every agent on a short probe is kept in `versions.json`. A change of it that is meant takes a
higher `version` in `agents/catalogue.py` (also for agents that contain the changed one), and then

    python tests/agents/test_versions.py

which writes what is new, and refuses to write what moved while its version did not.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from regret_envs import games, simulate
from regret_envs.agents import AGENTS, Hedge, make, registry
from regret_envs.agents.catalogue import OPPONENTS
from regret_envs.benchmarks.running.planning import plan
from regret_envs.benchmarks.tasks.core import TASKS
from regret_envs.feedback import Bandit
from regret_envs.streams import Recorded

STORED = Path(__file__).with_name("versions.json")
TOLERANCE = 1e-9
HORIZON, ROUNDS = 20, (0, 1, 4, 19)


def probe(name):
    """The policies of some rounds and two runs, as nested lists.

    The losses do not react to the agent, so that play is not chaotic, and their sums are 0.1 apart.
    """
    if name == "stackelberg-leader":
        agents, world = (
            [make("stackelberg-leader[follower=hedge]"), Hedge()],
            games.random_game((3, 2), seed=4),
        )
        play = simulate(world, agents, horizon=HORIZON, record="policies")
        return play.policies[0][list(ROUNDS)].tolist()
    t, action = np.ogrid[: 2 * HORIZON, :3]
    losses = (14 * t * t + 13 * t * action + 59 * action + 37 * t) % 101 / 101
    agent = make(name)
    layers = [Bandit()] if agent.takes == "bandit" else []
    world = Recorded(losses, window=HORIZON)
    play = simulate(world, agent, horizon=HORIZON, num_runs=2, feedback=layers, record="policies")
    return play.policies[0][list(ROUNDS)].tolist()


def installed(name):
    entry = {**AGENTS, **OPPONENTS}[name]
    return entry.requires is None or importlib.util.find_spec(entry.requires) is not None


@pytest.mark.parametrize("name", [*AGENTS, *OPPONENTS])
def test_play_that_moved_has_a_new_version(name):
    if not installed(name):
        pytest.skip("needs an extra")
    stored = json.loads(STORED.read_text())
    assert name in stored, f"a new agent: {__doc__}"
    version = {**AGENTS, **OPPONENTS}[name].version
    assert version == stored[name]["version"], f"the version is new: {__doc__}"
    moved = np.abs(np.subtract(probe(name), stored[name]["policies"])).max()
    assert moved <= TOLERANCE, f"{name} plays otherwise by up to {moved:.3g}. {__doc__}"


def test_versions_above_1_are_found_in_every_entry():
    for name, entry in {**AGENTS, **OPPONENTS}.items():
        found = registry.versions(name)
        assert found.get(name, 1) == entry.version and all(version > 1 for version in found.values())


def test_the_version_is_part_of_the_identity_of_whatever_contains_the_agent(monkeypatch):
    specs = ["hedge", "rm+", "blum-mansour[copies=hedge[step_size=1]]", "blum-mansour-rm+"]

    def keys():
        return [plan("s", [TASKS["weighted_rps_t20"]], [spec], runs=1, seed=0)[0].key for spec in specs]

    before = keys()
    for name, changed in (("hedge", {0, 2}), ("rm+", {1, 3})):
        with monkeypatch.context() as patch:
            entry = AGENTS[name]
            raised = registry.AgentEntry(entry.target, entry.summary, entry.settings, version=2)
            patch.setitem(AGENTS, name, raised)
            assert {i for i, key in enumerate(keys()) if key != before[i]} == changed
    assert keys() == before


def main():
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    refused = []
    for name, entry in {**AGENTS, **OPPONENTS}.items():
        if not installed(name):
            continue
        old, policies = stored.get(name), probe(name)
        if old and old["version"] == entry.version:
            if np.abs(np.subtract(policies, old["policies"])).max() > TOLERANCE:
                refused.append(name)
            continue
        stored[name] = {"version": entry.version, "policies": policies}
    known = {name: stored[name] for name in sorted({*AGENTS, *OPPONENTS} & stored.keys())}
    lines = [f"{json.dumps(name)}: {json.dumps(kept)}" for name, kept in known.items()]
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    if refused:
        raise SystemExit(f"{', '.join(refused)} moved: raise the version in agents/catalogue.py first")


if __name__ == "__main__":
    main()
