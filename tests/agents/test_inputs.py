"""The files that an agent plays from are part of its identity, declared or seen."""

import sys

import numpy as np
import pytest
from conftest import invoke

from regret_envs.agents.inputs import files_read
from regret_envs.agents.registry import SpecError, make
from regret_envs.benchmarks import evaluate
from regret_envs.benchmarks.running import planning
from regret_envs.benchmarks.running.results import read
from regret_envs.benchmarks.tasks.core import TASKS

AGENTS = """
import os
from pathlib import Path
import numpy as np
from regret_envs.agents import Agent, from_policy
from regret_envs.agents import Uniform

AT_IMPORT = Path("at_import.txt").read_text()

class Declared(Uniform):
    depends_on = ["weights.npz", "folder"]

class Reads(Uniform):
    def __init__(self, path="seen.txt"):
        self.text = Path(path).read_text()
        Path("written.txt").write_text("x")

    def reset(self, *args, **kwargs):
        os.close(os.open("in_reset.txt", os.O_RDONLY))
        super().reset(*args, **kwargs)

def policy() -> Agent:
    weights, files = np.load("weights.npz")["w"], ["weights.npz"]
    return from_policy(lambda x: np.tile(weights, (len(x), 1)), action_mode="strict", depends_on=files)

class Lacks(Uniform):
    depends_on = ["nowhere.npz"]

class Finds(Uniform):
    def reset(self, *args, **kwargs):
        import importlib
        importlib.import_module("_".join(["found", "as", "it", "runs"]))
        super().reset(*args, **kwargs)

class Raises(Uniform):
    def reset(self, *args, **kwargs):
        raise RuntimeError("no")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch, request):
    module = "agents_" + "".join(c if c.isalnum() else "_" for c in request.node.name)
    (tmp_path / f"{module}.py").write_text(AGENTS)
    (tmp_path / "folder").mkdir()
    for name in ("at_import.txt", "seen.txt", "other.txt", "in_reset.txt", "folder/a", "folder/b"):
        (tmp_path / name).write_text(name)
    save(tmp_path, [1.0, 0.0, 0.0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path, module


def save(folder, weights):
    np.savez(folder / "weights.npz", w=np.array(weights))


def test_declared_and_seen_files(folder):
    _, module = folder
    read_by = {
        name: set(files_read(f"{module}:{name}")) for name in ("Declared", "Reads", "policy", "Raises")
    }
    assert read_by == {
        "Declared": {"at_import.txt", "weights.npz", "folder/a", "folder/b"},
        "Reads": {"at_import.txt", "seen.txt", "in_reset.txt"},
        "policy": {"at_import.txt", "weights.npz"},
        "Raises": {"at_import.txt"},
    }
    # What one agent reads is not another's, whatever else is run.
    other = files_read(f"blum-mansour[copies={module}:Reads[path=other.txt]]")
    assert set(other) == {"at_import.txt", "other.txt", "in_reset.txt"}
    assert files_read("hedge") == {}


def test_modules_whose_names_are_computed(folder):
    path, module = folder
    (path / "found_as_it_runs.py").write_text("")
    assert set(files_read(f"{module}:Finds")) == {"at_import.txt", "found_as_it_runs.py"}
    sys.modules.pop("found_as_it_runs")


def test_a_declared_file_that_is_not_there(folder):
    _, module = folder
    with pytest.raises(SpecError, match=r"depends_on names nowhere\.npz, and there is no .*nowhere"):
        files_read(f"{module}:Lacks")
    assert make(f"{module}:Lacks")


def test_the_identity_follows_the_contents_and_not_the_place(folder):
    path, module = folder
    spec = f"{module}:policy"

    def key():
        inputs = {spec: files_read(spec)}
        (made,) = planning.plan("s", [TASKS["weighted_rps_t20"]], [spec], runs=1, seed=0, inputs=inputs)
        return made.key

    before = key()
    save(path, [0.0, 1.0, 0.0])
    assert key() != before
    save(path, [1.0, 0.0, 0.0])
    assert key() == before


def test_retrained_weights_are_measured_again(folder):
    path, module = folder
    args = ("run", "--suite", "weighted_rps_t20", "--agents", f"{module}:policy", "--executor", "local:1")
    result = invoke(*args, "--results", "r")
    assert f"{module}:policy is measured again when one of these changes: {module}, numpy " in result.stderr
    assert "weights.npz. Files that are read in other ways: name them in depends_on" in result.stderr
    first = [row.values for row in read("r").rows]
    assert "0 cells to run" in invoke(*args, "--results", "r").stderr
    save(path, [0.0, 1.0, 0.0])
    result = invoke(*args, "--results", "r")
    assert "1 cell to run" in result.stderr
    assert [row.values for row in read("r").rows[len(first) :]] != first
    # The same from Python.
    rows = evaluate([f"{module}:policy"], tasks="weighted_rps_t20")
    assert rows[0].key == read("r").rows[-1].key
