"""`regret-envs reproduce NAME`: published results beside ours."""

from __future__ import annotations

import importlib
import logging
import time
from pathlib import Path

import click

from regret_envs.benchmarks.cli.logs import log_level_option
from regret_envs.names import UnknownNameError, lookup
from regret_envs.progress import duration, every_minute
from regret_envs.rooms import Reproduction, rooms

logger = logging.getLogger(__name__)
_HERE = "regret_envs.benchmarks.reproduce"


def _attention(module: str, summary: str, in_all: bool = True) -> Reproduction:
    return Reproduction(f"{_HERE}.{module}:run", summary, in_all, requires="torch,plot")


REPRODUCTIONS: dict[str, Reproduction] = {
    "fig1": _attention("fig1", "k*(d, T): scaling, uniqueness, stationarity"),
    "stationarity": _attention("stationarity", "Theorems 1 and 2: gradients, k* over d, the fixed point"),
    "fig2": _attention("fig2", "One layer against FTRL; R_t/t of deeper Transformers"),
    "fig4": _attention("fig4", "CCE and CE gaps in weighted rock–paper–scissors"),
    "table1": _attention("table1", "Identity operator: FTRL with the ℓ₂ regularizer"),
    "long-run": _attention("long_run", "Gaps up to 10,000 rounds"),
    "training-paths": _attention("training_paths", "Published points along training, by recipe"),
    "training-options": _attention("training_options", "Other ways to train linear attention", in_all=False),
    "universal": _attention("universal", "The universal policies against every other agent", in_all=False),
    **{name: entry for room in rooms().values() for name, entry in room.reproductions.items()},
}


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in (*REPRODUCTIONS, "all") if name.startswith(incomplete)]


class _Names(click.Command):
    """Adds what there is to reproduce to the help."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Names"):
            every = ", ".join(name for name, entry in REPRODUCTIONS.items() if entry.in_all)
            formatter.write_dl([*((n, entry.summary) for n, entry in REPRODUCTIONS.items()), ("all", every)])


class _Status:
    """Which of how many reproductions is at what, and since when."""

    def __init__(self, total: int) -> None:
        self._total, self._number = total, 0

    def begin(self, name: str) -> None:
        self._name, self._doing, self._since = name, "", time.monotonic()
        self._number += 1

    def say(self, line: str) -> None:
        self._doing = f", {line}"
        click.echo(line, err=True)

    def __str__(self) -> str:
        spent = duration(time.monotonic() - self._since)
        return f"{self._name}, {self._number} of {self._total}{self._doing}: {spent} so far"


@click.command(cls=_Names, short_help="Published results beside ours.")
@click.argument("name", shell_complete=_complete)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("regret-envs-reproduction"),
    show_default=True,
    help="Folder for pictures, curves and checks.csv.",
)
@click.option("--quick", is_flag=True, help="Stored results of what takes long, and few seeds.")
@click.option("--fresh", is_flag=True, help="Compute everything again, also what is stored in --out.")
@log_level_option
def reproduce(name: str, out: Path, quick: bool, fresh: bool) -> None:
    """Recompute a published result and show it beside the published numbers.

    Exits with 1 if a row says no: if it is off an exact value, out of a bound that a theorem sets, or a
    known miss that has moved.
    """
    from regret_envs.benchmarks.reproduce.checks import Check, Options, show_report, write_checks

    every = [other for other, entry in REPRODUCTIONS.items() if entry.in_all]
    try:
        chosen = lookup("reproduction", name, {"all": every, **{n: [n] for n in REPRODUCTIONS}})
    except UnknownNameError as error:
        raise click.UsageError(str(error)) from None
    out.mkdir(parents=True, exist_ok=True)
    status = _Status(len(chosen))
    options = Options(out, quick, fresh, say=status.say)
    checks: list[Check] = []
    for one in chosen:
        status.begin(one)
        entry = REPRODUCTIONS[one]
        module, function = entry.target.split(":")
        try:
            run = getattr(importlib.import_module(module), function)
        except ModuleNotFoundError as error:
            if entry.requires is None:
                raise
            missing = (error.name or "").partition(".")[0]
            raise click.ClickException(
                f'{missing} is not installed: pip install "regret-envs[{entry.requires}]"'
            ) from error
        with every_minute(logger, status.__str__):
            report = run(options)
        checks += report.checks
        # After every one, so that what is computed is there if a later one is interrupted.
        write_checks(out / "checks.csv", checks)
        show_report(one, report)
    click.echo(f"pictures, curves and checks.csv are in {out}", err=True)
    failed = [check for check in checks if check.holds == "no"]
    for check in failed:
        click.echo(f"does not hold: {check.figure}: {check.quantity}", err=True)
    if failed:
        raise click.exceptions.Exit(1)
