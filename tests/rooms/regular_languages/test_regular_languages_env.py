"""EvenPairs-v0 and ParityCheck-v0: the interface, the laws, and what the rounds score."""

import math
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import regret_envs  # noqa: F401 (registers the ids)
from regret_envs.envs.actions import ActionError
from regret_envs.envs.episodes import EpisodeError
from regret_envs.rooms.regular_languages import languages
from regret_envs.rooms.regular_languages.environments import EvenPairs, ParityCheck

ENVS = [EvenPairs(), EvenPairs(max_length=1), ParityCheck(max_length=3), ParityCheck(chain_of_thought=True)]


def tokens_of(observation):
    return observation[: observation[-1]]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("id", "settings"),
    [
        ("regret_envs/EvenPairs-v0", {}),
        ("regret_envs:regret_envs/EvenPairs-v0", {"max_length": 3}),
        ("regret_envs/ParityCheck-v0", {}),
        ("regret_envs/ParityCheck-v0", {"chain_of_thought": True}),
    ],
)
def test_made_by_id(id, settings):
    env = gymnasium.make(id, **settings)
    for name, value in settings.items():
        assert getattr(env.unwrapped, name) == value
    check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("env", ENVS, ids=lambda env: f"{type(env).__name__}{env.max_length}")
class TestEveryEnv:
    def test_observations_show_the_tokens_the_padding_and_the_length(self, env):
        env.reset(seed=0)
        lengths = set()
        for _ in range(200):
            observation, info = env.reset()
            assert env.observation_space.contains(observation)
            assert set(info.values()) == {0}
            assert np.isin(tokens_of(observation), (0, 1)).all()
            assert (observation[observation[-1] : -1] == languages.PADDING).all()
            lengths.add(int(observation[-1]))
        assert lengths == set(range(2 if env.chain_of_thought else 1, env.max_length + 1))

    def test_a_seed_fixes_all_episodes_that_follow(self, env):
        env.reset(seed=3)
        first = [env.reset()[0] for _ in range(10)]
        env.reset(seed=3)
        np.testing.assert_array_equal(first, [env.reset()[0] for _ in range(10)])

    def test_the_reward_is_minus_the_log_loss_of_the_round(self, env):
        rng = np.random.default_rng(0)
        for seed in range(20):
            observation, at_reset = env.reset(seed=seed)
            over = False
            while not over:
                p = rng.uniform(size=1).astype(np.float32)
                tokens = tokens_of(observation)
                observation, reward, over, truncated, info = env.step(p)
                assert set(info) == set(at_reset) and not truncated
                same = tokens[0] == tokens[-1]
                even = tokens.sum() % 2 == 0
                right = even if isinstance(env, ParityCheck) and not env.chain_of_thought else same
                assert info["label"] == (1 if right else -1)
                assert reward == pytest.approx(math.log(float(p[0]) if right else 1 - float(p[0])), rel=1e-12)
                assert info["loss"] == -reward
                assert info["answer"] == (1 if p[0] > 0.5 else -1)

    def test_the_loss_is_finite_for_certain_and_wrong_forecasts(self, env):
        rewards = set()
        for seed in range(20):
            env.reset(seed=seed)
            rewards.add(env.step(np.zeros(1, dtype=np.float32))[1])
        assert rewards <= {0.0, -languages.MAX_LOG_LOSS}

    @pytest.mark.parametrize("action", [[-0.1], [1.5], [math.nan], [0.5, 0.5], "yes", None])
    def test_an_action_that_is_no_probability_is_refused_and_the_round_is_still_to_be_played(
        self, env, action
    ):
        env.reset(seed=0)
        with pytest.raises(ActionError, match="one probability in"):
            env.step(action)
        env.step(0.5)

    def test_steps_only_within_an_episode(self, env):
        fresh = pickle.loads(pickle.dumps(env))
        fresh._rounds_left = 0
        with pytest.raises(EpisodeError, match="call reset"):
            fresh.step([0.5])
        env.reset(seed=0)
        while not env.step([0.5])[2]:
            pass
        with pytest.raises(EpisodeError, match="call reset"):
            env.step([0.5])


def test_a_chain_of_right_answers_ends_in_the_parity():
    env = ParityCheck(chain_of_thought=True)
    for seed in range(50):
        observation, _ = env.reset(seed=seed)
        drawn = tokens_of(observation).copy()
        for round_ in range(1, len(drawn)):
            tokens = tokens_of(observation)
            answer = tokens[0] == tokens[-1]
            observation, _, over, _, info = env.step([0.9 if answer else 0.1])
            np.testing.assert_array_equal(tokens_of(observation)[:-1], tokens[1:])
            assert over == (round_ == len(drawn) - 1)
            assert info["is_success"] == over
        assert tokens_of(observation)[-1] == drawn.sum() % 2


def test_the_agents_own_answers_are_appended_and_one_error_spoils_the_parity():
    env = ParityCheck(chain_of_thought=True, max_length=4)
    observation, _ = env.reset(seed=next(s for s in range(99) if env.reset(seed=s)[0][-1] == 4))
    tokens = tokens_of(observation)
    wrong = tokens[0] != tokens[-1]
    observation, *_ = env.step([1.0 if wrong else 0.0])
    assert tokens_of(observation)[-1] == (0 if wrong else 1)
    for _ in range(2):
        tokens = tokens_of(observation)
        observation, reward, over, _, info = env.step([1.0 if tokens[0] == tokens[-1] else 0.0])
        assert reward == 0.0  # right about what was shown
    assert over and info["is_success"] == 0


def test_bad_lengths():
    with pytest.raises(ValueError, match="max_length must be at least 1"):
        EvenPairs(max_length=0)
    with pytest.raises(ValueError, match="max_length must be at least 2"):
        ParityCheck(max_length=1, chain_of_thought=True)
    with pytest.raises(ValueError, match="max_length must be at most 16"):
        ParityCheck(max_length=17)
    with pytest.raises(TypeError, match="max_length must be an integer"):
        EvenPairs(max_length=2.5)
