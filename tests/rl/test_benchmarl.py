"""BenchMARL: IPPO, a short run."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("benchmarl")

from torchrl.envs.utils import ExplorationType, set_exploration_type


def test_a_policy_learns_and_comes_back_as_it_was_trained(example, assert_comes_back, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    benchmarl = example("train_benchmarl")
    experiment = benchmarl.train()
    returns = []
    with torch.no_grad(), set_exploration_type(ExplorationType.DETERMINISTIC):
        for _ in range(100):
            rollout = experiment.test_env.rollout(20, experiment.policy)
            assert rollout["next", "player", "terminated"][-1].all()
            returns += rollout["next", "player", "reward"].sum((0, 2))[:1].tolist()
    assert_comes_back(returns, benchmarl.as_agent(experiment))
