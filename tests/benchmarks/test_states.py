"""States of long cells: kept, gone on from, and bounded."""

import pickle

import numpy as np
import pytest
from conftest import invoke

from regret_envs.benchmarks.running import planning, states
from regret_envs.benchmarks.running.cells import CODE_VERSION
from regret_envs.benchmarks.running.states import State, shares_played
from regret_envs.benchmarks.tasks.core import TASKS


@pytest.fixture
def at_once(monkeypatch):
    """Every call of `keep` writes."""
    monkeypatch.setattr(states, "SAVE_SECONDS", 0.0)
    monkeypatch.setattr(states, "SHOW_SECONDS", 0.0)
    monkeypatch.setattr(states, "PAUSES", 0)


def test_what_is_kept_is_loaded_and_dropped(tmp_path, at_once):
    path = tmp_path / "folder" / "cell.state"
    State(path).keep(0.25, {"t": 250})
    assert State(path).load() == {"t": 250} and shares_played(path.parent) == [0.25]
    State(path).drop()
    assert State(path).load() is None and not list(path.parent.iterdir())


@pytest.mark.parametrize("content", [np.zeros(1000), lambda: 0], ids=["too large", "does not pickle"])
def test_what_cannot_be_kept_leaves_the_last_that_could(tmp_path, at_once, monkeypatch, content):
    monkeypatch.setattr(states, "MAX_BYTES", 4000)
    path = tmp_path / "cell.state"
    state = State(path)
    state.keep(0.1, "small")
    state.keep(0.2, content)
    assert State(path).load() == "small" and shares_played(tmp_path) == [0.2]
    assert {p.name for p in tmp_path.iterdir()} == {"cell.state", "cell.rounds"}
    # A process that was killed while it wrote leaves a part.
    (tmp_path / "cell.state.17.part").write_bytes(b"half")
    state.drop()
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_state_is_as_if_there_were_none(tmp_path):
    (tmp_path / "cell.state").write_bytes(b"no pickle")
    assert State(tmp_path / "cell.state").load() is None
    assert State(None).load() is None


class Opened:
    """Unpickling it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_states_are_loaded_only_where_it_is_asked_for(tmp_path, at_once):
    path, ran = tmp_path / "cell.state", tmp_path / "ran"
    path.write_bytes(pickle.dumps(Opened(ran)))
    state = State(path, pickles=False)
    assert state.load() is None and not ran.exists()
    state.keep(0.5, "content")
    assert shares_played(tmp_path) == [0.5] and path.read_bytes() == pickle.dumps(Opened(ran))
    State(path).load()
    assert ran.exists()  # what the option is for, and why it is one


def test_run_does_not_load_the_states_that_lie_beside_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (made,) = planning.plan("s", [TASKS["weighted_rps_t20"]], ["uniform"], runs=1, seed=0)
    folder = tmp_path / "r.jsonl.states"
    folder.mkdir()
    (folder / f"{made.key}-{CODE_VERSION}.state").write_bytes(pickle.dumps(Opened(tmp_path / "ran")))
    args = ("--agents", "uniform", "--results", "r.jsonl", "--executor", "local:1")
    invoke("run", "--suite", "weighted_rps_t20", *args)
    assert not (tmp_path / "ran").exists()
