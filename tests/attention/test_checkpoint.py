# ruff: noqa: E402
import json
import pickle
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from click.testing import CliRunner
from safetensors.torch import load_file, save_file

from regret_envs import simulate
from regret_envs.agents import AGENTS, BlumMansour, Hedge, make
from regret_envs.agents.attention.builtin import SHIPPED, LinearAttentionAgent, SwapAttentionAgent
from regret_envs.agents.attention.checkpoint import Checkpoint, CheckpointError, load, read_config
from regret_envs.agents.attention.k_star import k_star
from regret_envs.agents.attention.recipe import default_recipe
from regret_envs.agents.attention.training import train
from regret_envs.agents.registry import SpecError, source_hash
from regret_envs.benchmarks.cli.train import train as train_command
from regret_envs.streams import Gaussian

NAMES = sorted(p.name for p in SHIPPED.iterdir() if p.is_dir())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    train(default_recipe("linear-attention", horizon=5, batch_size=8, num_steps=3), folder)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "c")


def test_a_checkpoint_plays_what_was_trained(folder):
    model, config = load(folder)
    assert config.recipe.seed == 0 and config.package_version and config.format == 1
    assert next(model.parameters()).dtype == torch.float64 and not model.training
    by_name, by_model = (
        simulate(Gaussian(3), agent, horizon=5, num_runs=4, seed=2, record="policies").policies[0]
        for agent in (make(f"checkpoint:{folder}"), model)
    )
    assert np.array_equal(by_name, by_model)


def test_it_is_picklable_without_its_files(folder):
    agent = Checkpoint(str(folder))
    shutil.rmtree(folder)
    again = pickle.loads(pickle.dumps(agent))
    assert np.isfinite(simulate(Gaussian(3), again, horizon=5).regret()).all()


def test_another_number_of_actions_is_refused_by_name(folder):
    agent = Checkpoint(str(folder))
    says = f"checkpoint {folder} was trained for 3 actions and was asked to play 4"
    assert agent.unsupported(4, horizon=5) == says and agent.unsupported(3, horizon=50) is None
    with pytest.raises(CheckpointError, match="trained for 3 actions"):
        simulate(Gaussian(4), agent, horizon=5)


def test_missing_truncated_and_foreign_files(folder):
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointError, match=r"model.safetensors is not a whole safetensors file"):
        load(folder)
    weights.write_bytes(pickle.dumps({"value": 1}))
    with pytest.raises(CheckpointError, match="pickles are never loaded"):
        load(folder)
    weights.unlink()
    with pytest.raises(CheckpointError, match=r"model.safetensors is missing"):
        load(folder)
    (folder / "config.json").unlink()
    (folder / "model.pt").write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"config.json is missing: there are pickles, which are never"):
        load(folder)
    with pytest.raises(SpecError, match=r"no checkpoint in .*nowhere"):
        make(f"checkpoint:{folder / 'nowhere'}")


def test_weights_of_another_shape_or_not_finite(folder):
    tensors = load_file(folder / "model.safetensors")
    save_file({**tensors, "score": torch.full((3,), torch.nan)}, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match="parameter score is not finite"):
        load(folder)
    save_file({**tensors, "score": torch.zeros(4), "extra": torch.zeros(1)}, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match="does not fit its config: extra, score"):
        load(folder)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: c.update(format=2), "format 2, from a newer regret-envs .*update the package"),
        (lambda c: c.update(note="hi"), "unknown field `note`"),
        (lambda c: c["recipe"].update(color=1), "unknown field `color`"),
        (lambda c: c["recipe"].update(settings={"fom": "full"}), "did you mean 'form'"),
        (lambda c: c["recipe"].update(model="linear"), "did you mean 'linear-attention'"),
        (lambda c: c.pop("recipe"), "missing required field `recipe`"),
    ],
)
def test_configs_that_cannot_be_read(folder, change, says):
    config = json.loads((folder / "config.json").read_text())
    change(config)
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=says):
        load(folder)


def test_a_config_that_is_no_json(folder):
    (folder / "config.json").write_text("{")
    with pytest.raises(CheckpointError, match="not a config that this version can read"):
        read_config(folder)


def test_a_cell_knows_its_checkpoint(folder):
    before = source_hash(f"checkpoint:{folder}")
    assert before and before == source_hash(f"checkpoint:{folder}[device=cpu]")
    (folder / "model.safetensors").write_bytes(b"other")
    assert source_hash(f"checkpoint:{folder}") != before
    assert source_hash("linear-attention-trained") and source_hash("hedge") is None


def test_the_shipped_checkpoints_are_small_and_hold_their_recipes():
    assert NAMES == ["linear-attention", "swap-attention", "transformer-2", "transformer-4"]
    files = [file for file in SHIPPED.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 2_000_000
    assert {AGENTS[name].checkpoint for name in AGENTS if AGENTS[name].checkpoint} == set(NAMES)
    for name in NAMES:
        model, config = load(SHIPPED / name)
        assert (config.recipe.num_actions, config.recipe.horizon) == (3, 20)
        layers = {"transformer-2": 2, "transformer-4": 4}.get(name)
        assert layers is None or model.layers == layers


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_agent_plays_what_it_was_trained_for_and_nothing_else(name):
    agent = make(name if name in AGENTS and "transformer" in name else f"{name}-trained")
    assert agent.unsupported(3, horizon=20) is None
    for problem in ((3, 21), (4, 20), (3, None)):
        reason = agent.unsupported(problem[0], horizon=problem[1])
        assert reason == f"{name} was trained for 3 actions and a horizon of 20"
    regret = simulate(Gaussian(3), agent, horizon=20, num_runs=500, seed=1).regret()
    assert (regret**2).mean() < 17  # uniform play has 18.9, k* 14.8


def test_the_theoretical_agents_play_as_the_classical_ones_where_nothing_was_trained():
    for d, horizon in ((3, 40), (2, 20)):
        step = k_star(d, horizon)
        for ours, classical in (
            (LinearAttentionAgent(), Hedge(step_size=step)),
            (SwapAttentionAgent(), BlumMansour(Hedge(step_size=d * step))),
        ):
            a, b = (
                simulate(Gaussian(d), agent, horizon=horizon, num_runs=4, record="policies").policies[0]
                for agent in (ours, classical)
            )
            assert np.abs(a - b).max() < 1e-12


def test_where_something_was_trained_it_is_played_unless_asked_otherwise():
    def policies(spec):
        return simulate(Gaussian(3), make(spec), horizon=20, num_runs=4, record="policies").policies[0]

    for name in ("linear-attention", "swap-attention"):
        assert np.array_equal(policies(name), policies(f"{name}-trained"))
        assert not np.allclose(policies(f"{name}[step_size=k_star]"), policies(name), atol=1e-6)
    hedge = policies("hedge[step_size=0.7]")
    assert np.abs(policies("linear-attention[step_size=0.7]") - hedge).max() < 1e-12


def test_an_unknown_horizon_needs_a_step_size():
    agent = LinearAttentionAgent()
    assert "it is unknown" in agent.unsupported(3, horizon=None)
    assert LinearAttentionAgent(step_size=0.5).unsupported(3, horizon=None) is None
    with pytest.raises(ValueError, match="give a step_size"):
        agent.reset(3, horizon=None, num_runs=1, rng=np.random.default_rng(0))


def test_swap_attention_of_many_actions_is_not_played():
    agent = make("swap-attention")
    assert agent.unsupported(400, horizon=10) is None
    assert agent.unsupported(1000, horizon=10) == "the value matrices of 1000 heads would take 8.0 GB"


def command(*args, code=0):
    result = CliRunner().invoke(train_command, args)
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


SMALL = ("--horizon", "5", "--batch-size", "8", "--steps", "3")


@pytest.mark.parametrize("model", ["linear-attention", "swap-attention", "transformer"])
def test_the_command_trains_every_model(model, tmp_path):
    out = tmp_path / "lsa"
    said = command(model, *SMALL, "--out", str(out))
    assert "final loss" in said and f"checkpoint:{out}" in said
    assert read_config(out).recipe.horizon == 5
    assert "already holds a training" in command(model, *SMALL, "--out", str(out), code=2)
    command(model, *SMALL, "--out", str(out), "--overwrite")


def test_the_command_takes_streams_with_settings_and_names_what_is_wrong(tmp_path):
    out = str(tmp_path / "a")
    command("linear-attention", *SMALL, "--stream", "biased-gaussian[bias_scale=0.5]", "--out", out)
    recipe = read_config(tmp_path / "a").recipe
    assert (recipe.stream, recipe.stream_settings) == ("biased-gaussian", {"bias_scale": 0.5})
    said = command("linear-attention", "--stream", "biased-gausian", "--out", out, "--overwrite", code=2)
    assert "did you mean 'biased_gaussian'" in said
    assert "is not there" in command("linear-attention", *SMALL, "--device", "cuda:9", "--out", "x", code=2)


def test_the_command_is_interrupted_and_resumed(tmp_path, monkeypatch):
    from regret_envs.agents.attention.training import Trainer

    one_step = Trainer.train_step

    def stops(self):
        if self.step == 2:
            raise KeyboardInterrupt
        return one_step(self)

    out = str(tmp_path / "a")
    monkeypatch.setattr(Trainer, "train_step", stops)
    assert "--resume" in command("linear-attention", *SMALL, "--out", out, code=130)
    monkeypatch.setattr(Trainer, "train_step", one_step)
    assert "--resume to continue" in command("linear-attention", *SMALL, "--out", out, code=2)
    said = command("linear-attention", "--horizon", "6", "--out", out, "--resume", code=2)
    assert "started with a different horizon" in said
    command("linear-attention", "--out", out, "--resume")
    command("linear-attention", *SMALL, "--out", str(tmp_path / "b"))
    files = [(tmp_path / name / "model.safetensors").read_bytes() for name in "ab"]
    assert files[0] == files[1]
