import subprocess
import sys

import pytest

from regret_envs import benchmarks


def test_names_are_there_and_are_what_they_say():
    for name in benchmarks.__all__:
        assert getattr(benchmarks, name).__name__.rpartition(".")[2] == name
    assert set(benchmarks.__all__) <= set(dir(benchmarks))
    with pytest.raises(AttributeError, match="has no attribute 'leaderbord'"):
        _ = benchmarks.leaderbord


def test_nothing_heavy_is_imported_before_it_is_used():
    script = (
        "import sys, regret_envs.benchmarks.cli.main; "
        "print({'torch', 'matplotlib', 'scipy.optimize', 'regret_envs.agents'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_agents_are_listed_without_importing_torch():
    script = (
        "import sys; from regret_envs.agents.registry import known_agents; "
        "kinds = {(e.takes, e.bounds) for e in known_agents()[0].values()}; "
        "print(('bandit', 'external') in kinds, ('any', 'swap') in kinds, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "True True False\n"
