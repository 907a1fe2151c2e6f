"""Benchmarks: tasks as data, measuring them, and what the results say.

    from regret_envs.benchmarks import Suite, Task, compare, evaluate, leaderboard
    from regret_envs.benchmarks import plotting, tournament, validate

What these names stand for is imported when it is first used.
"""

from __future__ import annotations

if __name__ != "regret_envs.benchmarks":
    raise ImportError(
        "this folder is the package regret_envs.benchmarks: install the project (pip install -e .) and "
        "import it by that name"
    )

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regret_envs.benchmarks import plotting
    from regret_envs.benchmarks.analysis.comparison import compare
    from regret_envs.benchmarks.analysis.leaderboard import leaderboard
    from regret_envs.benchmarks.analysis.standings import tournament
    from regret_envs.benchmarks.analysis.validation import validate
    from regret_envs.benchmarks.running.evaluation import evaluate
    from regret_envs.benchmarks.tasks.core import Suite
    from regret_envs.benchmarks.tasks.task import Task

__all__ = ["Suite", "Task", "compare", "evaluate", "leaderboard", "plotting", "tournament", "validate"]

_WHERE = {
    "Suite": "tasks.core",
    "Task": "tasks.task",
    "compare": "analysis.comparison",
    "evaluate": "running.evaluation",
    "leaderboard": "analysis.leaderboard",
    "plotting": "plotting",
    "tournament": "analysis.standings",
    "validate": "analysis.validation",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_WHERE[name]}")
    return module if name == "plotting" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
