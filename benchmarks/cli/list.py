"""`regret-envs list`: what there is, and tasks as TOML to copy."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import click

from regret_envs.benchmarks.cli import complete
from regret_envs.benchmarks.cli.common import Usage, chosen_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from regret_envs.benchmarks.analysis.tables import Table
    from regret_envs.worlds import World


@click.command("list", short_help="List what there is; print a task as TOML.")
@click.argument("name", required=False, shell_complete=complete.listed)
@click.option("--metrics", "kind", flag_value="metrics", help="List the metrics.")
@click.option("--worlds", "kind", flag_value="worlds", help="List streams and games, with their settings.")
@click.option("--laws", "kind", flag_value="laws", help="List what a universal policy may be trained on.")
def list_command(name: str | None, kind: str | None) -> None:
    """List what there is, one line each; or print a task as TOML, to copy and edit.

    NAME is suites, tasks, agents or environments for one list alone, or the name of a task or suite.
    """
    from regret_envs.benchmarks.analysis.tables import show
    from regret_envs.benchmarks.tasks.toml import suite_text

    if name and kind:
        raise Usage(f"{name} and --{kind} exclude each other: give one of them")
    if kind or not name or name in _LISTS:
        chosen = [_MORE[kind]] if kind else [_LISTS[name]] if name else _LISTS.values()
        show([table() for table in chosen])
        return
    if name.isidentifier():
        _check_name(name)
    try:
        click.echo(suite_text(chosen_tasks(name)), nl=False)
    except ValueError as error:
        raise click.ClickException(str(error)) from None


def _check_name(name: str) -> None:
    """Raise `Usage` if there is no list, suite or task of that name."""
    from regret_envs.benchmarks.tasks.core import SUITES, TASKS
    from regret_envs.names import UnknownNameError, lookup
    from regret_envs.plugins import plugins

    offered = {**plugins("suites", SUITES)[0], **plugins("tasks", TASKS)[0]}
    try:
        lookup("list, suite or task", name, {**_LISTS, **SUITES, **TASKS, **offered})
    except UnknownNameError as error:
        raise Usage(str(error)) from None


def _suites() -> Table:
    from regret_envs.benchmarks.analysis.tables import Table
    from regret_envs.benchmarks.tasks.core import SUITES
    from regret_envs.plugins import plugins

    rows = [[name, str(len(suite.tasks)), suite.summary] for name, suite in SUITES.items()]
    found, problems = plugins("suites", SUITES)
    rows += [[p.name, "–", f"a plug-in of {p.distribution}"] for p in found.values()]
    return Table("Suites", ["suite", "tasks", "what it is"], rows, note="\n".join(problems))


def _tasks() -> Table:
    from regret_envs.benchmarks.analysis.tables import Table
    from regret_envs.benchmarks.tasks.core import TASKS
    from regret_envs.plugins import plugins

    rows = [[task.id, str(task.horizon), task.summary] for task in TASKS.values()]
    found, problems = plugins("tasks", TASKS)
    rows += [[p.name, "–", f"a plug-in of {p.distribution}"] for p in found.values()]
    note = "\n".join(["regret-envs list TASK prints a task as TOML, to copy and edit.", *problems])
    return Table("Tasks", ["task", "T", "what it is"], rows, note=note)


def _agents() -> Table:
    from regret_envs.agents.catalogue import NEED_SETTINGS
    from regret_envs.agents.registry import known_agents
    from regret_envs.benchmarks.analysis.tables import Table

    known, problems = known_agents()
    known |= NEED_SETTINGS
    rows = [[name, entry.summary, entry.takes, entry.bounds or "–"] for name, entry in known.items()]
    note = (
        "Feedback: any (losses or estimates of them), full (all losses) or bandit (the drawn action's). "
        "Bounds: the kind of regret that the agent's guarantee bounds."
    )
    return Table(
        "Agents", ["agent", "what it is", "feedback", "bounds"], rows, note="\n".join([note, *problems])
    )


def _named_worlds() -> dict[str, Callable[..., World]]:
    from regret_envs import games, streams

    worlds: dict[str, Mapping[str, Callable[..., World]]] = {
        "streams": streams.STREAMS,
        "games": games.NAMED_GAMES,
    }
    return {f"{kind}.{name}": make for kind, named in worlds.items() for name, make in named.items()}


def _environments() -> Table:
    from regret_envs.benchmarks.analysis.tables import Table
    from regret_envs.envs import ENVIRONMENTS, PREDICTION

    rows = [[name, entry.summary] for name, entry in (ENVIRONMENTS | PREDICTION).items()]
    rows += [[name, _summary(world)] for name, world in _named_worlds().items()]
    return Table("Environments", ["environment", "what it is"], rows)


def _worlds() -> Table:
    from regret_envs.benchmarks.analysis.tables import Table
    from regret_envs.names import settings_of

    rows = [
        [name, _summary(world), ", ".join(settings_of(world)) or "–"]
        for name, world in _named_worlds().items()
    ]
    note = (
        'In a suite file: world = "streams.bernoulli", settings = { num_actions = 5, gap = 0.1 }. A setting '
        'without a value is needed. A world of your own is world = "module:function".'
    )
    return Table("Worlds", ["world", "what it is", "settings and defaults"], rows, note=note)


def _metrics() -> Table:
    from regret_envs.benchmarks.analysis.board import MARGIN
    from regret_envs.benchmarks.analysis.tables import Table
    from regret_envs.metrics import METRICS
    from regret_envs.plugins import plugins

    rows = [
        [
            m.name,
            m.summary,
            m.unit,
            "↑" if m.higher_is_better else "↓",
            m.normalize,
            ", ".join(m.needs) or "–",
        ]
        for m in METRICS.values()
    ]
    found, problems = plugins("metrics", METRICS)
    rows += [[p.name, f"a plug-in of {p.distribution}", "–", "–", "–", "–"] for p in found.values()]
    note = (
        "↓: lower is better. Scores divide by the normalization: regret, loss_scale · sqrt(T ln d / 2); gap, "
        "the same over T; loss, loss_scale; none, 1. No rank is decided by a difference below the "
        f"equivalence margin, {100 * MARGIN:g} % of the normalization (--margin). Needs: of the task."
    )
    heads = ["metric", "what it is", "unit", "better", "normalization", "needs"]
    return Table("Metrics", heads, rows, note="\n".join([note, *problems]))


def _laws() -> Table:
    from regret_envs.agents.universal import laws
    from regret_envs.benchmarks.analysis.tables import Table
    from regret_envs.names import settings_of
    from regret_envs.worlds import World

    rows = [
        [f"{laws.__name__}:{name}", _summary(law), ", ".join(settings_of(law))]
        for name, law in vars(laws).items()
        if inspect.isclass(law)
        and issubclass(law, World)
        and law.__module__ == laws.__name__
        and name[0] != "_"
    ]
    note = (
        "In a file of families: world = one of these or of regret-envs list --worlds, and of each setting a "
        "value, a range [low, high], { log = [low, high] } or { choices = [...] }; regret-envs train "
        "universal --families FILE trains on them."
    )
    return Table("Laws", ["law", "what it is", "settings and defaults"], rows, note=note)


def _summary(world: Callable[..., World]) -> str:
    return (world.__doc__ or "").split("\n")[0].partition(":")[0].rstrip(".")


_LISTS = {"suites": _suites, "tasks": _tasks, "agents": _agents, "environments": _environments}
_MORE = {"metrics": _metrics, "worlds": _worlds, "laws": _laws}
