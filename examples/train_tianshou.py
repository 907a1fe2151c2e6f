"""Tianshou: DQN on pure actions, against losses with a bias to find."""

import gymnasium
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from regret_envs.agents import from_policy

NAME = "regret_envs:regret_envs/BiasedGaussianDiscrete-v1"
OPTIONS = {"horizon": 20, "bias_scale": 1.0}


def make() -> gymnasium.Env:
    return gymnasium.make(NAME, **OPTIONS)


def copies(seed: int) -> DummyVectorEnv:
    environments = DummyVectorEnv([make] * 8)
    environments.seed(seed)
    return environments


def train() -> tuple[DQN, float]:
    """The algorithm, and the best mean return of a test."""
    net = Net(state_shape=make().observation_space.shape, action_shape=3, hidden_sizes=[64, 64])
    policy = DiscreteQLearningPolicy(model=net, action_space=make().action_space, eps_training=0.1)
    algorithm = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=0.5, target_update_freq=200)
    parameters = OffPolicyTrainerParams(
        training_collector=Collector(algorithm, copies(0), VectorReplayBuffer(20_000, 8)),
        test_collector=Collector(algorithm, copies(1)),
        max_epochs=2,
        epoch_num_steps=4_000,
        test_step_num_episodes=100,
        batch_size=128,
        update_step_num_gradient_steps_per_sample=0.25,
        show_progress=False,
    )
    return algorithm, algorithm.run_training(parameters).best_reward


def as_agent(algorithm: DQN):
    """It plays the action of the largest value."""

    def act(observations):
        return algorithm.policy(Batch(obs=observations, info={})).act

    return from_policy(act, action_mode="discrete", num_actions=3)


if __name__ == "__main__":
    print(f"best mean return of an episode: {train()[1]:+.2f} (uniform play: 0)")
