"""`regret-envs validate`: does the regret vanish?"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regret_envs.benchmarks.cli import complete
from regret_envs.benchmarks.cli.common import (
    allow_llm_option,
    cell_timeout_option,
    chosen_agents,
    chosen_tasks,
    executor_option,
    force_option,
    plan_errors,
    say,
    yes_option,
)
from regret_envs.benchmarks.cli.logs import log_level_option
from regret_envs.benchmarks.cli.running import run_cells

if TYPE_CHECKING:
    from regret_envs.benchmarks.analysis.vanishing import Verdict


@click.command("validate", short_help="Test whether the regret vanishes.")
@click.option(
    "--suite",
    shell_complete=complete.suites,
    default="language",
    show_default=True,
    help="Suites or tasks, comma-separated.",
)
@click.option("--agents", shell_complete=complete.agents, required=True, help="Agent specs, comma-separated.")
@click.option("--runs", type=click.IntRange(min=1), help="Runs per task.  [default: the suite's]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--format", "format_", type=click.Choice(["table", "json", "md"]), default="table")
@click.option(
    "--plot",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder for log–log plots with the fitted lines, one for each task.",
)
@executor_option
@log_level_option
@cell_timeout_option
@yes_option
@force_option
@allow_llm_option
@click.pass_context
def validate_command(
    context: click.Context,
    suite: str,
    agents: str,
    runs: int | None,
    seed: int,
    format_: str,
    plot: Path | None,
    executor: str,
    cell_timeout: float | None,
    yes: bool,
    force: bool,
    allow_llm: bool,
) -> None:
    """Play agents and test whether their regret vanishes, with Holm's correction over tasks and agents.

    Trend checking and regression are those of Park et al. 2025; the block bootstrap keeps the dependence
    between rounds that they leave out. Answers of language models that are in the cache cost nothing.
    """
    from regret_envs.benchmarks.analysis import tables, validation
    from regret_envs.benchmarks.analysis.vanishing import verdicts
    from regret_envs.benchmarks.running import runner
    from regret_envs.benchmarks.running.planning import plan
    from regret_envs.benchmarks.tasks.suites import default_runs

    specs, lacking, _ = chosen_agents(agents)
    for line in lacking:
        say(line)
    tasks = validation.regret_tasks(chosen_tasks(suite, force=force))
    with plan_errors():
        cells = plan(suite, tasks, specs, runs=runs or default_runs(suite), seed=seed, force=force)
    measure = functools.partial(runner.measure, allow_llm=allow_llm)
    # Every round is too much for the results file; answers of language models are kept in their cache.
    with tempfile.TemporaryDirectory() as folder:
        rows = run_cells(
            cells,
            Path(folder) / "rows",
            executor,
            rerun=True,
            measure=measure,
            yes=yes,
            cell_timeout=cell_timeout,
        )
    without = [row for row in rows if row.status != "ok"]
    failed = [row for row in without if row.status == "failed"]
    curves = validation.regret_curves(rows)
    if curves:
        order = [task.id for task in tasks]
        found = verdicts(dict(sorted(curves.items(), key=lambda item: order.index(item[0][0]))), seed=seed)
        tables.print_as(format_, found, [validation.validation_table(found)])
        if plot is not None:
            _draw(found, plot)
    for row in without:
        say(f"{row.agent} on {row.task}: {row.status}: {row.reason}")
    if failed or not curves:
        context.exit(1)


def _draw(found: list[Verdict], folder: Path) -> None:
    from regret_envs.benchmarks.cli.plot import with_matplotlib

    def draw() -> None:
        from regret_envs.benchmarks.plotting import figure_of, growth

        folder.mkdir(parents=True, exist_ok=True)
        for task in dict.fromkeys(verdict.task for verdict in found):
            axes = growth([verdict for verdict in found if verdict.task == task])
            figure_of(axes).savefig(folder / f"{task.replace('/', '-')}.svg")

    with_matplotlib(draw)
    say(f"plots in {folder}")
