"""Minari: what was recorded is what was played, and can be played again."""

import gymnasium
import numpy as np
import pytest

minari = pytest.importorskip("minari")
pytest.importorskip("h5py")

from regret_envs import simulate, streams
from regret_envs.agents import Hedge


def test_recorded_losses_are_replayed(example, tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    script = example("record_minari")
    script.record(episodes=6)
    dataset = minari.load_dataset(script.NAME)
    recorded = script.losses(dataset)
    assert recorded.shape == (6, script.HORIZON, 3)
    replay = streams.Recorded(recorded.reshape(-1, 3), window=script.HORIZON)
    again = simulate(replay, Hedge(), horizon=script.HORIZON, num_runs=6)
    for seed in range(6):  # an episode's seed gives the losses of `simulate`
        play = simulate(
            streams.BiasedGaussian(3), Hedge(), horizon=script.HORIZON, seed=seed, record="losses"
        )
        np.testing.assert_array_equal(recorded[seed], play.losses[0][:, 0])
        np.testing.assert_allclose(again.play_losses[0][seed], play.play_losses[0][0], rtol=1e-12)


def test_the_environment_is_recovered(example, tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    script = example("record_minari")
    dataset = script.record(episodes=2)
    for episode in dataset.iterate_episodes():
        assert episode.terminations[-1] and not episode.truncations.any()
    environment = dataset.recover_environment()
    assert environment.get_wrapper_attr("horizon") == script.HORIZON
    original = gymnasium.make("regret_envs/BiasedGaussian-v1", horizon=script.HORIZON)
    np.testing.assert_array_equal(environment.reset(seed=4)[0], original.reset(seed=4)[0])


def test_the_example(run_example, tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    assert "Hedge on the 50 recorded episodes: regret" in run_example("record_minari")
