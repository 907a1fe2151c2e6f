"""BenchMARL: IPPO, each agent on its own, against losses that all face."""

from benchmarl.algorithms import IppoConfig
from benchmarl.environments.pettingzoo.common import PettingZooClass
from benchmarl.experiment import Experiment, ExperimentConfig
from benchmarl.models import MlpConfig
from torchrl.envs import PettingZooWrapper

from regret_envs import experts_v1


class ExpertsTask(PettingZooClass):
    """BenchMARL makes PettingZoo's own environments by name; here it wraps one of ours."""

    def get_env_fun(self, num_envs, continuous_actions, seed, device):
        options = self.config | {"action_mode": "softmax" if continuous_actions else "discrete"}
        return lambda: PettingZooWrapper(
            experts_v1.parallel_env(**options), categorical_actions=True, seed=seed, device=device
        )

    def supports_continuous_actions(self):
        return True

    def supports_discrete_actions(self):
        return True


config = ExperimentConfig.get_from_yaml()
config.max_n_iters, config.max_n_frames, config.evaluation_interval = 2, None, 400
config.on_policy_collected_frames_per_batch, config.on_policy_minibatch_size = 400, 100
config.on_policy_n_envs_per_worker, config.on_policy_n_minibatch_iters = 4, 3
config.loggers, config.create_json, config.render, config.save_folder = [], False, False, "."
task = ExpertsTask("EXPERTS", {"num_agents": 3, "max_cycles": 20, "stream": "bernoulli"})
models = {"model_config": MlpConfig.get_from_yaml(), "critic_model_config": MlpConfig.get_from_yaml()}
experiment = Experiment(task, IppoConfig.get_from_yaml(), seed=0, config=config, **models)
experiment.run()
print(f"mean return of an episode: {experiment.mean_return:+.3f}")
