"""What tests share: playing an agent by hand, the command line, rows of results, and fixtures."""

from __future__ import annotations

import contextlib
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from regret_envs.benchmarks.running.rows import Row

with contextlib.suppress(ImportError):  # environments of other libraries have no hypothesis
    import hypothesis

    # No example is timed: a machine may be busy.
    hypothesis.settings.register_profile("untimed", deadline=None)
    hypothesis.settings.load_profile("untimed")


def play(agent, losses, horizon=None, seed=0):
    """The policies (rounds, num_runs, num_actions) of an agent shown these losses, from a reset on."""
    _, num_runs, num_actions = losses.shape
    agent.reset(num_actions, horizon=horizon, num_runs=num_runs, rng=np.random.default_rng(seed))
    return play_on(agent, losses)


def play_on(agent, losses):
    """As `play`, of an agent in the middle of play."""
    policies = []
    for row in losses:
        policies.append(np.array(agent.act()))
        agent.observe(row)
    return np.array(policies)


def invoke(*args, code=0, command=None, **env):
    """The result of `regret-envs` (or of another click command) in this process; it must exit with `code`."""
    from regret_envs.benchmarks.cli.main import main

    result = CliRunner().invoke(command or main, [str(arg) for arg in args], env=env)
    assert result.exit_code == code, (result.exit_code, result.output, result.exception)
    return result


@pytest.fixture
def importable(request, monkeypatch):
    """The test's module by its name, as specs and the workers of executors import it."""
    monkeypatch.setitem(sys.modules, request.module.__name__, request.module)
    monkeypatch.syspath_prepend(request.path.parent)


def cell(agent, values, *, task="t", status="ok", rounds=(1, 50), identity=None, key=None, **fields):
    """The rows of a cell: `values` maps metrics to one number per run at the last round."""
    given = {
        "identity": identity or f"{task} {agent}",
        "status": status,
        "suite": "s",
        "task": task,
        "task_version": 1,
        "agent": agent,
        "seed": 0,
        "block": 0,
        "num_actions": 3,
        "loss_scale": 2.0,
        "code_version": "0",
        "schema": 2,
        "task_hash": task,
        **fields,
    }
    if status != "ok":
        measured = [{"message": "why"}]
        given.setdefault("num_runs", 2)
    else:
        measured = [
            {
                "metric": m,
                "round": t,
                "values": tuple(float(v) for v in x) if t == rounds[-1] else (9.0,) * len(x),
            }
            for m, x in values.items()
            for t in rounds
        ]
        given.setdefault("num_runs", len(next(iter(values.values()))))
    key = key or " ".join(str(given[k]) for k in ("identity", "seed", "block", "num_runs"))
    return [Row(key=key, part=i, parts=len(measured), **given, **m) for i, m in enumerate(measured)]


def regrets(*values):
    return {"external_regret": values, "swap_regret": [2 * v for v in values]}
