"""The reproduction of in-context TD: exact rows hold, statistics are unbiased, pictures are drawn."""

import sys

import numpy as np
import pytest

from regret_envs.rooms.policy_evaluation import reproduction

pytest.importorskip("torch")

from regret_envs.benchmarks.reproduce.checks import Options
from regret_envs.rooms.policy_evaluation import theory_checks as theory
from regret_envs.rooms.policy_evaluation import training_checks as training
from regret_envs.rooms.policy_evaluation.softmax_td import SoftmaxTransformer
from regret_envs.rooms.policy_evaluation.training import SoftmaxTDTraining

FIGURES = "regret_envs.rooms.policy_evaluation.figures"


def test_equivalences_and_layers_hold():
    checks = [*theory.equivalences(), *theory.by_layers()]
    assert len(checks) == 15
    differ = [check.quantity for check in checks if check.holds not in ("yes", "n/a")]
    # The prototype had 20 times as much of what a blunt kernel leaves, whatever its sharpness.
    assert [quantity.partition(",")[0] for quantity in differ] == [
        "one-hot against count-normalized tabular TD"
    ] * 3
    assert all(check.independent or check.exact is not None for check in checks if check.holds == "yes")


def test_flat_softmax_heads_are_linear_td_on_centered_features():
    # One layer, by hand: softmax to first order is the centered score.
    context = theory.sample(3, 20, discount=0.9, features="random").context
    assert theory._flat_softmax_error(context, 1e-3, discount=0.9, num_steps=1) < 1e-5
    assert [check.holds for check in theory.linear_special_case()] == ["yes", "yes"]


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
    assert emerged.trained()[0] == pytest.approx(built.ours)
    assert zero.ours > trained.ours
    curves = training.layer_curves(emerged, Options(tmp_path))
    np.testing.assert_allclose(curves.trained[0], curves.constructed)
    assert curves.constructed[3] == pytest.approx(built.ours)


def emerged_with(discount):
    trajectory = theory.sample(10, 20, discount=discount, features="random")
    transformer = SoftmaxTransformer.construct(5, num_layers=10)
    return training.Emerged(SoftmaxTDTraining(discount=discount), [transformer], [1.0], trajectory)


CURVES = {name: np.ones(21) for name in ("25", "50", "100", "200", "400", "τ = 0")}
FLOOR = theory.ErrorFloor([], CURVES, (25, 50, 100, 200, 400), np.ones((5, 3)))


def test_all_three_figures_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    reproduction._draw(Options(tmp_path), FLOOR, [emerged_with(0.5), emerged_with(0.9)])
    pictures = sorted(tmp_path.glob("*.png"))
    assert [p.name for p in pictures] == [f"in-context-td-{n}.png" for n in ("floor", "layers", "parameters")]
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in pictures)


def test_without_matplotlib_the_curves_are_written_and_a_line_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in [name for name in sys.modules if name.startswith("matplotlib.")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, FIGURES, raising=False)
    monkeypatch.delattr(FIGURES, raising=False)
    lines: list[str] = []
    reproduction._draw(Options(tmp_path, say=lines.append), FLOOR, [emerged_with(0.5)])
    assert [p.name for p in tmp_path.iterdir()] == ["in-context-td-layers-0.5.csv"]
    (line,) = lines
    assert line.startswith("matplotlib") and 'nothing is drawn: pip install "regret-envs[plot]"' in line
