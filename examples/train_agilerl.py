"""AgileRL: IPPO for two players, each on its own, against losses with a bias to find."""

import torch
from agilerl.algorithms.ippo import IPPO
from agilerl.training.train_multi_agent_on_policy import train_multi_agent_on_policy
from agilerl.vector.pz_async_vec_env import AsyncPettingZooVecEnv

from regret_envs import biased_gaussian_v1
from regret_envs.agents import from_policy


def make():
    return biased_gaussian_v1.parallel_env(num_agents=2, horizon=20, bias_scale=1.0)


def train(steps: int = 16_000, copies: int = 4, seed: int = 0) -> IPPO:
    torch.manual_seed(seed)
    spaces = make()
    players = spaces.possible_agents
    agent = IPPO(
        [spaces.observation_space(player) for player in players],
        [spaces.action_space(player) for player in players],
        agent_ids=players,
        learn_step=800,
        batch_size=100,
        lr=1e-3,
        gamma=0.5,
        update_epochs=8,
    )
    environment = AsyncPettingZooVecEnv([make] * copies) if copies else make()
    train_multi_agent_on_policy(
        environment,
        "biased_gaussian_v1",
        "IPPO",
        [agent],
        max_steps=steps,
        evo_steps=steps // 2,
        eval_steps=20,
        verbose=False,
    )
    environment.close()
    return agent


def as_agent(agent: IPPO, player: str = "player_0"):
    """It draws its actions, as AgileRL's own test does."""

    def act(observations):
        agent.set_training_mode(False)
        return agent.get_action(dict.fromkeys(agent.agent_ids, observations))[0][player]

    return from_policy(act, action_mode="softmax", num_actions=3)


if __name__ == "__main__":  # the copies live in processes of their own, which import this file
    agent = train()
    print(f"summed return of an episode: {agent.test(make(), loop=100):+.2f} (uniform play: 0)")
