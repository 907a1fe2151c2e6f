"""What the shell completes: agents, tasks, suites, games, metrics and files, by click."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import click
from click.shell_completion import CompletionItem

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _names(known: Callable[[], Mapping[str, str]], *files: str) -> Complete:
    """Completes the last of several names that commas separate, and files with these suffixes.

    Args:
        known: makes the names with a line about each.
        files: suffixes.
    """

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",")
        found = {name: about for name, about in known().items() if name.startswith(last)}
        folder = Path(last).parent if not last.endswith("/") else Path(last)
        if files and folder.is_dir():
            paths = [p for p in sorted(folder.iterdir()) if p.suffix in files or p.is_dir()]
            texts = [f"{path}/" if path.is_dir() else str(path) for path in paths if path.name[:1] != "."]
            found |= {text: "" for text in texts if text.startswith(last)}
        return [CompletionItem(before + comma + text, help=about) for text, about in found.items()]

    return complete


def _agents() -> dict[str, str]:
    from regret_envs.agents.catalogue import NEED_SETTINGS
    from regret_envs.agents.registry import known_agents

    return {name: entry.summary for name, entry in {**known_agents()[0], **NEED_SETTINGS}.items()} | {
        "all": "all agents known by name"
    }


def _tasks() -> dict[str, str]:
    from regret_envs.benchmarks.tasks.core import TASKS
    from regret_envs.plugins import plugins

    offered = {name: f"a plug-in of {p.distribution}" for name, p in plugins("tasks", TASKS)[0].items()}
    return {name: task.summary for name, task in TASKS.items()} | offered


def _suites() -> dict[str, str]:
    from regret_envs.benchmarks.tasks.core import SUITES
    from regret_envs.plugins import plugins

    offered = {name: f"a plug-in of {p.distribution}" for name, p in plugins("suites", SUITES)[0].items()}
    return {name: suite.summary for name, suite in SUITES.items()} | offered | _tasks()


def _games() -> dict[str, str]:
    from regret_envs.games import NAMED_GAMES

    return {name: (make.__doc__ or "").split("\n")[0] for name, make in NAMED_GAMES.items()}


def _metrics() -> dict[str, str]:
    from regret_envs.metrics import METRICS

    return {name: metric.summary for name, metric in METRICS.items()}


def _listed() -> dict[str, str]:
    return dict.fromkeys(("suites", "tasks", "agents", "environments"), "a list") | _suites()


def files(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes files, as the shell does."""
    return [CompletionItem(incomplete, type="file")]


agents = _names(_agents)
tasks = _names(_tasks)
suites = _names(_suites, ".toml")
games = _names(_games, ".nfg", ".efg", ".toml", ".npz", ".npy")
metrics = _names(_metrics)
listed = _names(_listed)
