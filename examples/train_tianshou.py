"""Tianshou: DQN on pure actions, against losses with a bias to find."""

import gymnasium
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

NAME = "regret_envs:regret_envs/BiasedGaussian-v1"
OPTIONS = {"horizon": 20, "bias_scale": 1.0, "action_mode": "discrete"}


def make() -> gymnasium.Env:
    return gymnasium.make(NAME, **OPTIONS)


training, test = DummyVectorEnv([make] * 8), DummyVectorEnv([make] * 8)
training.seed(0)
test.seed(1)
net = Net(state_shape=make().observation_space.shape, action_shape=3, hidden_sizes=[64, 64])
policy = DiscreteQLearningPolicy(model=net, action_space=make().action_space, eps_training=0.1)
algorithm = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=0.5, target_update_freq=200)
parameters = OffPolicyTrainerParams(
    training_collector=Collector(algorithm, training, VectorReplayBuffer(20_000, 8)),
    test_collector=Collector(algorithm, test),
    max_epochs=2,
    epoch_num_steps=4_000,
    test_step_num_episodes=100,
    batch_size=128,
    update_step_num_gradient_steps_per_sample=0.25,
    show_progress=False,
)
result = algorithm.run_training(parameters)
print(f"best mean return of an episode: {result.best_reward:+.2f} (uniform play: 0)")
