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
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecEnvWrapper, VecFrameStack, VecMonitor, VecNormalize

import regret_envs  # noqa: F401
from regret_envs import biased_gaussian_v1, experts_v1, repeated_game_v1, simulate, streams, weighted_rps_v1
from regret_envs.agents import Hedge, Uniform, from_sb3
from regret_envs.envs import sb3_vec_env
from regret_envs.feedback import Bandit


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
            f"\nregret per round: PPO {np.mean(ppo):.4f} (3 seeds), Hedge {hedge.mean():.4f}, "
            f"uniform {uniform.mean():.4f}; PPO below uniform by {gains.mean() / error:.0f} standard errors"
        )
    assert gains.mean() > 5 * error


def test_the_example_and_the_leaderboard(example, run_example, tmp_path):
    printed = run_example("train_sb3")
    assert "<PPO, action_mode='softmax'>" in printed and "Hedge" in printed
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
    environment = gymnasium.make(f"regret_envs/{name}-v1", horizon=10, **options)
    check_env(environment.unwrapped, skip_render_check=True)
    if options.get("action_mode") == "discrete":
        model = DQN("MlpPolicy", environment, learning_starts=50, device="cpu", seed=0).learn(200)
    else:
        model = PPO("MlpPolicy", environment, n_steps=64, batch_size=64, device="cpu", seed=0).learn(128)
    stream = streams.Gaussian(model.observation_space.shape[0] // 3)
    layers = [Bandit()] if options.get("feedback") == "bandit" else []
    play = simulate(stream, from_sb3(model), horizon=10, feedback=layers)
    assert np.isfinite(play.regret()).all()


@pytest.mark.parametrize("module", [experts_v1, biased_gaussian_v1, repeated_game_v1, weighted_rps_v1])
def test_supersuit_copies_face_losses_of_their_own(module):
    environment = supersuit.pettingzoo_env_to_vec_env_v1(module.parallel_env(horizon=5))
    copies = supersuit.concat_vec_envs_v1(environment, 3, base_class="gymnasium")
    copies.reset()
    actions = np.random.default_rng(0).dirichlet(np.ones(3), copies.num_envs).astype(np.float32)
    for _ in range(12):  # over two resets
        observations, _, _, _, infos = copies.step(actions)
    assert observations.shape == (6, 10)
    if module in (experts_v1, biased_gaussian_v1):
        seen = {tuple(info["losses"]) for info in infos}
        assert len(seen) == 3  # two agents of each copy face the same losses


BIASED = {"bias_scale": 1.0}
NAME = "regret_envs/BiasedGaussian-v1"


def assert_same_return(model, environment):
    """SB3's evaluation and the suite's of the same policy: returns within four standard errors."""
    normalization = model.get_vec_normalize_env()
    if normalization is not None:
        normalization.training = normalization.norm_reward = False
    returns, _ = evaluate_policy(model, environment, 2_000, warn=False, return_episode_rewards=True)
    play = simulate(streams.BiasedGaussian(3, **BIASED), from_sb3(model), horizon=20, num_runs=2_000, seed=3)
    ours = -np.trace(play.play_losses[0], axis1=1, axis2=2)
    error = np.hypot(np.std(returns), ours.std()) / np.sqrt(2_000)
    assert abs(np.mean(returns) - ours.mean()) < 4 * error
    uniform = simulate(streams.BiasedGaussian(3, **BIASED), Uniform(), horizon=20, num_runs=2_000, seed=3)
    gain = uniform.regret("external") - play.regret("external")
    assert gain.mean() > 4 * gain.std() / np.sqrt(2_000)  # and it has learned


@pytest.mark.parametrize(
    "wrap",
    [
        VecMonitor,
        VecNormalize,
        lambda env: VecFrameStack(env, 3),
        lambda env: VecFrameStack(VecNormalize(env), 2),
        lambda env: VecNormalize(VecFrameStack(env, 2)),
    ],
    ids=["plain", "normalized", "stacked", "normalized-then-stacked", "stacked-then-normalized"],
)
def test_a_model_comes_back_as_it_was_trained(wrap):
    options = {"horizon": 20, "action_mode": "softmax", "logit_scale": 4.0, **BIASED}
    environment = wrap(sb3_vec_env(NAME, 64, **options))
    model = PPO(
        "MlpPolicy", environment, n_steps=20, batch_size=320, learning_rate=3e-3, seed=0, device="cpu"
    )
    assert_same_return(model.learn(20_000), environment)
    assert from_sb3(model).logit_scale == 4.0


def test_a_model_trained_on_drawn_losses():
    environment = sb3_vec_env(NAME, 64, horizon=20, feedback="bandit", action_mode="discrete", **BIASED)
    model = PPO(
        "MlpPolicy", environment, n_steps=20, batch_size=320, learning_rate=3e-3, seed=0, device="cpu"
    )
    model.learn(40_000)
    assert from_sb3(model).takes == "bandit"
    returns, _ = evaluate_policy(model, VecMonitor(environment), 2_000, return_episode_rewards=True)
    world = streams.BiasedGaussian(3, **BIASED)
    play = simulate(world, from_sb3(model), horizon=20, num_runs=2_000, seed=3, feedback=Bandit())
    ours = -np.trace(play.realized.play_losses[0], axis1=1, axis2=2)
    assert abs(np.mean(returns) - ours.mean()) < 4 * np.hypot(np.std(returns), ours.std()) / np.sqrt(2_000)


def test_a_loaded_model_needs_its_normalization(tmp_path):
    environment = VecNormalize(sb3_vec_env(NAME, 16, horizon=20, **BIASED))
    model = PPO("MlpPolicy", environment, n_steps=20, seed=0, device="cpu").learn(2_000)
    model.save(tmp_path / "model")
    loaded = from_sb3(PPO.load(tmp_path / "model"), vec_normalize=environment)
    world = streams.BiasedGaussian(3, **BIASED)
    plays = [simulate(world, a, horizon=20, num_runs=16, seed=3) for a in (loaded, from_sb3(model))]
    np.testing.assert_array_equal(*(play.play_losses[0] for play in plays))


def test_what_changes_observations_in_an_unknown_way_is_named():
    class Doubled(VecEnvWrapper):
        def reset(self):
            return 2 * self.venv.reset()

        def step_wait(self):
            return self.venv.step_wait()

    model = PPO("MlpPolicy", Doubled(sb3_vec_env(NAME, 4)), device="cpu")
    with pytest.raises(ValueError, match="behind Doubled, which may change observations"):
        from_sb3(model)
    rescaled = make_vec_env(NAME, 2, wrapper_class=lambda env: gymnasium.wrappers.TimeAwareObservation(env))
    with pytest.raises(ValueError, match="ObservationWrapper of Gymnasium"):
        from_sb3(PPO("MlpPolicy", rescaled, device="cpu"))


def test_the_native_batch_as_a_vec_env():
    environment = sb3_vec_env(NAME, 5, horizon=3)
    environment.seed(7)
    first = environment.reset()
    batch = gymnasium.make_vec(NAME, num_envs=5, horizon=3, autoreset_mode="SameStep")
    np.testing.assert_array_equal(first, batch.reset(seed=7)[0])
    actions = np.random.default_rng(0).random((3, 5, 3))
    for t in range(3):
        observations, rewards, dones, infos = environment.step(actions[t])
        expected = batch.step(actions[t])
        np.testing.assert_array_equal(observations, expected[0])
        np.testing.assert_allclose(rewards, expected[1], rtol=1e-6)
        assert (dones == (t == 2)).all()
    for r, info in enumerate(infos):
        np.testing.assert_array_equal(info["terminal_observation"], expected[4]["final_obs"][r])
    assert environment.get_attr("horizon") == [3] * 5 and environment.get_attr("horizon", [0, 2]) == [3, 3]
    assert all(masks.all() for masks in environment.env_method("action_masks"))
    environment.set_attr("horizon", 1)
    environment.reset()
    assert environment.step(actions[0])[2].all()
    with pytest.raises(ValueError, match="share their settings"):
        environment.set_attr("horizon", 2, indices=[0])
