"""TorchRL: PPO on 1,024 environments that step as one batch."""

import gymnasium
import torch
from tensordict.nn import InteractionType, NormalParamExtractor, TensorDictModule
from torch import nn
from torchrl.envs import GymWrapper
from torchrl.modules import IndependentNormal, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss

OPTIONS = {"horizon": 20, "bias_scale": 1.0, "autoreset_mode": "Disabled"}
vector = gymnasium.make_vec("regret_envs:regret_envs/BiasedGaussian-v1", num_envs=1024, **OPTIONS)
environment = GymWrapper(vector)  # TorchRL does the resets, hence "Disabled"
torch.manual_seed(0)
environment.set_seed(0)

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
for iteration in range(20):
    with torch.no_grad():
        batch = environment.rollout(OPTIONS["horizon"], actor)
        loss.value_estimator(batch)
    print(f"iteration {iteration}: reward per round {batch['next', 'reward'].mean():+.3f}")
    for _ in range(8):
        terms = loss(batch.reshape(-1))
        optimizer.zero_grad()
        (terms["loss_objective"] + terms["loss_critic"]).backward()
        optimizer.step()
