"""What policies are trained on, and that they are not judged on it."""

from __future__ import annotations

import numpy as np
import pytest

from regret_envs.agents.universal.families import BUILT_IN, draw, read_families
from regret_envs.benchmarks.tasks.core import SUITES, TASKS
from regret_envs.seeding import RunSeeds

FAMILIES = read_families()
JUDGED = [TASKS[id] for suite in ("core", "nonstationary", "held-out") for id in SUITES[suite].tasks]
SETTINGS_WITH_DEFAULTS = {
    "streams.bernoulli": {"mean": 0.5},
    "streams.switching": {"mean": 0.5, "gap": 0.25},
    "streams.drifting": {"noise_scale": 1.0},
}


def reach(law):
    """The least and the greatest value of a range of numbers, or the set of its choices."""
    if isinstance(law, dict):
        return {str(c) for c in law["choices"]} if "choices" in law else tuple(law["log"])
    return tuple(law) if isinstance(law, list) else {str(law)}


def near(law, value):
    """Whether a setting of a task lies within 20 % of what a family draws."""
    covered = reach(law)
    if isinstance(covered, tuple):
        return 0.8 * covered[0] <= value <= 1.25 * covered[1]
    numbers = [float(c) for c in covered if isinstance(value, float)]
    return any(abs(n - value) <= 0.1 * abs(value) for n in numbers) if numbers else str(value) in covered


@pytest.mark.parametrize("task", JUDGED, ids=lambda task: task.id)
def test_no_family_has_a_neighborhood_of_a_judged_task(task):
    settings = {**SETTINGS_WITH_DEFAULTS.get(task.world, {}), **task.settings}
    for family in FAMILIES:
        if family.world != task.world:
            continue
        laws = {"num_actions": family.num_actions, **family.settings}
        # Whatever the horizon: a law that a family draws must differ in a setting.
        assert not all(near(laws[k], v) for k, v in settings.items() if k in laws), family.name


def test_held_out_shares_no_law_with_a_family():
    trained = {family.world for family in FAMILIES}
    for id in SUITES["held-out"].tasks:
        # Random games of other sizes are a family, in self-play; the test above holds the sizes.
        assert TASKS[id].world not in trained or TASKS[id].world == "games.random_games"


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_families_can_be_played(family):
    for seed in range(8):
        world, horizon, _ = family.sample(np.random.default_rng(seed))
        seats = world.seats(getattr(world, "num_players", 1))
        episode = world.start(num_agents=len(seats), horizon=horizon, seeds=RunSeeds(seed, 3))
        for _ in range(3):
            losses = episode.step([np.full((3, d), 1 / d) for d in seats])
            assert [loss.shape for loss in losses] == [(3, d) for d in seats]
            assert all(np.isfinite(loss).all() for loss in losses)


def test_draw():
    rng = np.random.default_rng(0)
    assert {draw([1, 3], rng) for _ in range(60)} == {1, 2, 3}
    assert {draw({"choices": ["a", "b"]}, rng) for _ in range(60)} == {"a", "b"}
    values = [draw({"log": [1.0, 100.0]}, rng) for _ in range(2000)]
    assert np.mean(np.array(values) < 10) == pytest.approx(0.5, abs=0.06)
    assert draw(0.3, rng) == 0.3
    with pytest.raises(ValueError, match="choices"):
        draw({"choice": [1]}, rng)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('world = "streams.bernoulli"', 'world = "streams.bernouli"'), "bernoulli"),
        (('name = "bernoulli"', 'name = "drifting"'), "names"),
        (("weight = 1.3", "weight = 0.0"), "weight"),
        (("gap = [0.02, 0.22]", "gab = [0.02, 0.22]"), "gab"),
        (("weight = 1.3", "wait = 1.3"), "wait"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, change, message):
    path = tmp_path / "families.toml"
    text = BUILT_IN.read_text(encoding="utf-8")
    assert change[0] in text
    path.write_text(text.replace(*change, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_families(path)
    with pytest.raises(ValueError, match="cannot be read"):
        read_families(tmp_path / "none.toml")
