"""Putting the report together from rows."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from regret_envs.agents.identity import is_built_in
from regret_envs.agents.llm.transcripts import read as read_transcript
from regret_envs.benchmarks import plotting
from regret_envs.benchmarks.analysis import tables
from regret_envs.benchmarks.analysis.board import MARGIN, Leaderboard, ScoreTable
from regret_envs.benchmarks.analysis.board_tables import leaderboard_tables
from regret_envs.benchmarks.analysis.leaderboard import leaderboard
from regret_envs.benchmarks.analysis.standings import tournament, tournament_tables
from regret_envs.benchmarks.analysis.tables import Table, is_own
from regret_envs.benchmarks.analysis.task_results import TaskResults, task_results
from regret_envs.benchmarks.analysis.usage import example_table, transcript_table, usage_by_agent, usage_table
from regret_envs.benchmarks.plotting.looks import MOST_AGENTS, figure_of, legend_below, look, shown_and_others
from regret_envs.benchmarks.plotting.tasks import label
from regret_envs.benchmarks.report.content import (
    Content,
    Grid,
    Key,
    Picture,
    ScoreSection,
    TaskSection,
    answers,
    grid,
    never,
    run_facts,
)
from regret_envs.benchmarks.report.pictures import inline_svg
from regret_envs.benchmarks.running.rows import Row
from regret_envs.benchmarks.tasks.core import TASKS
from regret_envs.play import Play

MOST_BYTES = 1_500_000
"""A report stays below this, with fewer curves if need be, unless its tables alone take more."""
_TEMPLATES = Path(__file__).parent / "templates"
_OTHER = {"score": "tasks", "task": "scores"}
_MOST_ON_A_SIMPLEX = 4
_SCORE_COLUMNS = ("score", "interval", "mean_rank", "iqm", "worst", "worst_task", "runs", "n/a", "failed")


def report(
    rows: Iterable[Row],
    *,
    tasks: Sequence[str] | None = None,
    agents: Sequence[str] | None = None,
    by: Literal["task", "score"] | None = None,
    margin: float = MARGIN,
    title: str = "regret-envs",
    transcripts: Sequence[Path] = (),
) -> str:
    """The HTML of a report on the rows.

    It stays below `MOST_BYTES`, with fewer curves if need be, unless the tables alone take more.

    Args:
        rows: result rows.
        tasks: task ids, in this order; None: all there are, by name.
        agents: agent specs; None: all there are.
        by: tasks alone or scores alone; None: both.
        margin: the equivalence margin, as in `leaderboard`.
        title: its heading.
        transcripts: files of language models' transcripts to show.

    Raises:
        ImportError: if matplotlib is not installed.
        TranscriptError, OSError: if a transcript cannot be read.
    """
    rows = list(rows)
    talks = [transcript_table(str(path), read_transcript(path)) for path in transcripts]
    # Every agent's curves of two metrics, of one, those of the best alone, and none.
    levels = [(2, 10_000), (1, 10_000), (1, MOST_AGENTS), (0, 0)]
    with plotting.style():
        page = ""
        for metrics, most in levels[_roughly_two_metrics_too_many(rows, tasks, agents) :]:
            page = _html(_Builder(rows, tasks, agents, margin, metrics, most).content(title, by, talks))
            if len(page.encode()) < MOST_BYTES:
                break
    return page


def _roughly_two_metrics_too_many(
    rows: list[Row], tasks: Sequence[str] | None, agents: Sequence[str] | None
) -> bool:
    """Whether curves of two metrics are likely not to fit: a point takes 12 bytes, a curve 250 more."""
    results, _ = task_results(rows, tasks=tasks, agents=agents)
    return 2 * sum(len(r.played) * (12 * len(r.rounds) + 250) for r in results) > 0.4 * MOST_BYTES


def _html(content: Content) -> str:
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = (_TEMPLATES / "script.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    style = (_TEMPLATES / "style.css").read_text(encoding="utf-8")
    own: dict[str, Any] = {"script": Markup(script), "style": Markup(style), "digest": digest}
    return made.get_template("page.html").render(page=content, **own) + "\n"


class _Builder:
    """The content of a report, section by section."""

    def __init__(
        self,
        rows: list[Row],
        tasks: Sequence[str] | None,
        agents: Sequence[str] | None,
        margin: float,
        metrics: int,
        most: int,
    ) -> None:
        self._rows = [r for r in rows if agents is None or r.is_pairing or r.agent in agents]
        self._agents = agents
        self._margin = margin
        self._metrics, self._most = metrics, most
        self._results, _ = task_results(rows, tasks=tasks, agents=agents)
        self._board = leaderboard(rows, tasks=tasks, agents=agents, iqm_intervals=True, margin=margin)
        self._count = 0

    def content(self, title: str, by: str | None, talks: Sequence[Table]) -> Content:
        """Everything, or only tasks or scores."""
        scores = self._scores() if by != "task" else []
        sections = [self._task(r) for r in self._results] if by != "score" else []
        return Content(
            title=title,
            answer=answers(self._board.overall) if by != "task" else [],
            scores=scores,
            index=self._index(sections) if len(sections) > 1 else None,
            tasks=sections,
            tournaments=self._tournaments(),
            language=self._language(talks),
            run=run_facts(self._rows),
            left_out=self._board.notes,
        )

    def _scores(self) -> list[ScoreSection]:
        found = leaderboard_tables(self._board, _SCORE_COLUMNS)[len(self._board.tasks) :]
        return [self._score(o, table) for o, table in zip(self._board.overall, found, strict=True)]

    def _score(self, overall: ScoreTable, table: Table) -> ScoreSection:
        metric = overall.metric
        title = metric.replace("_", " ")
        if not overall.common_tasks:
            return ScoreSection(title, [], None, reason=overall.reason or "")
        scored = [s for s in overall.scores if s.score is not None]
        lines = sum(label(s.agent).count("\n") + 1 for s in scored)
        axes = plotting.scores(self._board, metric, axes=_axes(1.0 + 0.17 * lines), caption=False)
        better = "higher" if overall.higher_is_better else "lower"
        best = ", ".join(f"{s.agent} {s.score:.3f}" for s in scored[:5])
        count = len(overall.common_tasks)
        pictures = [
            self._picture(
                axes,
                f"Scores in {title}",
                f"Every agent's score with its 95 % interval, and its mean rank. The first: {best}.",
                f"Mean normalized {title} over {count} task{'s' * (count != 1)} with a 95 % interval "
                f"(bootstrap over runs); {better} is better. At the right: mean rank, 1 is best.",
            )
        ]
        if sum(s.num_runs for s in scored) > len(scored):
            rows = [r for r in self._rows if r.task in overall.common_tasks]
            axes = plotting.profile(
                rows, metric, agents=self._agents, axes=_axes(4.2), legend=False, caption=False
            )
            legend_below(axes)
            text = "The share of runs that score τ or better, averaged over the tasks"
            caption = (
                f"Performance profiles. {text}: the higher the curve, the better. Gray: the other agents."
            )
            pictures.append(self._picture(axes, f"Performance profiles in {title}", f"{text}.", caption))
        what = "agents without a score: they play less than half of the tasks, or none"
        return ScoreSection(title, pictures, grid(f"scores-{metric}", table, agent=1, what=what, notes=True))

    def _task(self, r: TaskResults) -> TaskSection:
        table = next(t for t in self._board.tasks if t.task == r.task)
        played = [e.agent for e in table.entries if e.rank is not None]
        shown, others = shown_and_others(played, min(MOST_AGENTS, self._most))
        drawn = [*shown, *others][: self._most]
        curves = [self._curves(r, metric, drawn, shown) for metric in r.metrics[: self._metrics] if drawn]
        keys = [_key(agent, agent in shown) for agent in drawn]
        (text,) = leaderboard_tables(Leaderboard([table], [], []), list(table.metrics))
        name = f"task-{self._results.index(r) + 1}"
        runs = max(len(r.runs(agent)) for agent in r.agents)
        facts = [f"T = {r.horizon:,} rounds", f"d = {r.num_actions} actions", f"ρ = {r.loss_scale:g}"]
        facts.append(f"{runs} run{'s' * (runs != 1)}")
        return TaskSection(
            id=name,
            name=r.task,
            summary=TASKS[r.task].summary if r.task in TASKS else "",
            facts=", ".join(facts),
            curves=curves,
            keys=keys if curves else [],
            others=self._simplex(r, played) if self._metrics else [],
            grid=grid(f"{name}-table", text, agent=1, what="n/a or failed"),
        )

    def _curves(self, r: TaskResults, metric: str, drawn: Sequence[str], shown: Sequence[str]) -> Picture:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(4.6, 3.0))
        figure.set_layout_engine("none")
        axes = figure.add_axes((0.15, 0.16, 0.79, 0.8))
        plotting.curves(r, metric, agents=drawn, most=len(drawn), axes=axes, legend=False, caption=False)
        axes.set_title("")
        for line in axes.lines:
            line.set_marker("")  # the page marks the points of a curve
        for band in list(axes.collections):
            if str(band.get_gid()).removeprefix("band ") not in shown:
                band.remove()
        title = r.metric(metric).title
        last = ", ".join(f"{a} {tables.number(float(r.values(a, metric).mean()))}" for a in shown)
        return self._picture(
            axes,
            f"{title} by round on {r.task}",
            f"Mean over runs; the dotted line is the bound of theory. {title} at T = {r.horizon}: {last}.",
            f"{title} by round: mean over runs at the rounds where play was measured (marks), shaded: 95 % "
            "interval of the mean; dotted: the bound of "
            f"{'Blum–Mansour' if metric in ('swap_regret', 'ce_gap', 'swap_gap') else 'Hedge'} for losses "
            "of range ρ.",
            off=[agent for agent in drawn if agent not in shown],
        )

    def _simplex(self, r: TaskResults, played: Sequence[str]) -> list[Picture]:
        """Paths of play in a game of three actions.

        A row is data: of what it names, only built-in agents are made and played.
        """
        task = TASKS.get(r.task)
        if task is None or not task.world.startswith("games."):
            return []
        plays: dict[str, Play] = {}
        for agent in played:
            if not is_built_in(agent) or len(plays) == _MOST_ON_A_SIMPLEX:
                continue
            try:
                plays[agent], world, seat = plotting.replay(task, agent, most_rounds=500)
            except plotting.SimplexError:
                return []
            except Exception:  # an agent of somebody else's that is not here any more
                continue
        if not plays:
            return []
        axes = plotting.simplex(
            plays, world=world, player=seat, num_runs=1, axes=_axes(4.6), legend=False, caption=False
        )
        legend_below(axes)
        ends = "; ".join(f"{a} {_triple(p.mean_policies[seat][0])}" for a, p in plays.items())
        caption = (
            "Play in the simplex, one run: policies (thin) and their time averages (thick) from the ring to "
            "the disk; star: Nash equilibrium."
        )
        title = f"Play in the simplex on {r.task}"
        return [self._picture(axes, title, f"{caption} Last averages: {ends}.", caption)]

    def _index(self, sections: Sequence[TaskSection]) -> Grid:
        lines, links = [], {}
        for r, section in zip(self._results, sections, strict=True):
            table = next(t for t in self._board.tasks if t.task == r.task)
            first = table.metrics[0]
            best = next((e for e in table.entries if e.rank is not None), None)
            value = "–" if best is None else tables.mean_and_error(best.estimates[first])
            arrow = "↑" if first in table.higher_is_better else "↓"
            metric = f"{first.replace('_', ' ')}\u00a0{arrow}"
            name = "–" if best is None else best.agent
            lines.append([r.task, section.summary, metric, name, value, f"{r.horizon:,}", str(r.num_actions)])
            links[r.task] = section.id
        heads = ["task", "what it is", "metric", "best", "value", "T", "d"]
        table_ = Table("Tasks", heads, lines, numbers=3)
        return grid("index", table_, agent=3, fold=never, links=links)

    def _tournaments(self) -> list[tuple[Grid, Picture]]:
        shown: list[tuple[Grid, Picture]] = []
        for task in dict.fromkeys(row.task for row in self._rows if row.is_pairing):
            found = tournament(self._rows, task, self._agents, margin=self._margin)
            if found.agents:
                best = found.standings[0].agent
                axes = plotting.heatmap(found, caption=False)
                text = f"Heat map of the payoff of seat 0 against seat 1, best mean payoff first: {best}."
                picture = self._picture(
                    axes, f"Payoffs of {task}", text, "Mean payoff per round to seat 0, best agent first."
                )
                ranking = tournament_tables(found)[0]
                shown.append((grid(f"tournament-{len(shown)}", ranking, agent=1, notes=True), picture))
        return shown

    def _language(self, talks: Sequence[Table]) -> list[Grid]:
        """What language models have used, examples of answers that could not be used, and transcripts."""
        used = usage_by_agent(self._rows, tasks=[r.task for r in self._results])
        shown = [usage_table(used)] if used else []
        shown += [t for t in [example_table(used)] if t.rows]
        found = [grid(f"language-{i}", t, agent=0, fold=never, notes=True) for i, t in enumerate(shown)]
        return found + [grid(f"transcript-{i}", t, fold=never, talk=True) for i, t in enumerate(talks)]

    def _picture(self, axes: Any, title: str, text: str, caption: str, *, off: Sequence[str] = ()) -> Picture:
        self._count += 1
        return Picture(inline_svg(figure_of(axes), f"f{self._count}", title, text, off=off), caption)


def _axes(height: float) -> Any:
    """Axes of a figure as wide as a phone shows without making its text small, in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(4.6, height)).add_subplot()


def _key(agent: str, shown: bool) -> Key:
    own = look(agent)
    return Key(agent, own.color, " ".join(f"{1.6 * x:g}" for x in own.dashes), shown, is_own(agent))


def _triple(policy: Any) -> str:
    return f"({', '.join(f'{x:.2f}' for x in policy)})"
