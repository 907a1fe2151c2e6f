"""AgileRL: IPPO for both players of weighted rock-paper-scissors."""

from agilerl.algorithms.ippo import IPPO
from agilerl.training.train_multi_agent_on_policy import train_multi_agent_on_policy
from agilerl.vector.pz_async_vec_env import AsyncPettingZooVecEnv

from regret_envs import weighted_rps_v1


def make():
    return weighted_rps_v1.parallel_env(horizon=20)


if __name__ == "__main__":  # the copies live in processes of their own, which import this file
    spaces = make()
    players = spaces.possible_agents
    agent = IPPO(
        [spaces.observation_space(player) for player in players],
        [spaces.action_space(player) for player in players],
        agent_ids=players,
        learn_step=100,
    )
    environment = AsyncPettingZooVecEnv([make] * 2)
    _, fitness = train_multi_agent_on_policy(
        environment,
        "weighted_rps_v1",
        "IPPO",
        [agent],
        max_steps=400,
        evo_steps=200,
        eval_steps=20,
        verbose=False,
    )
    environment.close()
    print(f"summed returns after each evolution step (zero-sum, so 0): {fitness[0]}")
