"""States of long cells: kept, gone on from, and bounded."""

import numpy as np
import pytest

from regret_envs.benchmarks.running import states
from regret_envs.benchmarks.running.states import State, shares_played


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
