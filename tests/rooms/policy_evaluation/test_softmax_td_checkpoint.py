"""Checkpoints of softmax Transformers, and the command that makes them."""

import json
import sys

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch")

from regret_envs.agents.attention.checkpoint import CheckpointError
from regret_envs.benchmarks.cli.main import main
from regret_envs.rooms.policy_evaluation.checkpoint import load, save
from regret_envs.rooms.policy_evaluation.problems import predict
from regret_envs.rooms.policy_evaluation.softmax_td import SoftmaxTransformer
from regret_envs.rooms.policy_evaluation.training import SoftmaxTDTraining, train
from regret_envs.rooms.policy_evaluation.value_agents import InContextTransformer

QUICK = ["--layers", "2", "--states", "4", "--num-features", "3", "--steps", "3", "--batch-size", "2"]
TRAINING = SoftmaxTDTraining(num_layers=2, num_states=4, num_features=3, num_steps=3, batch_size=2)


def test_train_writes_a_checkpoint_that_plays_as_what_was_trained(tmp_path):
    out = tmp_path / "run"
    result = CliRunner().invoke(main, ["train", "softmax-td", *QUICK, "--out", str(out)])
    assert result.exit_code == 0, result.output
    for line in ("V, (reward, target, value)", "cosine of A", "MSVE trained", "MSVE zero", str(out)):
        assert line in result.output
    transformer, config = load(out)
    assert config.training == TRAINING
    trained = train(TRAINING)
    np.testing.assert_array_equal(transformer.attention, trained.attention)
    np.testing.assert_array_equal(transformer.value_weights, trained.value_weights)
    rng = np.random.default_rng(0)
    trajectory = TRAINING.processes(3, rng=rng).sample(9, rng=rng)
    np.testing.assert_array_equal(
        predict(InContextTransformer(transformer), trajectory),
        predict(InContextTransformer(trained), trajectory),
    )


def test_train_does_not_overwrite_unless_asked(tmp_path):
    command = ["train", "softmax-td", *QUICK, "--out", str(tmp_path)]
    assert CliRunner().invoke(main, command).exit_code == 0
    again = CliRunner().invoke(main, command)
    assert again.exit_code == 2 and "holds a training already" in again.output
    assert CliRunner().invoke(main, [*command, "--overwrite", "--seed", "5"]).exit_code == 0
    assert load(tmp_path)[1].training.seed == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--discount", "1"], "discount must lie in [0, 1), got 1.0"),
        (["--layers", "0"], "num_layers must be at least 1"),
        (["--context-length", "0"], "context_length must be at least 1"),
        (["--states", "1"], "num_states must be at least 2"),
        (["--learning-rate", "nan"], "learning_rate must be positive"),
        (["--features", "onehot"], "one_hot"),
    ],
)
def test_wrong_options_are_usage_errors(tmp_path, options, message):
    result = CliRunner().invoke(main, ["train", "softmax-td", *options, "--out", str(tmp_path / "run")])
    assert result.exit_code == 2 and message in result.output
    assert not (tmp_path / "run").exists()


def test_divergence_is_an_error_and_writes_nothing(tmp_path):
    command = ["train", "softmax-td", *QUICK, "--learning-rate", "1e200", "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1 and "the loss is" in result.output
    assert not (tmp_path / "run").exists()


def test_without_torch_it_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    result = CliRunner().invoke(main, ["train", "softmax-td", "--out", str(tmp_path / "run")])
    assert result.exit_code == 1
    assert 'torch is not installed: pip install "regret-envs[torch]"' in result.output


def damage(folder, kind):
    config = folder / "config.json"
    content = json.loads(config.read_text())
    if kind == "no config":
        config.unlink()
    elif kind == "no model":
        (folder / "model.safetensors").unlink()
    elif kind == "no JSON":
        config.write_text("{")
    elif kind == "newer format":
        config.write_text(json.dumps({**content, "format": 2}))
    elif kind == "another model":
        config.write_text(json.dumps({**content, "model": "swap-attention"}))
    elif kind == "a discount of 2":
        config.write_text(json.dumps({**content, "training": {**content["training"], "discount": 2.0}}))
    elif kind == "other features":
        config.write_text(json.dumps({**content, "training": {**content["training"], "num_features": 7}}))
    elif kind == "torn model":
        model = folder / "model.safetensors"
        model.write_bytes(model.read_bytes()[:40])
    elif kind == "not finite":
        bad = SoftmaxTransformer(np.eye(3), np.ones(3), 2)
        bad.attention[0, 0] = np.nan
        save(folder, bad, TRAINING)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("no config", "config.json is missing"),
        ("no model", "model.safetensors"),
        ("no JSON", "can read"),
        ("newer format", "format"),
        ("another model", "model"),
        ("a discount of 2", "discount must lie in"),
        ("other features", "reads 3 features, its config says 7"),
        ("torn model", "can read"),
        ("not finite", "finite"),
    ],
)
def test_a_damaged_checkpoint_is_an_error_that_says_how(tmp_path, kind, message):
    save(tmp_path, SoftmaxTransformer.construct(3, num_layers=2), TRAINING)
    load(tmp_path)
    damage(tmp_path, kind)
    with pytest.raises(CheckpointError, match=message):
        load(tmp_path)
