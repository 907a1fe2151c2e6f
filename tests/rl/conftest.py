"""The environments in the reinforcement-learning libraries, each group in a virtual environment of its own.

`.ci/rl` makes them and runs these tests there; elsewhere they are skipped for want of the libraries.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example():
    """Imports an example by name."""

    def load(name):
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def run_example(tmp_path):
    """Runs an example as its first lines say, in an empty folder; what it printed last."""

    def run(name):
        command = [sys.executable, str(EXAMPLES / f"{name}.py")]
        done = subprocess.run(command, cwd=tmp_path, env=os.environ, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
