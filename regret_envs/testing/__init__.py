"""Checks for your own agents, worlds and metrics, in the manner of scikit-learn's `check_estimator`.

They hold the built-in ones to the same contract. In a test suite:

    from regret_envs.testing import check_agent

    def test_my_agent_conforms():
        check_agent(MyAgent)

Each runs everything that it knows and raises one `ConformanceError` that lists what fails and how to fix
it; with `raises=False` it returns the findings instead, as `regret-envs check` shows them.
"""

from regret_envs.testing.agents import check_agent
from regret_envs.testing.findings import ConformanceError, Finding
from regret_envs.testing.games import check_game
from regret_envs.testing.metrics import check_metric
from regret_envs.testing.worlds import check_world

__all__ = ["ConformanceError", "Finding", "check_agent", "check_game", "check_metric", "check_world"]
