"""What a training leaves behind besides its model."""

# ruff: noqa: E402
import logging
import math
import sys

import numpy as np
import pytest
from conftest import invoke

torch = pytest.importorskip("torch")

from regret_envs import progress
from regret_envs.agents.attention import log, training
from regret_envs.agents.attention.checkpoint import load
from regret_envs.agents.attention.objectives import block_regret, external_regret
from regret_envs.agents.attention.recipe import default_recipe, training_world
from regret_envs.agents.attention.rollout import play_batch
from regret_envs.agents.attention.training import Trainer, train

TINY = dict(num_actions=3, horizon=5, batch_size=8, num_steps=9)


@pytest.fixture(autouse=True)
def few_lines(monkeypatch):
    monkeypatch.setattr(training, "_EVALUATION_BATCHES", 1)
    monkeypatch.setattr(log, "_LINES", 4)


def table(folder):
    lines = log.read_log(folder)
    assert all(len(line) == len(log.COLUMNS) for line in lines)
    return dict(zip(log.COLUMNS, np.array(lines).T, strict=True))


@pytest.mark.parametrize(
    ("recipe", "regret"),
    [
        (default_recipe("linear-attention", **TINY), external_regret),
        (default_recipe("swap-attention", **TINY), block_regret),
    ],
)
def test_a_line_every_few_steps_and_after_the_last(tmp_path, recipe, regret):
    config = train(recipe, tmp_path)
    found = table(tmp_path)
    np.testing.assert_array_equal(found["step"], [2, 4, 6, 8, 9])
    assert found["step_size"][-1] == pytest.approx(config.step_size, rel=1e-5)
    assert (np.diff(found["seconds"]) > 0).all()
    # The regret on the batch after those of training and of the final loss.
    model = load(tmp_path)[0].train()
    policies, losses = play_batch(model, recipe, training_world(recipe), 9 + 1, 8)
    assert found["held_out_regret"][-1] == pytest.approx(regret(policies, losses).mean().item(), rel=1e-4)
    trainer = Trainer(recipe)
    losses = [trainer.train_step()[0].item() for _ in range(9)]
    np.testing.assert_allclose(found["loss"], np.array(losses)[[1, 3, 5, 7, 8]], rtol=1e-5)


def test_a_model_without_a_step_size_has_an_empty_column(tmp_path):
    train(default_recipe("transformer", settings={"width": 8, "layers": 1}, **TINY), tmp_path)
    assert np.isnan(table(tmp_path)["step_size"]).all() and np.isfinite(table(tmp_path)["loss"]).all()
    assert (
        (tmp_path / "training.csv").read_text().startswith("step,loss,held_out_regret,step_size,seconds\n2,")
    )


def test_a_resumed_training_has_the_log_of_one_that_was_not_interrupted(tmp_path, monkeypatch):
    recipe = default_recipe("linear-attention", **TINY)
    train(recipe, tmp_path / "whole")
    one_step = Trainer.train_step

    def interrupted(self):
        if self.step == 5:
            raise KeyboardInterrupt
        return one_step(self)

    monkeypatch.setattr(Trainer, "train_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(recipe, tmp_path / "broken")
    # A line of a step that the saved state does not have, as a killed process would leave it.
    with (tmp_path / "broken" / "training.csv").open("a") as file:
        file.write("6,1,1,1,1\n")
    monkeypatch.setattr(Trainer, "train_step", one_step)
    train(recipe, tmp_path / "broken", resume=True)
    whole, broken = table(tmp_path / "whole"), table(tmp_path / "broken")
    for name in log.COLUMNS[:-1]:
        np.testing.assert_array_equal(broken[name], whole[name])
    assert (np.diff(broken["seconds"]) > 0).all()


def test_another_training_in_the_folder_begins_the_log_anew(tmp_path):
    train(default_recipe("linear-attention", **TINY), tmp_path)
    train(default_recipe("linear-attention", **{**TINY, "num_steps": 4}), tmp_path)
    np.testing.assert_array_equal(table(tmp_path)["step"], [1, 2, 3, 4])


def test_a_file_that_is_not_a_log(tmp_path):
    (tmp_path / "training.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="not the log of a training"):
        log.read_log(tmp_path)


def test_a_line_a_minute(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.001)
    recipe = default_recipe("linear-attention", **{**TINY, "num_steps": 300, "batch_size": 256})
    with caplog.at_level(logging.INFO, logger="regret_envs"):
        train(recipe, tmp_path)
    assert any(
        r.name == "regret_envs.agents.attention.training" and " of 300 done, loss " in r.message
        for r in caplog.records
    )


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    args = ["train", "linear-attention", "--steps", "5", "--batch-size", "8", "--horizon", "5", "--out", "m"]
    said = invoke(*args).stdout
    assert "training.csv says what happened; regret-envs plot --training m draws it" in said
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    refused = invoke(*args, "--overwrite", "--tensorboard", code=2).stderr
    assert 'TensorBoard is not installed: pip install "regret-envs[tensorboard]"' in refused


def test_tensorboard_has_the_same_scalars(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    train(default_recipe("linear-attention", **TINY), tmp_path, tensorboard=True)
    events = accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    found = table(tmp_path)
    assert sorted(events.Tags()["scalars"]) == sorted(log.COLUMNS[1:])
    for name in log.COLUMNS[1:]:
        scalars = events.Scalars(name)
        assert [e.step for e in scalars] == list(found["step"])
        np.testing.assert_allclose([e.value for e in scalars], found[name], rtol=1e-5)
    assert not math.isnan(found["loss"][0])
