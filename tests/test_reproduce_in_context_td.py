"""The reproduction of in-context TD: exact rows hold, statistics are unbiased, pictures are drawn."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from regret_envs.agents.softmax_td import SoftmaxTransformer
from regret_envs.agents.softmax_td_training import SoftmaxTDTraining
from regret_envs.benchmarks.reproduce import in_context_td_figures as figures
from regret_envs.benchmarks.reproduce import in_context_td_theory as theory
from regret_envs.benchmarks.reproduce import in_context_td_training as training
from regret_envs.benchmarks.reproduce.checks import Options


def test_equivalences_and_layers_hold():
    checks = [*theory.equivalences(), *theory.by_layers()]
    assert len(checks) == 15
    assert {check.holds for check in checks} == {"yes", "n/a"}
    assert all(check.holds == "yes" for check in checks if check.published is not None)


def test_the_norm_of_an_expectation_is_unbiased_and_its_error_covers_it():
    rng = np.random.default_rng(0)
    mean = np.array([0.3, -0.4, 0.0])
    found, errors = np.transpose(
        [training._norm_of_mean(mean + rng.standard_normal((40, 3))) for _ in range(400)]
    )
    # The norm of the mean itself would be about sqrt(0.25 + 3 / 40) = 0.57.
    assert abs((found**2).mean() - 0.25) < 5 * (found**2).std() / np.sqrt(400)
    assert abs(errors.mean() / found.std() - 1) < 0.3


def test_what_training_reports_comes_from_its_transformers(tmp_path):
    config = SoftmaxTDTraining(num_layers=3)
    constructed = SoftmaxTransformer.construct(5, num_layers=3)
    scaled = SoftmaxTransformer(2 * np.eye(5), [0.5, 0.45, -0.4], 3)
    emerged = training.Emerged(
        config, [constructed, scaled], [1.0, 3.0], theory.sample(30, 20, discount=0.5, features="random")
    )
    target, value, cosine, trained, built, _, zero, seconds = training.emergence(emerged)
    assert (target.ours, value.ours, cosine.ours, seconds.ours) == pytest.approx((0.95, -0.9, 1.0, 2.0))
    assert emerged.trained()[0] == pytest.approx(built.ours) and trained.at_most == pytest.approx(
        0.1 * zero.ours
    )
    curves = training.layer_curves(emerged, Options(tmp_path))
    np.testing.assert_allclose(curves.trained[0], curves.constructed)
    assert curves.constructed[3] == pytest.approx(built.ours)
    figures.draw_layers(tmp_path, [curves, dataclasses.replace(curves, discount=0.9)])
    figures.draw_parameters(tmp_path, {"a": constructed, "b": scaled})
    assert {p.name for p in tmp_path.iterdir()} == {
        "in-context-td-layers-0.5.csv",
        "in-context-td-layers.png",
        "in-context-td-parameters.png",
    }
