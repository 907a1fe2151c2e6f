"""rsl-rl: PPO on 256 environments that step as one batch."""

import torch
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict

from regret_envs import simulate, streams
from regret_envs.agents import Hedge, Uniform, from_policy
from regret_envs.envs import rsl_rl_env

HORIZON = 20
STREAM = {"bias_scale": 1.0}
NETWORK = {"class_name": "MLPModel", "hidden_dims": [64, 64], "activation": "elu", "obs_normalization": False}
GAUSSIAN = {"class_name": "GaussianDistribution", "init_std": 1.0, "std_type": "scalar"}
CONFIG = {
    "num_steps_per_env": HORIZON,
    "save_interval": 1000,
    "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
    "actor": {**NETWORK, "distribution_cfg": GAUSSIAN},
    "critic": NETWORK,
    "algorithm": {
        "class_name": "PPO",
        "num_learning_epochs": 5,
        "num_mini_batches": 4,
        "clip_param": 0.2,
        "gamma": 0.99,
        "lam": 0.95,
        "value_loss_coef": 1.0,
        "entropy_coef": 0.0,
        "learning_rate": 1e-3,
        "max_grad_norm": 1.0,
        "use_clipped_value_loss": True,
        "schedule": "adaptive",
        "desired_kl": 0.01,
    },
}


def train(seed: int = 0, iterations: int = 40) -> OnPolicyRunner:
    torch.manual_seed(seed)
    environment = rsl_rl_env("regret_envs/BiasedGaussian-v1", 256, horizon=HORIZON, seed=seed, **STREAM)
    runner = OnPolicyRunner(environment, CONFIG, log_dir=None, device="cpu")
    runner.learn(iterations)
    return runner


def as_agent(runner: OnPolicyRunner):
    """It plays the mean actions."""
    policy = runner.get_inference_policy()

    def act(observations):
        with torch.inference_mode():
            group = TensorDict({"policy": torch.as_tensor(observations)}, batch_size=[len(observations)])
            return policy(group).numpy()

    return from_policy(act, action_mode="softmax", num_actions=3)


if __name__ == "__main__":
    for name, agent in {"ppo": as_agent(train()), "hedge": Hedge(), "uniform": Uniform()}.items():
        stream = streams.BiasedGaussian(3, **STREAM)
        play = simulate(stream, agent, horizon=HORIZON, num_runs=4096, seed=1)
        print(f"{name:10} regret per round {play.regret()[0].mean() / HORIZON:.4f}")
