"""The two statements of docs/reproducibility.md: to the bit on one machine, and to 1e-12 on another CPU."""

import json
import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from regret_envs.agents import AGENTS
from regret_envs.benchmarks import evaluate

# What the page names: ties that rounding decides. The universal policies are slow.
LEFT_OUT = ("ftl", "internal-rm", "universal")
ALL = [
    name
    for name, entry in AGENTS.items()
    if entry.takes == "any" and entry.requires is None and not name.startswith(LEFT_OUT)
]
PLAYED = [
    (ALL, "gaussian_d3_t20,weighted_rps_t20"),
    (["adahedge", "regret-matching", "rm+", "blum-mansour"], "jordan_t1000"),
]

PLAY = """
import json, sys
from regret_envs.benchmarks import evaluate

for agents, tasks in json.loads(sys.argv[1]):
    for r in evaluate(agents, tasks=tasks, runs=3):
        print(json.dumps([r.agent, r.task, r.metric, r.round, r.values]))
"""


def elsewhere(**environment):
    """The rows of a process that NumPy and OpenBLAS take for another CPU."""
    process = subprocess.run(
        [sys.executable, "-c", PLAY, json.dumps(PLAYED)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )
    rows = map(json.loads, process.stdout.splitlines())
    return {tuple(row[:4]): np.array(row[4]) for row in rows}


def here(**settings):
    rows = [row for agents, tasks in PLAYED for row in evaluate(agents, tasks=tasks, runs=3, **settings)]
    assert {row.status for row in rows} == {"ok"}
    return {(r.agent, r.task, r.metric, r.round): np.array(r.values) for r in rows}


@pytest.fixture(scope="module")
def rows():
    return here()


def test_to_the_bit_in_any_process(rows):
    """In this process, in two workers, and in a new interpreter."""
    for others in (here(num_workers=2), elsewhere()):
        assert others.keys() == rows.keys()
        assert all(np.array_equal(others[key], values) for key, values in rows.items())


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of x86 instruction sets")
def test_to_1e_12_on_another_cpu(rows):
    """With NumPy's loops for the oldest instructions and OpenBLAS's kernel for Nehalem."""
    others = elsewhere(NPY_DISABLE_CPU_FEATURES="X86_V4 X86_V3", OPENBLAS_CORETYPE="Nehalem")
    assert others.keys() == rows.keys() and len(rows) > 500
    for key, values in rows.items():
        scale = max(1.0, float(np.abs(values).max()))
        assert np.abs(others[key] - values).max() <= 1e-12 * scale, key
