"""What `import regret_envs` offers, and `python -m regret_envs`."""

import subprocess
import sys
from importlib.metadata import version

import numpy as np
import pytest

import regret_envs
from regret_envs import PolicyError, Simulation, games, simulate, streams
from regret_envs.agents import Hedge


def test_the_version_is_the_distributions():
    assert regret_envs.__version__ == version("regret-envs")


def test_all_names_are_there():
    assert set(regret_envs.__all__) <= set(dir(regret_envs))


def test_a_simulation_and_its_errors_are_offered_at_the_top():
    simulation = Simulation(streams.Gaussian(3), Hedge(), horizon=4)
    simulation.advance(4)
    play = simulate(streams.Gaussian(3), Hedge(), horizon=4)
    assert np.array_equal(simulation.play().regret(), play.regret())

    class Off(Hedge):
        def act(self):
            return 2 * super().act()

    with pytest.raises(PolicyError, match="off the simplex"):
        simulate(streams.Gaussian(3), Off(), horizon=4)


def test_python_m_is_the_command_line():
    done = subprocess.run(
        [sys.executable, "-m", "regret_envs", "list", "agents"], capture_output=True, text=True, check=True
    )
    assert "hedge" in done.stdout


def test_a_world_says_how_many_agents_play_it():
    assert streams.Gaussian(5).default_seats() == 1
    assert games.random_game((2, 3, 4), seed=0).default_seats() == 3
