"""TorchRL: the vector environments through GymWrapper, the PettingZoo ones through PettingZooWrapper."""

import re

import gymnasium
import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchrl", minversion="0.14")

from torchrl.envs import GymWrapper, PettingZooWrapper
from torchrl.envs.utils import ExplorationType, check_env_specs, set_exploration_type

from regret_envs import repeated_game_v1, simulate, streams
from regret_envs.agents import from_policy
from regret_envs.envs import ENVIRONMENTS


@pytest.mark.parametrize("autoreset_mode", ["Disabled", "SameStep"])
@pytest.mark.parametrize("action_mode", ["normalize", "softmax", "discrete"])
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_vector_environments(name, autoreset_mode, action_mode):
    vector = gymnasium.make_vec(
        name, num_envs=6, horizon=5, autoreset_mode=autoreset_mode, action_mode=action_mode
    )
    environment = GymWrapper(vector)
    check_env_specs(environment)
    rollout = environment.rollout(12, break_when_any_done=False)
    assert rollout.shape == (6, 12)
    terminated = rollout["next", "terminated"][..., 0]
    assert (terminated == (torch.arange(12) % 5 == 4)).all()
    # The last observation of an episode is its own: time 1. The one after it belongs to the next: time 0.
    time = rollout["next", "observation"][..., 0]
    assert (time[:, [4, 9]] == 1).all() and (rollout["observation"][:, [5, 10], 0] == 0).all()


def test_a_rollout_has_the_numbers_of_simulate():
    def follow(observations):
        return torch.softmax(-3 * torch.as_tensor(observations)[..., -3:], -1)

    vector = gymnasium.make_vec(
        "regret_envs/Experts-v1", num_envs=8, horizon=15, action_mode="strict", autoreset_mode="Disabled"
    )
    environment = GymWrapper(vector)
    environment.set_seed(5)
    vector.reset(seed=5)
    tensordict = environment.reset(seed=5)
    rollout = environment.rollout(
        15,
        lambda td: td.set("action", follow(td["observation"])),
        auto_reset=False,
        tensordict=tensordict,
    )
    agent = from_policy(lambda observations: follow(observations).numpy(), action_mode="strict")
    play = simulate(streams.Gaussian(3), agent, horizon=15, num_runs=8, seed=5)
    incurred = np.trace(play.play_losses[0], axis1=1, axis2=2)
    np.testing.assert_allclose(-rollout["next", "reward"].sum((1, 2)), incurred, rtol=0, atol=2e-5)


@pytest.mark.filterwarnings("ignore:PettingZoo in TorchRL is tested")
@pytest.mark.parametrize("options", [{}, {"action_mode": "discrete"}, {"feedback": "bandit"}])
def test_pettingzoo_environments(options):
    environment = PettingZooWrapper(repeated_game_v1.parallel_env(game="jordan", horizon=6, **options))
    check_env_specs(environment)
    rollout = environment.rollout(9)
    assert rollout.shape == (6,)
    assert rollout["next", "player", "info", "losses"].shape == (6, 3, 2)


def test_the_example(run_example):
    rewards = [float(x) for x in re.findall(r"reward per round ([-+.\d]+)", run_example("train_torchrl"))]
    # A round against a known bias would bring about 0.85, uniform play 0.
    assert len(rewards) == 20 and rewards[-1] > 0.4 > rewards[0]


def test_a_policy_comes_back_as_it_was_trained(example, assert_comes_back):
    torchrl = example("train_torchrl")
    actor = torchrl.train(iterations=10)
    with torch.no_grad(), set_exploration_type(ExplorationType.DETERMINISTIC):
        rollout = torchrl.make(2_000, seed=7).rollout(20, actor)
    assert rollout["next", "terminated"][:, -1].all() and not rollout["next", "truncated"].any()
    assert_comes_back(rollout["next", "reward"].sum((1, 2)).numpy(), torchrl.as_agent(actor))
