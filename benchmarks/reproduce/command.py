"""`regret-envs reproduce NAME`: published results beside ours."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path

import click

from regret_envs.names import UnknownNameError, lookup


@dataclass(frozen=True)
class Room:
    """A reproduction, as data.

    Attributes:
        target: "module:function" of a `run(options) -> Report`; imported only when it is run.
        summary: one line for `--help`.
        in_all: whether `reproduce all` runs it.
        requires: the extra that it needs, or None.
    """

    target: str
    summary: str
    in_all: bool = False
    requires: str | None = None


_HERE = "regret_envs.benchmarks.reproduce"


def _attention(module: str, summary: str, in_all: bool = True) -> Room:
    return Room(f"{_HERE}.{module}:run", summary, in_all, requires="torch,plot")


ROOMS: dict[str, Room] = {
    "fig1": _attention("fig1", "k*(d, T): scaling, uniqueness, stationarity"),
    "fig2": _attention("fig2", "One layer against FTRL; R_t/t of deeper Transformers"),
    "fig4": _attention("fig4", "CCE and CE gaps in weighted rock–paper–scissors"),
    "table1": _attention("table1", "Identity operator: FTRL with the ℓ₂ regularizer"),
    "long-run": _attention("long_run", "Gaps up to 10,000 rounds"),
    "training-options": _attention(
        "training_options", "What other ways to train linear attention come to", in_all=False
    ),
    "regular-languages": Room(
        "regret_envs.rooms.regular_languages.reproduction:run",
        "A one-layer Transformer learns even pairs and parity",
    ),
    "in-context-td": Room(
        "regret_envs.rooms.policy_evaluation.reproduction:run",
        "Softmax Transformers do policy evaluation in context (arXiv 2605.07333)",
        requires="torch",
    ),
}


class _Names(click.Command):
    """Adds what there is to reproduce to the help."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Names"):
            every = ", ".join(name for name, room in ROOMS.items() if room.in_all)
            formatter.write_dl([*((n, room.summary) for n, room in ROOMS.items()), ("all", every)])


@click.command(cls=_Names, short_help="Published results beside ours.")
@click.argument("name")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("regret-envs-reproduction"),
    show_default=True,
    help="Folder for pictures, curves and checks.csv.",
)
@click.option("--quick", is_flag=True, help="Shipped checkpoints and few seeds.")
@click.option(
    "--retrain",
    is_flag=True,
    help="Train everything again, but for what the same recipe made in --out before.",
)
def reproduce(name: str, out: Path, quick: bool, retrain: bool) -> None:
    """Recompute a published result and show it beside the published numbers."""
    from regret_envs.benchmarks.reproduce.checks import Check, Options, show_report, write_checks

    if quick and retrain:
        raise click.UsageError("--quick takes shipped results and --retrain makes new ones: give one")
    rooms = {"all": [other for other, room in ROOMS.items() if room.in_all], **{n: [n] for n in ROOMS}}
    try:
        chosen = lookup("reproduction", name, rooms)
    except UnknownNameError as error:
        raise click.UsageError(str(error)) from None
    out.mkdir(parents=True, exist_ok=True)
    options = Options(out, quick, retrain, say=lambda line: click.echo(line, err=True))
    checks: list[Check] = []
    for room_name in chosen:
        room = ROOMS[room_name]
        module, function = room.target.split(":")
        try:
            run = getattr(importlib.import_module(module), function)
        except ModuleNotFoundError as error:
            if room.requires is None:
                raise
            missing = (error.name or "").partition(".")[0]
            raise click.ClickException(
                f'{missing} is not installed: pip install "regret-envs[{room.requires}]"'
            ) from error
        report = run(options)
        checks += report.checks
        # After every room, so that what is computed is there if a later one is interrupted.
        write_checks(out / "checks.csv", checks)
        show_report(room_name, report)
    click.echo(f"pictures, curves and checks.csv are in {out}", err=True)
