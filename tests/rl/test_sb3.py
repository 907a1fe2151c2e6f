"""SuperSuit and Stable-Baselines3."""

import shutil
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
supersuit = pytest.importorskip("supersuit")

from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_checker import check_env

import regret_envs  # noqa: F401
from regret_envs import biased_gaussian_v0, experts_v0, repeated_game_v0, simulate, streams, weighted_rps_v0
from regret_envs.agents import Hedge, Uniform, from_sb3


def test_ppo_learns_and_stands_beside_hedge(example, capsys):
    train_sb3 = example("train_sb3")
    stream = streams.BiasedGaussian(3, **train_sb3.STREAM)

    def regret_a_round(agent):
        play = simulate(stream, agent, horizon=train_sb3.HORIZON, num_runs=4096, seed=9)
        return play.regret("external")[0] / train_sb3.HORIZON

    uniform, hedge = regret_a_round(Uniform()), regret_a_round(Hedge())
    ppo = [regret_a_round(from_sb3(train_sb3.train(seed, steps=20_000))) for seed in range(3)]
    # The runs are paired: all agents face the same losses. Three training seeds, and the runs' own error.
    gains = np.array([uniform - regret for regret in ppo])
    error = np.hypot(gains.mean(1).std(ddof=1) / np.sqrt(3), gains.mean(0).std() / np.sqrt(4096))
    with capsys.disabled():
        print(
            f"\nregret a round: PPO {np.mean(ppo):.4f} (3 seeds), Hedge {hedge.mean():.4f}, "
            f"uniform {uniform.mean():.4f}; PPO below uniform by {gains.mean() / error:.0f} standard errors"
        )
    assert gains.mean() > 5 * error


def test_the_example_and_the_leaderboard(example, run_example, tmp_path):
    printed = run_example("train_sb3")
    assert "<PPO, action_mode='normalize'>" in printed and "Hedge" in printed
    # The example's second command line, from the folder in which the trained policy lies.
    shutil.copy(example("train_sb3").__file__, tmp_path)
    agents = "hedge,swap-attention,train_sb3:trained"
    command = ["regret-envs", "run", "--suite", "paper", "--agents", agents, "--runs", "8", "--tables"]
    command[0] = str(Path(sys.executable).with_name("regret-envs"))
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    # In the table of scores, and in one on each of the three tasks.
    assert all(done.stdout.count(f"| {agent} ") >= 4 for agent in agents.split(","))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Experts", {}),
        ("BiasedGaussian", {"action_mode": "softmax", "feedback": "bandit"}),
        ("RepeatedGame", {"game": "jordan", "opponents": "blum-mansour"}),
        ("WeightedRPS", {"action_mode": "discrete"}),
    ],
)
def test_gymnasium_environments(name, options):
    environment = gymnasium.make(f"regret_envs/{name}-v0", horizon=10, **options)
    check_env(environment.unwrapped, skip_render_check=True)
    if options.get("action_mode") == "discrete":
        model = DQN("MlpPolicy", environment, learning_starts=50, device="cpu", seed=0).learn(200)
    else:
        model = PPO("MlpPolicy", environment, n_steps=64, batch_size=64, device="cpu", seed=0).learn(128)
    play = simulate(streams.Gaussian(model.observation_space.shape[0] // 3), from_sb3(model), horizon=10)
    assert np.isfinite(play.regret()).all()


@pytest.mark.parametrize("module", [experts_v0, biased_gaussian_v0, repeated_game_v0, weighted_rps_v0])
def test_supersuit_copies_face_losses_of_their_own(module):
    environment = supersuit.pettingzoo_env_to_vec_env_v1(module.parallel_env(horizon=5))
    copies = supersuit.concat_vec_envs_v1(environment, 3, base_class="gymnasium")
    copies.reset()
    actions = np.random.default_rng(0).dirichlet(np.ones(3), copies.num_envs).astype(np.float32)
    for _ in range(12):  # over two resets
        observations, _, _, _, infos = copies.step(actions)
    assert observations.shape == (6, 10)
    if module in (experts_v0, biased_gaussian_v0):
        seen = {tuple(info["losses"]) for info in infos}
        assert len(seen) == 3  # two agents of each copy face the same losses
