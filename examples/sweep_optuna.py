"""Optuna: the learning rate, discount and logit scale of Stable-Baselines3's PPO, by regret.

python sweep_optuna.py [TRIALS]
"""

import sys

import numpy as np
import optuna
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

from regret_envs import simulate, streams
from regret_envs.agents import from_sb3
from regret_envs.envs import sb3_vec_env

HORIZON = 20
STREAM = {"bias_scale": 1.0}


def regret(model: PPO) -> float:
    """External regret per round; all trials face the same losses."""
    stream = streams.BiasedGaussian(3, **STREAM)
    play = simulate(stream, from_sb3(model), horizon=HORIZON, num_runs=1024, seed=9)
    return float(play.regret("external").mean()) / HORIZON


class Prune(BaseCallback):
    """Reports the regret after every rollout, and stops a trial that falls behind the others."""

    def __init__(self, trial: optuna.Trial) -> None:
        super().__init__()
        self.trial = trial

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        self.trial.report(regret(self.model), self.num_timesteps)
        if self.trial.should_prune():
            raise optuna.TrialPruned


def objective(trial: optuna.Trial) -> float:
    environment = sb3_vec_env(
        "regret_envs:regret_envs/BiasedGaussian-v1",
        64,
        horizon=HORIZON,
        logit_scale=trial.suggest_float("logit_scale", 1.0, 20.0, log=True),
        **STREAM,
    )
    model = PPO(
        "MlpPolicy",
        environment,
        n_steps=HORIZON,
        batch_size=320,
        learning_rate=trial.suggest_float("learning_rate", 1e-4, 1e-2, log=True),
        gamma=trial.suggest_float("gamma", 0.0, 1.0),
        seed=0,
        device="cpu",
    )
    return regret(model.learn(10_000, callback=Prune(trial)))


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=0)
    study = optuna.create_study(sampler=sampler, pruner=optuna.pruners.MedianPruner(n_startup_trials=4))
    study.optimize(objective, n_trials=int(sys.argv[1]) if len(sys.argv) > 1 else 12)
    values = [t.value for t in study.trials if t.state == optuna.trial.TrialState.COMPLETE]
    print(
        f"{len(values)} of {len(study.trials)} trials complete, their median regret per round "
        f"{np.median(values):.4f}"
    )
    print(f"best {study.best_value:.4f}: {study.best_params}")
