"""`regret-envs report`: one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from regret_envs.benchmarks.cli.common import all_results_option, say
from regret_envs.benchmarks.cli.plot import with_matplotlib
from regret_envs.benchmarks.cli.selection import (
    agents_option,
    by_option,
    margin_option,
    selection,
    suite_option,
    tasks_option,
)


@click.command("report", short_help="Write a report: one HTML file.")
@suite_option
@agents_option
@tasks_option
@by_option
@margin_option
@click.option("--title", default="regret-envs", show_default=True, help="The heading.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="The file to write.",
)
@click.option(
    "--transcript",
    "transcripts",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="A language model's transcript to show; may be given several times.",
)
@all_results_option
def report_command(
    suite: str | None,
    agents: str | None,
    tasks: str | None,
    by: Literal["task", "score"] | None,
    margin: float,
    title: str,
    out: Path,
    transcripts: tuple[Path, ...],
    results: tuple[Path, ...],
) -> None:
    """Write leaderboard, curves and tournaments to one self-contained HTML file."""
    from regret_envs.agents.llm.transcripts import TranscriptError
    from regret_envs.files import replacing

    found = selection(results, suite, tasks, agents)

    def make() -> str:
        from regret_envs.benchmarks.report import report

        return report(
            found.rows,
            tasks=found.tasks,
            agents=found.agents,
            by=by,
            margin=margin,
            title=title,
            transcripts=transcripts,
        )

    try:
        text = with_matplotlib(make)
    except TranscriptError as error:
        raise click.ClickException(str(error)) from None
    try:
        with replacing(out) as part:
            part.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{out} cannot be written: {error.strerror}") from None
    say(f"{len(text.encode()) / 1e3:.0f} kB in {out}")
