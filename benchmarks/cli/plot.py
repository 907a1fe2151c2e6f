"""`regret-envs plot`: figures of results, of play and of trainings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import click

from regret_envs.benchmarks.cli import complete
from regret_envs.benchmarks.cli.common import Usage, all_results_option, chosen_tasks, say
from regret_envs.benchmarks.cli.selection import (
    Selection,
    by_option,
    selection,
    suite_option,
    tasks_option,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

T = TypeVar("T")
Size = tuple[float, float]

_OF_RESULTS = ("curves", "scores", "profile", "heatmap", "simplex")
KINDS = (*_OF_RESULTS, "training")
_BY = {"task": ("curves", "simplex"), "score": ("scores", "profile", "heatmap")}
_DEFAULT = ("curves", "scores", "profile", "heatmap")
_MOST_ON_A_SIMPLEX = 4


def with_matplotlib(make: Callable[[], T], style: Path | str | None = None) -> T:
    """What `make` draws in our style, or an error that names the extra."""
    try:
        from regret_envs.benchmarks import plotting

        with plotting.style(style):
            return make()
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        message = 'matplotlib is not installed: pip install "regret-envs[plot]"'
        raise click.ClickException(message) from None


def _kinds(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[str, ...]:
    from regret_envs.names import UnknownNameError, lookup

    named = tuple(name.strip() for name in (text or "").split(",") if name.strip())
    try:
        for name in named:
            lookup("kind of figure", name, dict.fromkeys(KINDS))
    except UnknownNameError as error:
        raise click.BadParameter(str(error)) from None
    return named


def _size(context: click.Context, parameter: click.Parameter, text: str | None) -> Size | None:
    if text is None:
        return None
    try:
        width, height = map(float, text.lower().split("x"))
    except ValueError:
        raise click.BadParameter(f"must be WIDTHxHEIGHT in inches, such as 6.4x3.6, got {text}") from None
    if not (0 < width <= 100 and 0 < height <= 100):
        raise click.BadParameter(f"must be above 0 and at most 100 inches on either side, got {text}")
    return width, height


@click.command("plot", short_help="Draw curves, scores, profiles, heat maps, simplices and trainings.")
@click.option(
    "--kind",
    "kinds",
    callback=_kinds,
    help=f"Of {', '.join(KINDS)}; comma-separated.  [default: {', '.join(_DEFAULT)}]",
)
@suite_option
@click.option(
    "--metric", shell_complete=complete.metrics, help="The metric to draw.  [default: each task's first]"
)
@click.option(
    "--agents",
    shell_complete=complete.agents,
    help="Agents in the results, comma-separated, the first eight in color.  [default: all]",
)
@tasks_option
@by_option
@click.option(
    "--scale",
    type=click.Choice(["auto", "linear", "log", "symlog"]),
    default="auto",
    show_default=True,
    help="Of values.",
)
@click.option("--size", callback=_size, help="WIDTHxHEIGHT in inches.  [default: what the figure needs]")
@click.option(
    "--format", "format_", type=click.Choice(["svg", "pdf", "png"]), default="svg", show_default=True
)
@click.option("--style", "style_file", metavar="FILE", help="A matplotlib style sheet, or a style's name.")
@click.option("--runs", type=click.IntRange(min=1), default=1, show_default=True, help="Of a simplex.")
@click.option("--field", is_flag=True, help="Directions of Hedge's dynamics in a simplex.")
@click.option(
    "--training",
    type=click.Path(exists=True, path_type=Path),
    help="A training's folder or CSV file, for the kind training.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("figures"),
    show_default=True,
    help="The folder to write to.",
)
@all_results_option
def plot_command(
    kinds: tuple[str, ...],
    suite: str | None,
    metric: str | None,
    agents: str | None,
    tasks: str | None,
    by: Literal["task", "score"] | None,
    scale: Literal["auto", "linear", "log", "symlog"],
    size: Size | None,
    format_: str,
    style_file: str | None,
    runs: int,
    field: bool,
    training: Path | None,
    out: Path,
    results: tuple[Path, ...],
) -> None:
    """Draw figures, one file each.

    curves: a metric by round, of every task. scores: every agent's score over tasks, with its interval.
    profile: performance profiles. heatmap: scores by task, and the payoffs of tournaments. simplex: paths
    of play in tasks of three actions, which are played again. training: what `train` logged.
    """
    if training is not None and not kinds:
        kinds = ("training",)
    if "training" in kinds and training is None:
        raise Usage("the kind training needs --training DIR, the folder of a training")
    wanted = [k for k in kinds or _DEFAULT if by is None or k in _BY[by]]
    figures: list[Iterator[tuple[str, Figure]]] = []
    if training is not None and "training" in wanted:
        figures.append(_training(training, scale, size))
    if any(kind in _OF_RESULTS for kind in wanted):
        found = selection(results, suite, tasks, agents, metric)
        drawing = _Drawing(found, metric, suite, scale, size, runs, field)
        draw = {kind: getattr(drawing, kind) for kind in _OF_RESULTS}
        figures += [draw[kind]() for kind in wanted if kind in draw]

    def save() -> int:
        count = 0
        for each in figures:
            for name, figure in each:
                # Without a date, equal figures are equal files.
                dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[format_]
                try:
                    out.mkdir(parents=True, exist_ok=True)
                    figure.savefig(out / f"{name.replace('/', '-')}.{format_}", metadata=dated)
                except OSError as error:
                    message = f"{out} cannot be written: {error.strerror or error}"
                    raise click.ClickException(message) from None
                count += 1
        return count

    try:
        drawn = with_matplotlib(save, style_file)
    except OSError as error:
        raise click.ClickException(str(error)) from None
    if not drawn:
        raise click.ClickException("there is nothing to plot: the results lack the task, agent or metric")
    say(f"{drawn} figure{'s' * (drawn != 1)} in {out}")


class _Drawing:
    """The figures of a choice of results, kind by kind, each with the name of its file."""

    def __init__(
        self,
        found: Selection,
        metric: str | None,
        suite: str | None,
        scale: Literal["auto", "linear", "log", "symlog"],
        size: Size | None,
        runs: int,
        field: bool,
    ) -> None:
        from regret_envs.benchmarks.analysis.task_results import task_results

        self._found, self._metric, self._suite = found, metric, suite
        self._scale, self._size, self._runs, self._field = scale, size, runs, field
        self._results, notes = task_results(found.rows, tasks=found.tasks, agents=found.agents)
        for line in notes:
            say(line)

    def _axes(self) -> Axes | None:
        """Axes of the size that was asked for; None: the figure chooses."""
        if self._size is None:
            return None
        from matplotlib.figure import Figure

        return Figure(figsize=self._size).add_subplot()

    def curves(self) -> Iterator[tuple[str, Figure]]:
        """One figure for each task that has the metric and one of the agents."""
        from regret_envs.benchmarks.plotting import curves, figure_of

        for r in self._results:
            metric = self._metric or r.metrics[0]
            here = [a for a in self._found.agents or r.agents if a in r.played]
            if metric in r.metrics and here:
                agents = self._found.agents and [a for a in self._found.agents if a in r.agents]
                axes = curves(r, metric, agents=agents, scale=self._scale, axes=self._axes())
                yield f"curves-{r.task}-{metric}", figure_of(axes)

    def _boards(self) -> list[str]:
        """The metrics in which there are scores."""
        from regret_envs.benchmarks.analysis.leaderboard import leaderboard

        board = leaderboard(
            self._found.rows, metric=self._metric, tasks=self._found.tasks, agents=self._found.agents
        )
        return [t.metric for t in board.overall if any(s.score is not None for s in t.scores)]

    def scores(self) -> Iterator[tuple[str, Figure]]:
        """One figure for each metric that has scores."""
        from regret_envs.benchmarks.plotting import figure_of, scores

        # Scores may be negative: of a logarithmic axis there is the symmetric one alone.
        scale: Literal["auto", "linear", "symlog"] = "symlog" if self._scale == "log" else self._scale
        for metric in self._boards():
            axes = scores(
                self._found.rows,
                metric,
                tasks=self._found.tasks,
                agents=self._found.agents,
                scale=scale,
                axes=self._axes(),
            )
            yield f"scores-{metric}", figure_of(axes)

    def profile(self) -> Iterator[tuple[str, Figure]]:
        """One figure for each metric that has scores."""
        from regret_envs.benchmarks.plotting import figure_of, profile

        for metric in self._boards():
            axes = profile(
                self._found.rows,
                metric,
                tasks=self._found.tasks,
                agents=self._found.agents,
                axes=self._axes(),
            )
            yield f"profile-{metric}", figure_of(axes)

    def heatmap(self) -> Iterator[tuple[str, Figure]]:
        """Scores by task where there are several, and every tournament's payoffs."""
        from regret_envs.benchmarks.analysis.standings import tournament
        from regret_envs.benchmarks.plotting import figure_of, heatmap

        for metric in self._boards() if len(self._results) > 1 else []:
            axes = heatmap(
                self._found.rows,
                metric,
                tasks=self._found.tasks,
                agents=self._found.agents,
                axes=self._axes(),
            )
            yield f"heatmap-{metric}", figure_of(axes)
        for task in dict.fromkeys(row.task for row in self._found.rows if row.is_pairing):
            if self._metric is None and (self._found.tasks is None or task in self._found.tasks):
                found = tournament(self._found.rows, task, self._found.agents)
                for line in found.notes:
                    say(line)
                if found.agents:
                    yield f"heatmap-{task}", figure_of(heatmap(found, axes=self._axes()))

    def simplex(self) -> Iterator[tuple[str, Figure]]:
        """One figure for each task of three actions that is known here; others are said to be left out."""
        from regret_envs.agents.identity import is_built_in
        from regret_envs.benchmarks.plotting import SimplexError, figure_of, replay, simplex
        from regret_envs.benchmarks.tasks.core import TASKS

        known = {**TASKS, **{t.id: t for t in (chosen_tasks(self._suite) if self._suite else [])}}
        for r in self._results:
            if r.task not in known:
                say(f"{r.task} cannot be played again: give the suite or file that defines it with --suite")
                continue
            metric = self._metric if self._metric in r.metrics else r.metrics[0]
            best = sorted(r.played, key=lambda a: r.metric(metric).sign * r.values(a, metric).mean())
            # A row is data: of what it names, only built-in agents are made, unless the user typed them.
            safe = [a for a in best if is_built_in(a)]
            named = [a for a in self._found.agents or safe[:_MOST_ON_A_SIMPLEX] if a in best]
            plays = {}
            try:
                for agent in named:
                    plays[agent], world, seat = replay(known[r.task], agent, num_runs=self._runs)
            except SimplexError as error:
                say(f"no simplex of {r.task}: {error}")
                continue
            if plays:
                field, runs = self._field, self._runs
                try:
                    axes = simplex(
                        plays, world=world, player=seat, num_runs=runs, field=field, axes=self._axes()
                    )
                except SimplexError as error:
                    raise click.ClickException(f"{r.task}: {error}") from None
                yield f"simplex-{r.task}", figure_of(axes)


def _training(
    path: Path, scale: Literal["auto", "linear", "log", "symlog"], size: Size | None
) -> Iterator[tuple[str, Figure]]:
    """One figure with a panel for each column of the log but the steps and seconds."""
    from regret_envs.benchmarks.plotting import training, training_log

    try:
        log = training_log(path)
        columns = [name for name in log if name not in ("step", "seconds")]
        if "step" not in log or not columns:
            raise ValueError(f"{path} has no columns to draw: {', '.join(log)}")
    except (OSError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    from matplotlib.figure import Figure

    figure = Figure(figsize=size or (5.6, 2.1 * len(columns)))
    panels = figure.subplots(len(columns), sharex=True, squeeze=False)[:, 0]
    for axes, column in zip(panels, columns, strict=True):
        training(log, column, scale=scale, axes=axes)
        axes.label_outer()
    yield f"training-{path.resolve().stem}", figure
