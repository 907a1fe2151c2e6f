"""What of the results a command shows: the options that choose, and the rows that they choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from regret_envs.benchmarks.cli import complete
from regret_envs.benchmarks.cli.common import Usage, listed, named_tasks, read_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from regret_envs.benchmarks.running.rows import Row

suite_option = click.option(
    "--suite",
    shell_complete=complete.suites,
    help="Suites or tasks, comma-separated.  [default: all in the results]",
)
agents_option = click.option(
    "--agents", shell_complete=complete.agents, help="Agents in the results, comma-separated.  [default: all]"
)
tasks_option = click.option(
    "--tasks", shell_complete=complete.tasks, help="Tasks in the results, comma-separated.  [default: all]"
)
metric_option = click.option(
    "--metric", shell_complete=complete.metrics, help="What ranks the agents.  [default: each task's first]"
)
by_option = click.option(
    "--by", type=click.Choice(["task", "score"]), help="Each task alone, or scores alone."
)


def _check_margin(context: click.Context, parameter: click.Parameter, percent: float) -> float:
    if not 0 <= percent < float("inf"):
        raise click.BadParameter(f"must be at least 0 and finite, got {percent:g}")
    return percent / 100


margin_option = click.option(
    "--margin",
    type=float,
    default=0.1,
    show_default=True,
    callback=_check_margin,
    help="Equivalence margin in percent of the normalization: a smaller difference does not count.",
)


@dataclass(frozen=True)
class Selection:
    """What of the results is shown.

    Attributes:
        rows: all rows.
        tasks: task ids in the order to show them, or None: all.
        agents: canonical specs, or None: all.
    """

    rows: list[Row]
    tasks: list[str] | None
    agents: list[str] | None

    def in_rows(self) -> Selection:
        """The same without tasks and agents that no row has."""
        tasks, agents = {row.task for row in self.rows}, {row.agent for row in self.rows}
        return Selection(
            self.rows,
            self.tasks and [task for task in self.tasks if task in tasks],
            self.agents and [agent for agent in self.agents if agent in agents],
        )


def selection(
    results: Sequence[Path],
    suite: str | None,
    tasks: str | None,
    agents: str | None,
    metric: str | None = None,
) -> Selection:
    """The rows of a file and what of them the options choose.

    Raises:
        Usage: if a task, an agent or a metric is not in the results; lists the near matches.
    """
    from regret_envs.agents import registry
    from regret_envs.names import UnknownNameError, lookup

    try:
        if metric is not None:
            check_metric_name(metric)
    except UnknownNameError as error:
        raise Usage(str(error)) from None
    # A name that is wrong is said before that there are no results.
    rows = read_rows(results) if any(path.exists() for path in results) else []
    ids = named_tasks(suite, rows) if suite else None
    rows = rows or read_rows(results)
    try:
        if tasks is not None:
            known = dict.fromkeys(row.task for row in rows)
            named = [name.strip() for name in tasks.split(",") if name.strip()]
            for name in named:
                lookup("task in the results", name, known)
            ids = [name for name in named if ids is None or name in ids]
            if not ids:
                raise Usage(f"of the tasks {tasks} none is in {suite or listed(results)}")
        chosen = None
        if agents is not None:
            chosen = [registry.canonical(spec) for spec in registry.split(agents)]
            for agent in chosen:
                lookup("agent in the results", agent, dict.fromkeys(row.agent for row in rows))
        if metric is not None:
            lookup("metric in the results", metric, dict.fromkeys(row.metric for row in rows if row.metric))
    except (registry.SpecError, UnknownNameError) as error:
        raise Usage(str(error)) from None
    return Selection(rows, ids, chosen).in_rows()


def check_metric_name(name: str) -> None:
    """See that a metric is built in or a plug-in's.

    Raises:
        UnknownNameError: if it is neither; lists the near matches.
    """
    from regret_envs.metrics import METRICS
    from regret_envs.names import lookup
    from regret_envs.plugins import plugins

    lookup("metric", name, {**METRICS, **plugins("metrics", METRICS)[0]})
