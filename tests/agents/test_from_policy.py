"""Policies that act on the environments' observations, as agents."""

import pickle

import gymnasium
import numpy as np
import pytest

from regret_envs import simulate, streams
from regret_envs.agents import from_pettingzoo, from_policy, from_sb3
from regret_envs.envs.actions import ActionError
from regret_envs.feedback import Bandit

STREAM = streams.BiasedGaussian(3)


def follow_the_mean(observations):
    """Logits against the mean losses so far, with a bit of every other slice, so that all of them count."""
    d = (observations.shape[1] - 1) // 3
    time, policy, losses, means = np.split(observations, [1, 1 + d, 1 + 2 * d], axis=1)
    return np.clip(0.1 * policy - 0.05 * losses - means * (1 + time), -1, 1)


def test_the_agent_plays_as_its_policy_does_in_the_environment():
    pytest.importorskip("gymnasium", minversion="1.1")  # for the native vector environments
    agent = from_policy(follow_the_mean, action_mode="softmax", logit_scale=5.0)
    play = simulate(STREAM, agent, horizon=30, num_runs=6, seed=4, record=["policies", "losses"])
    vector = gymnasium.make_vec(
        "regret_envs/Experts-v1",
        num_envs=6,
        stream=STREAM,
        horizon=30,
        action_mode="softmax",
        logit_scale=5.0,
    )
    observations, _ = vector.reset(seed=4)
    for t in range(30):
        observations, _, _, _, infos = vector.step(follow_the_mean(observations))
        np.testing.assert_allclose(infos["policy"], play.policies[0][t], rtol=0, atol=1e-12)
        np.testing.assert_array_equal(infos["losses"], play.losses[0][t])


def test_a_joint_policy_plays_the_same_run_by_run():
    def act(observations):
        return {name: follow_the_mean(x[None])[0] for name, x in observations.items()}

    joint = from_pettingzoo(act, "player_3", action_mode="softmax")
    batch = from_policy(follow_the_mean, action_mode="softmax")
    one, other = (simulate(STREAM, agent, horizon=9, num_runs=4, seed=1) for agent in (joint, batch))
    np.testing.assert_allclose(one.play_losses[0], other.play_losses[0], rtol=0, atol=1e-6)


class Model:
    """What `from_sb3` uses of a model; the real ones are in tests/rl."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (10,))

    def __init__(self, action_space, actions):
        self.action_space = action_space
        self.actions = actions

    def predict(self, observation, *, state, episode_start, deterministic):
        assert deterministic and observation.dtype == np.float32
        assert (state is None) == episode_start.all() and episode_start.shape == (len(observation),)
        return np.repeat(self.actions, len(observation), axis=0), 1


@pytest.mark.parametrize(
    ("space", "actions", "policy"),
    [
        (gymnasium.spaces.Box(0, 1, (3,)), [[1.0, 0.0, 3.0]], [0.25, 0, 0.75]),
        (gymnasium.spaces.Box(-1, 1, (3,)), [[0.0, 0.0, -0.1]], np.exp([0, 0, -1]) / (2 + np.exp(-1))),
        (gymnasium.spaces.Discrete(3), [1], [0, 1, 0]),
    ],
)
def test_the_action_mode_follows_from_the_model(space, actions, policy):
    agent = pickle.loads(pickle.dumps(from_sb3(Model(space, actions))))
    play = simulate(STREAM, agent, horizon=3, num_runs=2, record="policies")
    np.testing.assert_allclose(play.policies[0], np.broadcast_to(policy, (3, 2, 3)), atol=1e-7)
    assert "3 actions" in agent.unsupported(4, horizon=9) and agent.unsupported(3, horizon=9) is None


def test_a_starting_loss_is_a_loss_like_any_other():
    seen = []

    def watch(observations):
        seen.append(observations[0])
        return np.ones((len(observations), 3))

    simulate(STREAM, from_policy(watch), horizon=2, starting_loss_scale=1.0, seed=0)
    assert [x[0] for x in seen] == [0, 0.5, 1.0]
    assert not seen[0][4:].any() and seen[1][4:].all()


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="the horizon is unknown"):
        simulate(STREAM, from_policy(follow_the_mean), horizon=3, horizon_known=False)
    with pytest.raises(TypeError, match="policy must be a function"):
        from_policy(3)
    with pytest.raises(ValueError, match="did you mean 'softmax'"):
        from_policy(follow_the_mean, action_mode="softmx")
    with pytest.raises(ActionError, match=r"action of half has shape \(1,\)"):
        simulate(STREAM, from_policy(half), horizon=3)
    assert repr(from_policy(half)) == "<half, action_mode='softmax'>"
    with pytest.raises(
        ActionError, match=r"even returns distributions, and .* default, action_mode='softmax'"
    ):
        simulate(STREAM, from_policy(even), horizon=3)
    for action_mode in ("strict", "softmax"):
        simulate(STREAM, from_policy(even, action_mode=action_mode), horizon=3)


def half(observations):
    return observations[:, :1]


def even(observations):
    return np.full((len(observations), 3), 1 / 3)


@pytest.mark.parametrize("feedback", ["full", "bandit"])
def test_the_observations_are_those_of_training(feedback):
    pytest.importorskip("gymnasium", minversion="1.1")
    seen = []

    def watch(observations):
        seen.append(observations)
        return follow_the_mean(observations)

    agent = from_policy(watch, action_mode="softmax", logit_scale=2.0, feedback=feedback)
    options = {"horizon": 12, "action_mode": "softmax", "logit_scale": 2.0, "feedback": feedback}
    layers = Bandit(loss_offset=-1.0, implicit_exploration=0.1) if feedback == "bandit" else ()
    simulate(STREAM, agent, horizon=12, num_runs=5, seed=4, feedback=layers)
    vector = gymnasium.make_vec("regret_envs/Experts-v1", num_envs=5, stream=STREAM, **options)
    observations, _ = vector.reset(seed=4)
    for ours in seen:
        np.testing.assert_allclose(ours, observations, rtol=1e-6, atol=1e-7)
        observations = vector.step(follow_the_mean(observations))[0]


def test_a_policy_plays_only_the_feedback_that_it_was_trained_with():
    with pytest.raises(ValueError, match="needs bandit feedback"):
        simulate(STREAM, from_policy(follow_the_mean, feedback="bandit"), horizon=3)
    with pytest.raises(ValueError, match="needs the losses of all actions"):
        simulate(STREAM, from_policy(follow_the_mean, feedback="full"), horizon=3, feedback=Bandit())
    with pytest.raises(ValueError, match="did you mean 'bandit'"):
        from_policy(follow_the_mean, feedback="bandits")


def test_a_policy_with_a_memory_is_reset_before_every_episode():
    class Counting:
        def reset(self, num_runs):
            self.rounds = np.zeros(num_runs, dtype=int)

        def __call__(self, observations):
            self.rounds += 1
            return np.minimum(self.rounds, 3) - 1

    agent = from_policy(Counting(), action_mode="discrete")
    for num_runs in (2, 5):
        played = simulate(STREAM, agent, horizon=4, num_runs=num_runs, record="policies").policies[0]
        np.testing.assert_array_equal(played.argmax(2), np.repeat([[0], [1], [2], [2]], num_runs, axis=1))


def test_a_model_whose_observations_were_changed():
    model = Model(gymnasium.spaces.Discrete(3), [1])
    model.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (11,))
    with pytest.raises(ValueError, match="observations of 11 numbers, and those of the environments with 3"):
        from_sb3(model)
