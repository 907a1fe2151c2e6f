"""Damaged files are read, or refused with an error that names the file: never another exception."""

import io
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regret_envs import games, streams
from regret_envs.benchmarks.running.results import ResultsError, Writer, read

EXAMPLES = 500 if os.environ.get("HYPOTHESIS_SOAK") else 25  # .ci/soak
FEW = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
BYTES = st.binary(max_size=80)


def damaged(whole):
    """A file with a piece of it replaced."""
    places = st.integers(0, len(whole))
    return st.builds(lambda a, b, new: whole[: min(a, b)] + new + whole[max(a, b) :], places, places, BYTES)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A results file with the rows of a cell."""
    from conftest import cell

    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    with Writer(path) as writer:
        writer.append(cell("hedge", {"external_regret": (1.0, 2.0)}))
    return path.read_bytes()


@FEW
@given(data=st.data())
def test_results(tmp_path, rows, data):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(data.draw(damaged(rows)))
    try:
        contents = read(path)
    except ResultsError as error:
        assert "rows.jsonl" in str(error)
    else:
        assert all(np.isfinite(row.values).all() for row in contents.rows)


@FEW
@given(content=damaged(npy(np.arange(12.0).reshape(2, 2, 3))))
def test_games(tmp_path, content):
    path = tmp_path / "game.npy"
    path.write_bytes(content)
    try:
        game = games.make("normal_form", payoffs=str(path))
    except (ValueError, OSError) as error:
        assert "game.npy" in str(error)
    else:
        assert all(np.isfinite(losses).all() for losses in game.losses)


def npz(array):
    file = io.BytesIO()
    np.savez_compressed(file, payoffs_0=array, payoffs_1=-array)
    return file.getvalue()


@FEW
@given(content=damaged(npz(np.arange(6.0).reshape(2, 3))))
def test_archives(tmp_path, content):
    path = tmp_path / "game.npz"
    path.write_bytes(content)
    try:
        game = games.make("normal_form", payoffs=str(path))
    except (ValueError, OSError) as error:
        assert "game.npz" in str(error)
    else:
        assert all(np.isfinite(losses).all() for losses in game.losses)


@FEW
@given(content=damaged(b"date,a,b\n2001-01-01,0.5,1\n2001-01-02,0.25,-2\n"))
def test_tables(tmp_path, content):
    path = tmp_path / "losses.csv"
    path.write_bytes(content)
    try:
        stream = streams.Recorded(str(path))
    except (ValueError, OSError) as error:
        assert "losses.csv" in str(error)
    else:
        assert np.isfinite(stream.losses).all() and stream.losses.ndim == 2
