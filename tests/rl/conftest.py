"""The environments in the reinforcement-learning libraries, each group in a virtual environment of its own.

`.ci/rl` makes them and runs these tests there; elsewhere they are skipped for want of the libraries.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from regret_envs import simulate, streams
from regret_envs.agents import Uniform

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch):
    """Imports an example by name."""

    def load(name):
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)  # its classes can be pickled
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def run_example(tmp_path):
    """Runs an example as its first lines say, in an empty folder; what it printed."""

    def run(name, *arguments):
        command = [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=os.environ, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def assert_comes_back():
    """A library's own evaluation and the suite agree within four standard errors, and the policy learned.

    The losses are biased Gaussian (bias scale 1, 3 actions, 20 rounds).
    """

    def check(returns, agent, *, learned=True):
        world = streams.BiasedGaussian(3, bias_scale=1.0)
        play, uniform = (simulate(world, a, horizon=20, num_runs=2_000, seed=3) for a in (agent, Uniform()))
        ours = -np.trace(play.play_losses[0], axis1=1, axis2=2)
        error = np.hypot(np.std(returns) / len(returns) ** 0.5, ours.std() / 2_000**0.5)
        assert abs(np.mean(returns) - ours.mean()) < 4 * error
        assert not learned or play.regret("external").mean() < 0.6 * uniform.regret("external").mean()

    return check
