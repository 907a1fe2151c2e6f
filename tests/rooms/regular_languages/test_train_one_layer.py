"""The training command for regular languages: what it writes, prints and refuses."""

import pytest
from click.testing import CliRunner

from regret_envs.benchmarks.cli.main import main
from regret_envs.rooms.regular_languages import languages, training
from regret_envs.rooms.regular_languages.training import train
from regret_envs.rooms.regular_languages.transformer import (
    OneLayerTransformer,
    chain_of_thought,
    even_pairs_set,
    parity_chain_set,
)


def run(*arguments):
    return CliRunner().invoke(main, ["train", "one-layer-transformer", *map(str, arguments)])


def test_even_pairs(tmp_path):
    out = tmp_path / "new" / "model.npz"
    settings = ("--length", 5, "--temperature", 1.5, "--step-size", 0.2, "--attention-steps", 50)
    result = run("--task", "even-pairs", "--steps", 400, "--out", out, *settings)
    assert result.exit_code == 0, result.output
    same = OneLayerTransformer(5, temperature=1.5)
    trajectory = train(same, even_pairs_set(5), num_steps=400, step_size=0.2, attention_steps=50)
    model = OneLayerTransformer.load(out)
    assert (model.attention == same.attention).all() and model.temperature == 1.5
    assert f"400    {trajectory.losses[400]:.6f}" in result.output
    assert (
        f"62 of 62 sequences right, all of them from step {trajectory.first_step_right} on" in result.output
    )
    assert "parity of 5 tokens by chain of thought: 100.0% right" in result.output


def test_parity_by_chain_of_thought(tmp_path):
    out = tmp_path / "model.npz"
    result = run("--task", "parity-cot", "--length", 3, "--steps", 1000, "--out", out)
    assert result.exit_code == 0, result.output
    assert "30 of 30 sequences right" in result.output
    assert "parity of 3 tokens by chain of thought: 100.0% right" in result.output
    tokens = languages.sequences(3)
    answers = chain_of_thought(OneLayerTransformer.load(out), tokens, truncate=False)
    assert (answers == languages.parity(tokens)).all()
    assert run("--task", "parity-cot", "--out", out).exit_code == 2
    untrained = run("--task", "parity-cot", "--out", out, "--steps", 0, "--overwrite")
    assert "0 of 126 sequences right\n" in untrained.output
    assert len(parity_chain_set(4)) == 126


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--task", "odd-pairs"), "'even-pairs', 'parity-cot'"),
        ((), "Missing option '--task'"),
        (("--task", "even-pairs", "--length", "17"), "at most 16, got 17"),
        (("--task", "parity-cot", "--length", "1"), "num_tokens must be at least 2"),
        (("--task", "even-pairs", "--step-size", "-1"), "step_size must be finite and not negative"),
        (("--task", "even-pairs", "--temperature", "0"), "temperature must be positive"),
    ],
)
def test_bad_input_is_a_line(tmp_path, arguments, message):
    result = run(*arguments, "--out", tmp_path / "model.npz")
    assert result.exit_code == 2 and message in result.output
    assert not (tmp_path / "model.npz").exists()


def test_ctrl_c_saves_the_model_as_it_is(tmp_path, monkeypatch):
    def interrupted(model, data, **settings):
        model.head[:] = 7.0
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train", interrupted)
    result = run("--task", "even-pairs", "--out", tmp_path / "model.npz")
    assert result.exit_code == 130 and "interrupted" in result.output
    assert (OneLayerTransformer.load(tmp_path / "model.npz").head == 7).all()
