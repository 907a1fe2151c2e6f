"""skrl: IPPO or MAPPO, whose critics see the state of all agents, against losses with a bias to find.

python train_skrl.py {ippo,mappo}
"""

import sys

import torch
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from skrl.multi_agents.torch.ippo import IPPO, IPPO_CFG
from skrl.multi_agents.torch.mappo import MAPPO, MAPPO_CFG
from skrl.trainers.torch import SequentialTrainer
from skrl.utils import set_seed

from regret_envs import biased_gaussian_v1, simulate, streams
from regret_envs.agents import Hedge, Uniform, from_policy

HORIZON = 20
STREAM = {"bias_scale": 1.0}


def network(inputs: int, outputs: int) -> torch.nn.Sequential:
    return torch.nn.Sequential(torch.nn.Linear(inputs, 64), torch.nn.Tanh(), torch.nn.Linear(64, outputs))


class Policy(GaussianMixin, Model):
    def __init__(self, **spaces):
        Model.__init__(self, **spaces)
        GaussianMixin.__init__(self)
        self.net = network(self.num_observations, self.num_actions)
        self.log_std_parameter = torch.nn.Parameter(torch.zeros(self.num_actions))

    def compute(self, inputs, role):
        return self.net(inputs["observations"]), {"log_std": self.log_std_parameter}


class Value(DeterministicMixin, Model):
    def __init__(self, *, sees: str, **spaces):
        Model.__init__(self, **spaces)
        DeterministicMixin.__init__(self)
        self.sees = sees
        self.net = network(self.num_states if sees == "states" else self.num_observations, 1)

    def compute(self, inputs, role):
        return self.net(inputs[self.sees]), {}


def train(algorithm: str = "ippo", seed: int = 0, steps: int = 8_000) -> dict[str, Policy]:
    """The players' policies."""
    set_seed(seed)
    environment = wrap_env(biased_gaussian_v1.parallel_env(num_agents=2, horizon=HORIZON, **STREAM))
    agent_class, settings, sees = {
        "ippo": (IPPO, IPPO_CFG, "observations"),
        "mappo": (MAPPO, MAPPO_CFG, "states"),
    }[algorithm]
    players = environment.possible_agents
    spaces = {
        player: {
            "observation_space": environment.observation_space(player),
            "state_space": environment.state_space(player),
            "action_space": environment.action_space(player),
            "device": environment.device,
        }
        for player in players
    }
    models = {p: {"policy": Policy(**s), "value": Value(sees=sees, **s)} for p, s in spaces.items()}
    config = settings(rollouts=400, mini_batches=8, learning_rate=3e-3, discount_factor=0.5)
    for name in (
        "learning_rate_scheduler",
        "observation_preprocessor",
        "state_preprocessor",
        "value_preprocessor",
    ):
        if hasattr(config, f"{name}_kwargs"):  # skrl 2.1 refuses its own empty defaults
            setattr(config, f"{name}_kwargs", {player: {} for player in players})
    agent = agent_class(
        possible_agents=players,
        models=models,
        memories={p: RandomMemory(memory_size=400, num_envs=1, device=environment.device) for p in players},
        cfg=config,
        observation_spaces=environment.observation_spaces,
        state_spaces=environment.state_spaces,
        action_spaces=environment.action_spaces,
        device=environment.device,
    )
    trainer = {"timesteps": steps, "headless": True, "disable_progressbar": True}
    SequentialTrainer(cfg=trainer, env=environment, agents=agent).train()
    return {player: model["policy"] for player, model in models.items()}


def as_agent(policy: Policy):
    """It plays the mean actions."""

    def act(observations):
        with torch.no_grad():
            return policy.net(torch.as_tensor(observations)).numpy()

    return from_policy(act, action_mode="softmax", num_actions=3)


if __name__ == "__main__":
    policies = train(*sys.argv[1:])
    agents = {player: as_agent(policy) for player, policy in policies.items()}
    for name, agent in {**agents, "hedge": Hedge(), "uniform": Uniform()}.items():
        stream = streams.BiasedGaussian(3, **STREAM)
        play = simulate(stream, agent, horizon=HORIZON, num_runs=4096, seed=1)
        print(f"{name:10} regret per round {play.regret()[0].mean() / HORIZON:.4f}")
