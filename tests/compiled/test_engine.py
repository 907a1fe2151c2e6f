"""`regret-envs run --engine jax`: the same cells by the other engine."""

import re

import numpy as np
import pytest
from click.testing import CliRunner

from regret_envs.benchmarks.cli.main import main
from regret_envs.benchmarks.running.planning import plan
from regret_envs.benchmarks.running.results import read
from regret_envs.benchmarks.running.runner import measure
from regret_envs.benchmarks.tasks.suites import find_tasks


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp()))


def cells(tasks, agent, engine, runs=4):
    return plan("test", find_tasks(tasks), [agent], runs=runs, seed=3, engine=engine)


@pytest.mark.parametrize("agent", ["hedge", "blum-mansour"])
@pytest.mark.parametrize("task", ["weighted_rps_t20", "random_games_2x3x4_t1000", "nyse_o_windows"])
def test_games_and_recorded_losses_come_to_the_same(task, agent):
    (numpy,), (jax,) = cells(task, agent, "numpy"), cells(task, agent, "jax")
    assert numpy.identity != jax.identity and numpy.key != jax.key
    theirs, ours = measure(numpy), measure(jax)
    assert {row.engine for row in theirs} == {"numpy"} and {row.engine for row in ours} == {"jax"}
    assert [(r.status, r.metric, r.round, r.part) for r in ours] == [
        (r.status, r.metric, r.round, r.part) for r in theirs
    ]
    for here, there in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(here.values, there.values, atol=1e-8)


def test_streams_have_the_same_law():
    (numpy,), (jax,) = (cells("switching_d5_t1000", "hedge", e, runs=64) for e in ("numpy", "jax"))
    last = [
        np.array(next(r.values for r in measure(cell) if r.round == 1000 and r.metric == "external_regret"))
        for cell in (numpy, jax)
    ]
    assert not np.allclose(*last)
    error = np.sqrt(sum(values.var() for values in last) / 64)
    assert abs(last[0].mean() - last[1].mean()) < 5 * error


@pytest.mark.parametrize(
    ("task", "agent", "reason"),
    [
        ("weighted_rps_t20", "squint", "Squint.*no rule"),
        ("weighted_rps_t20", "exp3", "needs bandit feedback"),
        ("adaptive_d3_t500", "hedge", "no JAX form"),
        ("strategic_dss_t2000", "hedge", "no rule"),
    ],
)
def test_what_it_does_not_play_is_not_applicable_and_says_why(task, agent, reason):
    for cell in cells(task, agent, "jax"):
        (row,) = measure(cell)
        assert row.status == "n/a" and row.engine == "jax"
        assert re.search(reason, row.message)


def test_the_command_plays_by_the_engine_asked_for(tmp_path):
    results = str(tmp_path / "results.jsonl")
    command = ["run", "--suite", "weighted_rps_t20", "--agents", "hedge", "--results", results]
    for engine in ("numpy", "jax", "jax"):
        done = CliRunner().invoke(main, [*command, "--engine", engine, "--executor", "local:1"])
        assert done.exit_code == 0, done.output
    rows = read(results).rows
    assert [row.engine for row in rows if row.part == 0] == ["numpy", "jax"]
    assert "1 cells from before a change are left out" in done.output
    status = CliRunner().invoke(main, ["status", "--results", results])
    assert status.exit_code == 0 and "missing" in status.output


def test_without_jax_the_extra_is_named(monkeypatch, tmp_path):
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "jax" else found(name))
    done = CliRunner().invoke(main, ["run", "--engine", "jax", "--results", str(tmp_path / "r.jsonl")])
    assert done.exit_code == 2 and 'pip install "regret-envs[jax]"' in done.output
