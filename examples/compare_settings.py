"""Which settings serve which learner: action modes and the end of the horizon, paired over training seeds.

python compare_settings.py settings.csv ppo a2c dqn sac torchrl-ppo
python compare_settings.py settings.csv rllib-ppo    # where RLlib is installed; the same file
python compare_settings.py settings.csv              # the tables alone

The losses are biased Gaussian (bias scale 1, 3 actions, 20 rounds). Learners have the settings of their
library unless the code says otherwise. Trainings that the file has are not repeated.
"""

import csv
import itertools
import sys
from pathlib import Path

import gymnasium
import numpy as np

from regret_envs import simulate, streams
from regret_envs.agents import Hedge, Uniform, from_policy, from_sb3
from regret_envs.envs import sb3_vec_env

NAME = "regret_envs:regret_envs/BiasedGaussian-v1"
HORIZON = 20
SEEDS = 5
BOX = ("softmax", "normalize", "project")
ENDS = ("terminated", "truncated")


def train_sb3(learner, options, seed):
    import stable_baselines3 as sb3

    settings = {
        "ppo": {"n_steps": 128},
        "a2c": {},
        "dqn": {"learning_starts": 500, "train_freq": 1, "target_update_interval": 500},
        "sac": {"learning_starts": 500},
    }[learner]
    steps = {"ppo": 20_000, "a2c": 60_000, "dqn": 20_000, "sac": 10_000}[learner]
    environment = sb3_vec_env(NAME, 8, **options)
    algorithm = getattr(sb3, learner.upper())
    return from_sb3(algorithm("MlpPolicy", environment, device="cpu", seed=seed, **settings).learn(steps))


def train_torchrl(options, seed):
    import torch
    from tensordict.nn import InteractionType, NormalParamExtractor, TensorDictModule
    from torch import nn
    from torchrl.envs import GymWrapper
    from torchrl.modules import ProbabilisticActor, TanhNormal, ValueOperator
    from torchrl.objectives import ClipPPOLoss

    torch.manual_seed(seed)
    vector = gymnasium.make_vec(NAME, num_envs=256, autoreset_mode="Disabled", **options)
    environment = GymWrapper(vector, categorical_action_encoding=True)
    environment.set_seed(seed)
    discrete = options["action_mode"] == "discrete"
    box = vector.single_action_space
    layers = [nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 3 if discrete else 6)]
    body = nn.Sequential(*layers) if discrete else nn.Sequential(*layers, NormalParamExtractor())
    keys = ["logits"] if discrete else ["loc", "scale"]
    actor = ProbabilisticActor(
        TensorDictModule(body, ["observation"], keys),
        in_keys=keys,
        distribution_class=torch.distributions.Categorical if discrete else TanhNormal,
        distribution_kwargs={} if discrete else {"low": box.low, "high": box.high},
        default_interaction_type=InteractionType.RANDOM,
        return_log_prob=True,
    )
    critic = ValueOperator(nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 1)))
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.0)
    loss.make_value_estimator(gamma=0.99, lmbda=0.95)
    optimizer = torch.optim.Adam(loss.parameters(), lr=3e-3)
    for _ in range(30):
        with torch.no_grad():
            batch = environment.rollout(HORIZON, actor)
            loss.value_estimator(batch)
        for _ in range(4):
            for part in batch.reshape(-1)[torch.randperm(batch.numel())].split(1280):
                terms = loss(part)
                optimizer.zero_grad()
                (terms["loss_objective"] + terms["loss_critic"]).backward()
                optimizer.step()

    def act(observations):
        with torch.no_grad():
            head = body(torch.as_tensor(observations))
            if discrete:
                return head.argmax(-1).numpy()
            return TanhNormal(*head, low=box.low, high=box.high).deterministic_sample.numpy()

    return from_policy(act, action_mode=options["action_mode"])


def train_rllib(options, seed):
    import torch
    from ray.rllib.algorithms.ppo import PPOConfig

    discrete = options["action_mode"] == "discrete"
    config = (
        PPOConfig()
        .environment(NAME, env_config=options)
        .framework("torch")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=16)
        .training(train_batch_size=1600, minibatch_size=320, num_epochs=8, lr=1e-3)
        .debugging(seed=seed, log_level="ERROR")
    )
    algorithm = config.build_algo()
    for _ in range(20):
        algorithm.train()
    module = algorithm.get_module()
    algorithm.stop()
    box = gymnasium.make(NAME, **options).action_space

    def act(observations):
        with torch.no_grad():
            head = module.forward_inference({"obs": torch.as_tensor(observations)})["action_dist_inputs"]
        if discrete:
            return head.argmax(-1).numpy()
        # RLlib's policies act in [-1, 1]; its environment runner brings that to the box.
        mean = np.clip(head[:, : box.shape[0]].numpy(), -1, 1)
        return box.low + (mean + 1) / 2 * (box.high - box.low)

    return from_policy(act, action_mode=options["action_mode"])


TRAIN = {
    **{name: (lambda o, s, name=name: train_sb3(name, o, s)) for name in ("ppo", "a2c", "dqn", "sac")},
    "torchrl-ppo": train_torchrl,
    "rllib-ppo": train_rllib,
}
MODES = {name: (*BOX, "discrete") for name in TRAIN} | {"dqn": ("discrete",), "sac": BOX}


def regret(agent):
    """The mean external regret; all agents face the same losses."""
    stream = streams.BiasedGaussian(3, bias_scale=1.0)
    play = simulate(stream, agent, horizon=HORIZON, num_runs=4096, seed=9)
    return float(play.regret("external").mean())


def mean_and_error(values):
    values = [value for value in values if value == value]  # NaN where nothing was trained
    if len(values) < 2:
        return f"{np.mean(values):6.2f}" if values else "     –"
    return f"{np.mean(values):6.2f} ± {np.std(values, ddof=1) / len(values) ** 0.5:.2f}"


def tables(found):
    """Print each learner's regrets, and what the settings change, paired over seeds."""

    def over_seeds(*key):
        return np.array([found.get((*key, str(seed)), np.nan) for seed in range(SEEDS)])

    print(f"uniform {regret(Uniform()):.2f}, Hedge {regret(Hedge()):.2f}")
    print("\nlearner, action_mode, seeds: terminated; truncated; truncated − terminated")
    for learner, mode in dict.fromkeys((learner, mode) for learner, mode, *_ in found):
        by_end = [over_seeds(learner, mode, end) for end in ENDS]
        columns = [*by_end, by_end[1] - by_end[0]]
        num_seeds = np.isfinite(columns[2]).sum()
        print(f"{learner:12} {mode:10} {num_seeds}  ", "; ".join(mean_and_error(c) for c in columns))
    print("\nlearner, end: action_mode − softmax")
    for learner, end, mode in itertools.product(dict.fromkeys(key[0] for key in found), ENDS, BOX[1:]):
        change = over_seeds(learner, mode, end) - over_seeds(learner, "softmax", end)
        if np.isfinite(change).any():
            print(f"{learner:12} {end:10} {mode:10} {mean_and_error(change)}")


def main(file, *learners):
    path = Path(file)
    rows = list(csv.reader(path.open())) if path.exists() else []
    found = {tuple(key): float(value) for *key, value in rows}
    for seed, learner in itertools.product(range(SEEDS), learners):
        for mode, end in itertools.product(MODES[learner], ENDS):
            key = (learner, mode, end, str(seed))
            if key not in found:
                options = {
                    "horizon": HORIZON,
                    "bias_scale": 1.0,
                    "action_mode": mode,
                    "horizon_ends": end,
                }
                found[key] = regret(TRAIN[learner](options, seed))
                with path.open("a") as out:
                    csv.writer(out).writerow([*key, found[key]])
    tables(found)


if __name__ == "__main__":
    main(*sys.argv[1:])
