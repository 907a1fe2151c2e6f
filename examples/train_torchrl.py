"""TorchRL: PPO on 1,024 environments that step as one batch."""

import gymnasium
import torch
from tensordict import TensorDict
from tensordict.nn import InteractionType, NormalParamExtractor, TensorDictModule, set_interaction_type
from torch import nn
from torchrl.envs import GymWrapper
from torchrl.modules import IndependentNormal, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss

from regret_envs.agents import from_policy

NAME = "regret_envs:regret_envs/BiasedGaussian-v1"
OPTIONS = {"horizon": 20, "bias_scale": 1.0}


def make(num_envs: int, seed: int) -> GymWrapper:
    # TorchRL does the resets, hence "Disabled".
    environment = GymWrapper(
        gymnasium.make_vec(NAME, num_envs=num_envs, autoreset_mode="Disabled", **OPTIONS)
    )
    environment.set_seed(seed)
    return environment


def train(seed: int = 0, iterations: int = 20) -> ProbabilisticActor:
    torch.manual_seed(seed)
    environment = make(1024, seed)
    body = nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 6), NormalParamExtractor())
    actor = ProbabilisticActor(
        TensorDictModule(body, ["observation"], ["loc", "scale"]),
        in_keys=["loc", "scale"],
        distribution_class=IndependentNormal,
        default_interaction_type=InteractionType.RANDOM,
        return_log_prob=True,
    )
    critic = ValueOperator(nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 1)))
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.0)
    loss.make_value_estimator(gamma=0.5, lmbda=0.9)
    optimizer = torch.optim.Adam(loss.parameters(), lr=3e-3)
    for iteration in range(iterations):
        with torch.no_grad():
            batch = environment.rollout(OPTIONS["horizon"], actor)
            loss.value_estimator(batch)
        print(f"iteration {iteration}: reward per round {batch['next', 'reward'].mean():+.3f}")
        for _ in range(8):
            terms = loss(batch.reshape(-1))
            optimizer.zero_grad()
            (terms["loss_objective"] + terms["loss_critic"]).backward()
            optimizer.step()
    return actor


def as_agent(actor: ProbabilisticActor):
    """It plays the mean actions."""

    def act(observations):
        seen = TensorDict({"observation": torch.as_tensor(observations)}, batch_size=[len(observations)])
        with torch.no_grad(), set_interaction_type(InteractionType.DETERMINISTIC):
            return actor(seen)["action"].numpy()

    return from_policy(act, action_mode="softmax", num_actions=3)


if __name__ == "__main__":
    train()
