"""PPO in one file, in CleanRL's conventions: an id on the command line, `gym.make` and a SyncVectorEnv.

python cleanrl_ppo.py --env-id regret_envs:regret_envs/WeightedRPSDiscrete-v1
"""

import argparse
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical


@dataclass
class Args:
    env_id: str = "regret_envs:regret_envs/BiasedGaussianDiscrete-v1"
    seed: int = 1
    total_timesteps: int = 40_000
    learning_rate: float = 2.5e-3
    num_envs: int = 8
    num_steps: int = 200
    gamma: float = 0.99
    gae_lambda: float = 0.95
    num_minibatches: int = 4
    update_epochs: int = 4
    clip_coef: float = 0.2
    ent_coef: float = 0.0
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5


def make_env(env_id, **options):
    return lambda: gym.wrappers.RecordEpisodeStatistics(gym.make(env_id, **options))


def layer_init(layer, std=2**0.5):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, 0.0)
    return layer


class Agent(nn.Module):
    def __init__(self, envs):
        super().__init__()
        inputs, outputs = envs.single_observation_space.shape[0], int(envs.single_action_space.n)
        self.critic = self._network(inputs, 1, std=1.0)
        self.actor = self._network(inputs, outputs, std=0.01)

    @staticmethod
    def _network(inputs, outputs, std):
        hidden = [layer_init(nn.Linear(inputs, 64)), nn.Tanh(), layer_init(nn.Linear(64, 64)), nn.Tanh()]
        return nn.Sequential(*hidden, layer_init(nn.Linear(64, outputs), std=std))

    def get_value(self, x):
        return self.critic(x).flatten()

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        action = probs.sample() if action is None else action
        return action, probs.log_prob(action), probs.entropy(), self.get_value(x)


def train(args, **options):
    """The trained agent, and the returns of the episodes in their order."""
    torch.manual_seed(args.seed)
    same_step = (
        {"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP} if hasattr(gym.vector, "AutoresetMode") else {}
    )  # the only mode below Gymnasium 1.0
    envs = gym.vector.SyncVectorEnv([make_env(args.env_id, **options)] * args.num_envs, **same_step)
    agent = Agent(envs)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    shape = (args.num_steps, args.num_envs)
    obs = torch.zeros((*shape, envs.single_observation_space.shape[0]))
    actions = torch.zeros(shape, dtype=torch.long)
    logprobs, rewards, dones, values = (torch.zeros(shape) for _ in range(4))
    next_obs = torch.as_tensor(envs.reset(seed=args.seed)[0])
    next_done = torch.zeros(args.num_envs)
    episodic, returns = np.zeros(args.num_envs), []
    batch_size = args.num_envs * args.num_steps
    for _ in range(args.total_timesteps // batch_size):
        for step in range(args.num_steps):
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                actions[step], logprobs[step], _, values[step] = agent.get_action_and_value(next_obs)
            observed, reward, terminations, truncations, _ = envs.step(actions[step].numpy())
            rewards[step] = torch.as_tensor(reward)
            episodic += reward
            ended = terminations | truncations
            returns += episodic[ended].tolist()
            episodic[ended] = 0.0
            next_obs, next_done = torch.as_tensor(observed), torch.as_tensor(ended, dtype=torch.float32)

        with torch.no_grad():
            next_value, advantage = agent.get_value(next_obs), torch.zeros(args.num_envs)
            advantages = torch.zeros(shape)
            for step in reversed(range(args.num_steps)):
                last = step == args.num_steps - 1
                alive = 1.0 - (next_done if last else dones[step + 1])
                following = next_value if last else values[step + 1]
                delta = rewards[step] + args.gamma * following * alive - values[step]
                advantage = delta + args.gamma * args.gae_lambda * alive * advantage
                advantages[step] = advantage
            targets = (advantages + values).flatten()
        batch = obs.flatten(0, 1), actions.flatten(), logprobs.flatten(), advantages.flatten(), targets
        for _ in range(args.update_epochs):
            for rows in torch.randperm(batch_size).chunk(args.num_minibatches):
                b_obs, b_actions, b_logprobs, b_advantages, b_targets = (x[rows] for x in batch)
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs, b_actions)
                ratio = (newlogprob - b_logprobs).exp()
                b_advantages = (b_advantages - b_advantages.mean()) / (b_advantages.std() + 1e-8)
                clipped = ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
                pg_loss = -torch.min(b_advantages * ratio, b_advantages * clipped).mean()
                v_loss = 0.5 * ((newvalue - b_targets) ** 2).mean()
                loss = pg_loss - args.ent_coef * entropy.mean() + args.vf_coef * v_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()
    envs.close()
    return agent, np.array(returns)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name, default in vars(Args()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    _, returns = train(Args(**vars(parser.parse_args())))
    tenth = max(len(returns) // 10, 1)
    print(
        f"mean return: first episodes {returns[:tenth].mean():+.2f}, last ones {returns[-tenth:].mean():+.2f}"
    )
