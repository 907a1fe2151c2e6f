"""The Gymnasium environments, single and vectorized."""

import cloudpickle
import gymnasium
import numpy as np
import pytest

from regret_envs import games
from regret_envs.agents import Hedge
from regret_envs.envs import ENVIRONMENTS
from regret_envs.envs.actions import ActionError
from regret_envs.envs.episodes import EpisodeError

pytest.importorskip("gymnasium", minversion="1.1")

from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import TimeAwareObservation
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics


def test_opponents_by_name_by_object_and_one_for_each_seat():
    make = gymnasium.make
    hedge = Hedge(step_size=0.5)
    game = games.random_game((3, 2, 4), seed=1)
    for opponents in ("hedge[step_size=0.5]", hedge, ["blum-mansour", hedge]):
        environment = make("regret_envs/RepeatedGame-v1", game=game, opponents=opponents, player=2, horizon=9)
        environment.reset(seed=0)
        for _ in range(9):
            environment.step([1, 1, 0, 0])
    assert not hasattr(hedge, "_cumulative")  # the environment plays a copy
    assert environment.unwrapped.observation_space.shape == (13,)


def test_opponents_that_need_bandit_feedback():
    def play(**options):
        environment = gymnasium.make("regret_envs/WeightedRPS-v1", opponents="exp3", horizon=5, **options)
        environment.reset(seed=0)
        for _ in range(5):
            environment.step([1.0, 1.0, 1.0])

    with pytest.raises(ValueError, match=r"opponent Exp3.* cannot play at seat 1: needs bandit feedback"):
        play()
    play(feedback="bandit")


def test_vector_environments_can_be_copied_in_mid_episode():
    vector = gymnasium.make_vec("regret_envs/RepeatedGame-v1", num_envs=3, opponents="blum-mansour")
    vector.reset(seed=0)
    actions = np.random.default_rng(0).dirichlet(np.ones(3), (5, 3))
    vector.step(actions[0])
    copy = cloudpickle.loads(cloudpickle.dumps(vector))
    for batch in actions[1:]:
        np.testing.assert_equal(vector.step(batch), copy.step(batch))


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("RepeatedGame", {"opponents": ["hedge", "hedge"]}, ValueError, "1 seats for opponents and 2 were"),
        ("RepeatedGame", {"player": 2}, ValueError, "player must be a seat of the game, 0 … 1, got 2"),
        ("Experts", {"opponents": "hedge"}, TypeError, "unknown option 'opponents'"),
        ("WeightedRPS", {"weight": (1, 2, 3)}, TypeError, "did you mean 'weights'"),
        ("BiasedGaussian", {"horizon": 1.5}, TypeError, "horizon must be an integer"),
    ],
)
def test_bad_options(name, options, error, message):
    with pytest.raises(error, match=message):
        gymnasium.make(f"regret_envs/{name}-v1", **options)
    with pytest.raises(error, match=message):
        gymnasium.make_vec(f"regret_envs/{name}-v1", num_envs=2, **options)


def test_step_before_reset_and_after_the_end():
    environment = gymnasium.make("regret_envs/Experts-v1", horizon=1).unwrapped
    with pytest.raises(EpisodeError, match=r"call reset\(\)"):
        environment.step([1, 0, 0])
    environment.reset(seed=0)
    environment.step([1, 0, 0])
    with pytest.raises(EpisodeError, match=r"call reset\(\)"):
        environment.step([1, 0, 0])
    environment.reset()
    with pytest.raises(ActionError, match="the action of the agent is not finite"):
        environment.step([1, np.nan, 0])


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_vector_environments_go_through_gymnasium_wrappers(name):
    listed = DictInfoToList(gymnasium.make_vec(name, num_envs=4, horizon=6))
    listed.reset(seed=0)
    infos = listed.step(listed.action_space.sample())[4]
    assert len(infos) == 4 and infos[0]["losses"].shape == (3,)
    recorded = RecordEpisodeStatistics(gymnasium.make_vec(name, num_envs=4, horizon=6))
    recorded.reset(seed=0)
    for _ in range(6):
        observations, rewards, terminations, _, infos = recorded.step(recorded.action_space.sample())
        assert observations in recorded.observation_space and rewards.shape == (4,)
    assert terminations.all() and (infos["episode"]["l"] == 6).all()


def test_autoreset():
    def vector(mode):
        return gymnasium.make_vec("regret_envs/Experts-v1", num_envs=3, horizon=2, autoreset_mode=mode)

    uniform = np.full((3, 3), 1 / 3)
    by_next, by_same, by_hand = (vector(mode) for mode in ("NextStep", AutoresetMode.SAME_STEP, "Disabled"))
    for environment in (by_next, by_same, by_hand):
        environment.reset(seed=3)
        environment.step(uniform)
    last = by_hand.step(uniform)
    np.testing.assert_array_equal(by_next.step(uniform)[0], last[0])
    same = by_same.step(uniform)
    np.testing.assert_array_equal(same[4]["final_obs"], last[0])
    np.testing.assert_array_equal(same[4]["final_info"]["losses"], last[4]["losses"])
    assert same[2].all() and same[0][0, 0] == 0
    with pytest.raises(EpisodeError, match=r"over in runs \[0, 1, 2\]: call reset\(\)"):
        by_hand.step(uniform)
    with pytest.raises(ValueError, match='with autoreset_mode="Disabled"'):
        by_next.reset(options={"reset_mask": np.array([True, False, True])})
    fresh = by_hand.reset(options={"reset_mask": np.ones(3, bool)})[0]
    np.testing.assert_array_equal(by_next.step(uniform)[0], fresh)
    # All three modes go on with the same second episode.
    steps = [environment.step(uniform) for environment in (by_next, by_same, by_hand)]
    for step in steps[1:]:
        np.testing.assert_array_equal(steps[0][0], step[0])
        assert not step[2].any()


def test_bad_vector_actions():
    vector = gymnasium.make_vec("regret_envs/Experts-v1", num_envs=3)
    with pytest.raises(EpisodeError, match=r"call reset\(\)"):
        vector.step(np.ones((3, 3)))
    vector.reset(seed=0)
    with pytest.raises(ActionError, match=r"shape \(2, 3\): the first axis is that of the 3 environments"):
        vector.step(np.ones((2, 3)))
    with pytest.raises(ActionError, match="not finite in row 1"):
        vector.step([[1, 0, 0], [np.nan, 0, 0], [0, 0, 1]])
    with pytest.raises(ValueError, match="did you mean 'SameStep'"):
        gymnasium.make_vec("regret_envs/Experts-v1", num_envs=3, autoreset_mode="SameStp")
    with pytest.raises(ValueError, match="num_envs must be at least 1"):
        gymnasium.make_vec("regret_envs/Experts-v1", num_envs=0)


def test_a_wrapper_that_asks_for_the_length():
    timed = TimeAwareObservation(gymnasium.make("regret_envs/Experts-v1", horizon=7))
    assert timed.reset(seed=0)[0].shape == (11,) and timed.max_timesteps == 7
