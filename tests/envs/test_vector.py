"""The native vector environment: seeds, attributes, ends and resets of its runs."""

import gymnasium
import numpy as np
import pytest

from regret_envs import simulate, streams
from regret_envs.agents import Hedge
from regret_envs.envs.episodes import EpisodeError

pytest.importorskip("gymnasium", minversion="1.1")

STREAM = streams.BiasedGaussian(3)


def vector(num_envs=3, **options):
    return gymnasium.make_vec("regret_envs/Experts-v1", num_envs=num_envs, stream=STREAM, **options)


@pytest.mark.parametrize("feedback", ["full", "bandit"])
def test_a_list_of_seeds_gives_every_run_its_own(feedback):
    seeds, actions = [7, 2, 7], np.full((3, 3), 1 / 3)
    batch = vector(horizon=5, feedback=feedback)
    batch.reset(seed=seeds)
    steps = [batch.step(actions) for _ in range(5)]
    for r, seed in enumerate(seeds):
        single = gymnasium.make("regret_envs/Experts-v1", stream=STREAM, horizon=5, feedback=feedback)
        single.reset(seed=seed)
        for step in steps:
            observation, reward, _, _, info = single.step(actions[r])
            np.testing.assert_array_equal(step[0][r], observation)
            np.testing.assert_array_equal(step[4]["losses"][r], info["losses"])
            assert step[1][r] == reward
    with pytest.raises(ValueError, match="2 seeds for 3 environments"):
        batch.reset(seed=[1, 2])


def test_attributes_of_the_runs_of_a_batch():
    batch = vector(horizon=5, action_mode="softmax")
    assert batch.get_attr("horizon") == batch.call("horizon") == (5, 5, 5)
    assert batch.get_attr("action_space") == (batch.single_action_space,) * 3
    assert [masks.tolist() for masks in batch.call("action_masks")] == [[True] * 3] * 3
    batch.set_attr("horizon", 1)
    batch.reset(seed=0)
    assert batch.step(np.zeros((3, 3)))[2].all()
    batch.set_attr("horizon", [2, 2, 2])
    assert batch.horizon == 2
    with pytest.raises(ValueError, match="share their settings"):
        batch.set_attr("horizon", [2, 2, 3])
    with pytest.raises(AttributeError, match="for all runs of a batch at once"):
        batch.call("reset")
    with pytest.raises(AttributeError, match="horizn"):
        batch.get_attr("horizn")
    with pytest.raises(ValueError, match='vectorization_mode="sync"'):
        vector(render_mode="rgb_array")


@pytest.mark.parametrize("spelling", ["SAME_STEP", "same_step", "SameStep", "same-step", "samestep"])
def test_autoreset_modes_in_any_spelling(spelling):
    assert vector(autoreset_mode=spelling).autoreset_mode.value == "SameStep"


def test_some_runs_are_reset_and_the_others_go_on():
    actions = np.random.default_rng(0).dirichlet(np.ones(3), (8, 4))
    batch, whole = (vector(4, horizon=5, action_mode="strict", autoreset_mode="Disabled") for _ in range(2))
    for environment in (batch, whole):
        environment.reset(seed=3)
        environment.step(actions[0])
        environment.step(actions[1])
    mask = np.array([False, True, False, True])
    observations, _ = batch.reset(seed=8, options={"reset_mask": mask})
    assert (observations[mask, 0] == 0).all() and (observations[~mask, 0] == np.float32(0.4)).all()
    fresh = simulate(STREAM, Hedge(), horizon=5, num_runs=2, seed=8, record="losses").losses[0]
    for t in range(2, 5):
        ours, theirs = batch.step(actions[t]), whole.step(actions[t])
        np.testing.assert_array_equal(ours[0][~mask], theirs[0][~mask])
        np.testing.assert_array_equal(ours[1][~mask], theirs[1][~mask])
        np.testing.assert_array_equal(ours[4]["losses"][mask], fresh[t - 2])
        np.testing.assert_allclose(ours[4]["policy"], actions[t], rtol=1e-15)
        np.testing.assert_array_equal(ours[2], ~mask & (t == 4))
    with pytest.raises(EpisodeError, match=r"over in runs \[0, 2\]"):
        batch.step(actions[5])
    batch.reset(options={"reset_mask": ~mask})
    assert not batch.step(actions[5])[2].any()
    np.testing.assert_array_equal(batch.step(actions[6])[2], mask)
    batch.reset(options={"reset_mask": mask})
    np.testing.assert_array_equal(batch.step(actions[7])[0][:, 0], np.float32([0.6, 0.2, 0.6, 0.2]))
    batch.reset(seed=3)
    whole.reset(seed=3)
    np.testing.assert_equal(batch.step(actions[0]), whole.step(actions[0]))
    for wrong in (np.zeros(4, bool), np.array([True, False])):
        with pytest.raises(ValueError, match="reset_mask must say of 4 runs"):
            batch.reset(options={"reset_mask": wrong})


def test_what_is_done_to_the_arrays_that_are_returned_changes_nothing():
    actions = np.full((3, 3), 1 / 3)
    batch, other = vector(horizon=4), vector(horizon=4)
    for environment in (batch, other):
        environment.reset(seed=0)
    for _ in range(4):
        observations, rewards, terminations, truncations, infos = batch.step(actions)
        np.testing.assert_equal(
            (observations, rewards, terminations, truncations, infos), other.step(actions)
        )
        for array in (observations, rewards, terminations, truncations, *infos.values()):
            array[...] = 1


@pytest.mark.parametrize("ends", ["terminated", "truncated"])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_how_the_horizon_ends(ends, mode):
    batch = vector(horizon=2, horizon_ends=ends, autoreset_mode=mode)
    batch.reset(seed=0)
    for over in (False, True):
        terminations, truncations = batch.step(np.ones((3, 3)))[2:4]
        assert (terminations == (over and ends == "terminated")).all()
        assert (truncations == (over and ends == "truncated")).all()


def test_seeds_of_numpy():
    batch, other = vector(), vector()
    np.testing.assert_equal(batch.reset(seed=np.int64(5)), other.reset(seed=5))
    np.testing.assert_equal(batch.reset(seed=np.array([3, 1, 2])), other.reset(seed=[3, 1, 2]))
    np.testing.assert_equal(batch.step(np.ones((3, 3))), other.step(np.ones((3, 3))))
    for wrong, error in ((-1, ValueError), (1.5, TypeError), ([1, 2, "5"], TypeError)):
        with pytest.raises(error, match="seed must be"):
            batch.reset(seed=wrong)


def test_presets_with_discrete_actions():
    batch = gymnasium.make_vec("regret_envs/ShapleyDiscrete-v1", num_envs=4)
    assert batch.single_action_space.n == 3 and batch.reset(seed=0)[0].shape == (4, 10)
