"""Shared by the commands: options, names from the command line, running cells, reading rows."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regret_envs.benchmarks.cli import complete

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from regret_envs.benchmarks.running.rows import Row
    from regret_envs.benchmarks.tasks.task import Task

_RESULTS = "regret-envs-results.jsonl"


def finite(context: click.Context, parameter: click.Parameter, given: float | None) -> float | None:
    """A callback of options that are numbers, which "nan" and "inf" are to Click."""
    if given is not None and not math.isfinite(given):
        raise click.BadParameter("it must be finite")
    return given


def _results_files(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[Path, ...]:
    files = tuple(map(Path, given or (_RESULTS,)))
    for text, path in zip(given, files, strict=False):
        if not text.strip():
            raise click.BadParameter("it is empty: give the name of a file")
        if path.is_dir():
            raise click.BadParameter(f"{path} is a folder: give the name of a file in it")
    return files


def _results_file(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> Path:
    files = _results_files(context, parameter, given)
    if len(files) > 1:
        raise click.BadParameter("results are written to one file; commands that read them take several")
    return files[0]


results_option = click.option(
    "--results",
    shell_complete=complete.files,
    multiple=True,
    callback=_results_file,
    help=f"The results file, JSON lines.  [default: {_RESULTS}]",
)
all_results_option = click.option(
    "--results",
    shell_complete=complete.files,
    multiple=True,
    callback=_results_files,
    help=f"A results file, JSON lines; may be repeated.  [default: {_RESULTS}]",
)


MOST_REQUESTS = 10_000
"""So many requests are made without asking."""


class Usage(click.UsageError):
    """A usage error: exit status 2, without the usage line."""

    def show(self, file: object = None) -> None:
        click.echo(f"Error: {self.message}", err=True)


executor_option = click.option(
    "--executor",
    default="local",
    help="local:N processes, dask://HOST:PORT, ray:N or ray://HOST:PORT.  [default: all cores]",
)


cell_timeout_option = click.option(
    "--cell-timeout",
    type=click.FloatRange(min=0, min_open=True),
    callback=finite,
    help="Seconds that a cell may run (local and ray); one that runs longer fails.  [default: none]",
)
allow_llm_option = click.option(
    "--allow-llm", is_flag=True, help="Let language models connect that a suite file names."
)
force_option = click.option(
    "--force", is_flag=True, help="Play what is estimated not to end or not to fit into memory."
)
yes_option = click.option("--yes", is_flag=True, help=f"Make more than {MOST_REQUESTS:,} requests.")


def say(line: str) -> None:
    click.echo(line, err=True)


LEFT_OUT = f"{__name__}.left_out"


def left_out(line: str) -> None:
    """Say that something that the user named is left out; the command then ends with status 1."""
    say(line)
    click.get_current_context().meta[LEFT_OUT] = True


def chosen_tasks(names: str, *, force: bool = False) -> list[Task]:
    """The tasks of suites, tasks and suite files, comma-separated; wrong ones of files are left out."""
    from regret_envs.benchmarks.tasks.suites import SuiteError, find_tasks
    from regret_envs.names import UnknownNameError
    from regret_envs.plugins import PluginError

    sys.path.insert(0, os.getcwd())
    wrong: list[str] = []
    try:
        found = find_tasks(names, force=force, wrong=wrong)
    except (UnknownNameError, SuiteError, PluginError) as error:
        raise Usage(str(error)) from None
    if not found:
        raise Usage("\n".join(wrong))
    for line in wrong:
        left_out(f"{line}; the task is left out")
    return found


@contextlib.contextmanager
def plan_errors() -> Iterator[None]:
    """Turn what cannot be planned into a usage error."""
    try:
        yield
    except (ImportError, OSError, ValueError, TypeError) as error:
        raise Usage(str(error)) from None


GAME_SOURCES = 'a game\'s name, a file (.nfg, .efg, .toml, .npz) or "module:function"'
"""What `--game` takes, for the helps."""


@contextlib.contextmanager
def game_errors() -> Iterator[None]:
    """Turn what is wrong with `--game` into a usage error; modules of the working folder are found."""
    sys.path.insert(0, os.getcwd())
    try:
        yield
    except (ImportError, OSError, ValueError, TypeError, AttributeError) as error:
        raise Usage(f"--game: {error}") from None


def chosen_agents(specs: str) -> tuple[list[str], list[str], dict[str, dict[str, str]]]:
    """The specs that can be made, a line about each that needs a missing extra, and custom agents' files.

    Args:
        specs: agent specs, comma-separated; "all" stands for all agents known by name.
    """
    from regret_envs.agents import registry
    from regret_envs.benchmarks.running.apart import Apart, try_agent
    from regret_envs.benchmarks.running.cells import shared_imports
    from regret_envs.names import UnknownNameError

    sys.path.insert(0, os.getcwd())
    chosen: list[str] = []
    lacking: list[str] = []
    inputs: dict[str, dict[str, str]] = {}
    try:
        known, problems = registry.known_agents()
        named = registry.split(specs)
        lacking += problems if "all" in named else []
        wanted = dict.fromkeys(s for name in named for s in (known if name == "all" else [name]))
        with Apart(preload=shared_imports(wanted)) as apart:
            for spec in wanted:
                try:
                    if registry.custom_modules(spec):
                        inputs[spec] = apart.call(try_agent, spec)
                    else:
                        registry.make(spec)
                except registry.MissingExtraError as error:
                    lacking.append(f"{spec} is left out: {error}")
                    if spec in named:
                        click.get_current_context().meta[LEFT_OUT] = True
                    continue
                except registry.AgentImportError as error:
                    if spec in named:
                        raise
                    lacking.append(f"{spec} is left out: {error}")
                    continue
                except (registry.SpecError, UnknownNameError):
                    raise
                except Exception:
                    pass  # recorded, with its traceback, when the agent is run
                chosen.append(spec)
    except (registry.AgentImportError, registry.SpecError, UnknownNameError) as error:
        raise Usage(str(error)) from None
    return chosen, lacking, inputs


def say_tracked(inputs: Mapping[str, Mapping[str, str]]) -> None:
    """Say by what the results of every custom agent are told apart."""
    from regret_envs.agents.identity import tracked

    for spec, files in inputs.items():
        with contextlib.suppress(ImportError):
            say(
                f"{spec} is measured again when one of these changes: {', '.join([tracked(spec), *files])}. "
                "Files that are read in other ways: name them in depends_on"
            )


MOST_LINES = 20


def listed(files: Sequence[Path]) -> str:
    """The names of files, for messages."""
    return ", ".join(map(str, files))


def say_skipped(skipped: Sequence[str]) -> None:
    """Say what of results files is wrong and was skipped."""
    for line in skipped[:MOST_LINES]:
        left_out(line)
    if len(skipped) > MOST_LINES:
        say(f"… and {len(skipped) - MOST_LINES} more such lines")


def read_rows(results: Sequence[Path]) -> list[Row]:
    """The rows of results files; an error if there are none."""
    from regret_envs.benchmarks.running.results import ResultsError, read
    from regret_envs.benchmarks.running.rows import complete_cells

    try:
        if len(results) > 1:
            for path in results:
                if not path.exists():
                    left_out(f"{path} does not exist: it is left out")
        contents = read(*results)
    except (ResultsError, OSError) as error:
        raise click.ClickException(str(error)) from None
    if contents.torn:
        say(f"{listed(results)} ends with an unfinished line, from a run that was killed: it is left out")
    say_skipped(contents.skipped)
    for line in contents.unfinished[:MOST_LINES]:
        say(line)
    if not contents.rows or (contents.unfinished and not complete_cells(contents.rows)):
        raise click.ClickException(
            f"there are no results in {listed(results)}: regret-envs run produces some"
        )
    for agent in _changed_agents(contents.rows):
        say(f"{agent} was edited after its last results: run it again")
    return contents.rows


def _changed_agents(rows: list[Row]) -> list[str]:
    """Custom agents whose source has changed since their last results; it is read, not imported."""
    from regret_envs.agents import registry

    last = {row.agent: row for row in rows if not row.seats and row.status == "ok" and row.source}
    changed = []
    sys.path.insert(0, os.getcwd())
    try:
        for agent, row in last.items():
            # What is not here cannot have changed here.
            with contextlib.suppress(ImportError, ValueError, OSError):
                if registry.custom_modules(agent) and registry.source_hash(agent) != row.source:
                    changed.append(agent)
    finally:
        sys.path.pop(0)
    return changed


def named_tasks(names: str, rows: Sequence[Row]) -> list[str]:
    """The ids of the tasks that suites, tasks, suite files and results name; no code of theirs is run."""
    from regret_envs.benchmarks.tasks.suites import SuiteError, task_ids
    from regret_envs.names import UnknownNameError
    from regret_envs.plugins import PluginError

    try:
        return task_ids(names, {row.task for row in rows})
    except (UnknownNameError, SuiteError, PluginError) as error:
        raise Usage(str(error)) from None
