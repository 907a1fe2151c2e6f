"""BenchMARL: IPPO, each agent on its own, against losses with a bias to find, which all face."""

import torch
from benchmarl.algorithms import IppoConfig
from benchmarl.environments.pettingzoo.common import PettingZooClass
from benchmarl.experiment import Experiment, ExperimentConfig
from benchmarl.models import MlpConfig
from tensordict import TensorDict
from torchrl.envs import PettingZooWrapper
from torchrl.envs.utils import ExplorationType, set_exploration_type

from regret_envs import biased_gaussian_v1
from regret_envs.agents import from_policy


class BiasedGaussianTask(PettingZooClass):
    """BenchMARL makes PettingZoo's own environments by name; here it wraps one of ours."""

    def get_env_fun(self, num_envs, continuous_actions, seed, device):
        options = self.config | {"action_mode": "softmax" if continuous_actions else "discrete"}
        return lambda: PettingZooWrapper(
            biased_gaussian_v1.parallel_env(**options), categorical_actions=True, seed=seed, device=device
        )

    def supports_continuous_actions(self):
        return True

    def supports_discrete_actions(self):
        return True


def train(iterations: int = 5) -> Experiment:
    config = ExperimentConfig.get_from_yaml()
    config.max_n_iters, config.max_n_frames, config.evaluation = iterations, None, False
    config.on_policy_collected_frames_per_batch, config.on_policy_minibatch_size = 1_600, 200
    config.on_policy_n_envs_per_worker, config.on_policy_n_minibatch_iters = 8, 8
    config.lr, config.gamma = 3e-3, 0.5
    config.loggers, config.create_json, config.render, config.save_folder = [], False, False, "."
    task = BiasedGaussianTask("BIASED", {"num_agents": 2, "max_cycles": 20, "bias_scale": 1.0})
    models = {"model_config": MlpConfig.get_from_yaml(), "critic_model_config": MlpConfig.get_from_yaml()}
    experiment = Experiment(task, IppoConfig.get_from_yaml(), seed=0, config=config, **models)
    experiment.run()
    return experiment


def as_agent(experiment: Experiment):
    """It plays the first agent's deterministic actions."""

    def act(observations):
        both = torch.as_tensor(observations)[:, None].repeat(1, 2, 1)
        seen = TensorDict({"player": {"observation": both}}, batch_size=[len(both)])
        with torch.no_grad(), set_exploration_type(ExplorationType.DETERMINISTIC):
            return experiment.policy(seen)["player", "action"][:, 0].numpy()

    return from_policy(act, action_mode="softmax", num_actions=3)


if __name__ == "__main__":
    print(f"mean return of an episode: {train().mean_return:+.3f} (uniform play: 0)")
