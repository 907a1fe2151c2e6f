"""RLlib: PPO in a three-player game, one policy for each player."""

from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
from ray.tune import register_env

from regret_envs import repeated_game_v1


def make(config: dict) -> ParallelPettingZooEnv:
    return ParallelPettingZooEnv(repeated_game_v1.parallel_env(game="jordan", horizon=20))


register_env("jordan", make)
config = (
    PPOConfig()
    .environment("jordan")
    .framework("torch")
    .env_runners(num_env_runners=0)
    .training(train_batch_size=800, minibatch_size=200, num_epochs=2)
    .multi_agent(
        policies={"player_0", "player_1", "player_2"},
        policy_mapping_fn=lambda player, *_, **__: player,
    )
    .debugging(seed=0)
)
algorithm = config.build_algo()
result = algorithm.train()
algorithm.stop()
for player, mean in sorted(result["env_runners"]["agent_episode_returns_mean"].items()):
    print(f"{player}: mean return of an episode {mean:+.3f}")
