"""The report: one HTML file with everything in it, which loads nothing and runs no script."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Sequence
from datetime import date
from html import escape
from importlib.metadata import PackageNotFoundError, version
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from regret_envs.agents.catalogue import AGENTS
from regret_envs.agents.llm.transcripts import read as read_transcript
from regret_envs.benchmarks.analysis import figures, tables
from regret_envs.benchmarks.analysis.figures import MOST_AGENTS, look
from regret_envs.benchmarks.analysis.leaderboard import MARGIN, Leaderboard, ScoreTable, leaderboard
from regret_envs.benchmarks.analysis.standings import tournament
from regret_envs.benchmarks.analysis.tables import Table
from regret_envs.benchmarks.analysis.task_results import TaskResults, task_results
from regret_envs.benchmarks.analysis.usage import usage_by_agent
from regret_envs.benchmarks.running.results import Row, complete_cells
from regret_envs.benchmarks.tasks.core import TASKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BYTES = 1_000_000
_OTHER = {"score": "tasks", "task": "scores"}


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

    It stays below a million bytes, with fewer agents a figure if need be, unless the tables alone take more.

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
    talks = [tables.transcript_table(str(path), read_transcript(path)) for path in transcripts]
    for most in (MOST_AGENTS, 5, 3, 1):
        page = _Page(rows, tasks, agents, margin, most, talks).html(title, by)
        if len(page.encode()) < MOST_BYTES:
            break
    return page


class _Page:
    """The sections of a report."""

    def __init__(
        self,
        rows: list[Row],
        tasks: Sequence[str] | None,
        agents: Sequence[str] | None,
        margin: float,
        most: int,
        talks: Sequence[Table],
    ) -> None:
        self._rows = [r for r in rows if agents is None or r.is_pairing or r.agent in agents]
        self._agents = agents
        self._margin = margin
        self._talks = talks
        self._most = most
        self._results, _ = task_results(rows, tasks=tasks, agents=agents)
        self._board = leaderboard(rows, tasks=tasks, agents=agents, iqm_intervals=True, margin=margin)
        self._count = 0
        self._places: dict[str, int] = {}

    def html(self, title: str, by: str | None) -> str:
        with figures.style():
            sections = [
                ("scores", "Leaderboard", self._scores(self._board)),
                ("tasks", "Task by task", "".join(map(self._task, self._results))),
                *self._tournaments(),
                ("language", "Language models", self._language()),
                ("run", "What was run", self._run()),
            ]
        shown = [(id, name, body) for id, name, body in sections if body and (by is None or id != _OTHER[by])]
        links = "".join(f'<li><a href="#{id}">{escape(name)}</a></li>' for id, name, _ in shown)
        body = "".join(
            f'<section aria-labelledby="{id}"><h2 id="{id}">{escape(name)}</h2>{content}</section>'
            for id, name, content in shown
        )
        return _FRAME.format(title=escape(title), links=links, body=body, style=_STYLE)

    def _scores(self, board: Leaderboard) -> str:
        columns = ["score", "interval", "mean_rank", "iqm", "iqm_interval", "worst", "worst_task", "runs"]
        columns += ["n/a", "failed"]
        found = tables.leaderboard_tables(board, columns)[len(board.tasks) :]
        return "".join(
            self._table(table) + self._profile(overall)
            for table, overall in zip(found, board.overall, strict=True)
        )

    def _profile(self, overall: ScoreTable) -> str:
        results = [r for r in self._results if r.task in overall.common_tasks]
        looks = self._looks([s.agent for s in overall.scores if s.score is not None][: self._most])
        samples = {
            a: [r.normalized(r.values(a, overall.metric), overall.metric) for r in results] for a in looks
        }
        if not samples or sum(map(len, next(iter(samples.values())))) < 2:
            return ""
        name = overall.metric.replace("_", " ")
        figure = self._figure(
            figures.profile(samples, results[0].metric(overall.metric), looks),
            f"Performance profiles in {name}",
            "The share of runs, averaged over the common tasks, that score τ or better. Higher is better.",
        )
        return f'<div class="figures">{figure}</div>{_legend(looks)}'

    def _looks(self, agents: Sequence[str]) -> dict[str, int]:
        """The looks of agents in one figure: an agent's own where no other has it already."""
        looks: dict[str, int] = {}
        for agent in agents:
            own = self._places.setdefault(agent, len(self._places) % MOST_AGENTS)
            free = [i for i in range(MOST_AGENTS) if i not in looks.values()]
            looks[agent] = own if own in free else free[0]
        return looks

    def _task(self, r: TaskResults) -> str:
        table = next(t for t in self._board.tasks if t.task == r.task)
        drawn = [e.agent for e in table.entries if e.rank is not None][: self._most]
        looks = self._looks(drawn)
        panels = []
        for metric in r.metrics[:2]:
            last = ", ".join(f"{a} {tables.number(float(r.values(a, metric).mean()))}" for a in drawn)
            name = metric.replace("_", " ")
            panels.append(
                self._figure(
                    figures.curves(r, metric, looks),
                    f"{name} by round on {r.task}",
                    f"Mean and 95 % band over runs on logarithmic axes, the dotted line is theory's rate. "
                    f"{name} at T = {r.horizon}: {last}.",
                )
            )
        panels += self._simplices(r, looks)
        left = len(r.played) - len(drawn)
        note = f"<p>The {len(drawn)} best of {len(r.played)} agents are drawn.</p>" if left else ""
        (shown,) = tables.leaderboard_tables(Leaderboard([table], [], []), list(table.metrics))
        summary = TASKS[r.task].summary if r.task in TASKS else ""
        return (
            f"<h3>{escape(r.task)}</h3><p>{escape(summary)}</p>"
            f'<div class="figures">{"".join(panels)}</div>{_legend(looks)}{note}'
            f"<details><summary>Table of {escape(r.task)}</summary>{self._table(shown, note=False)}</details>"
        )

    def _simplices(self, r: TaskResults, looks: dict[str, int]) -> list[str]:
        panels = []
        for agent, index in list(looks.items())[:6]:
            # A row is data: of what it names only built-in agents are made and played.
            if ":" in agent or agent.partition("[")[0] not in AGENTS:
                continue
            try:
                path = figures.simplex_path(TASKS[r.task], agent) if r.task in TASKS else None
            except Exception:  # an agent of somebody else's that is not here any more
                continue
            if path is not None:
                end = ", ".join(f"{x:.3f}" for x in path[1][-1])
                panels.append(
                    self._figure(
                        figures.simplex(path, index),
                        f"{agent} on {r.task}: play in the simplex",
                        f"Policies of seat 0 in one run (thin) and their average (thick), last ({end}).",
                        caption=agent,
                    )
                )
        return panels

    def _tournaments(self) -> list[tuple[str, str, str]]:
        found = [
            tournament(self._rows, task, self._agents, margin=self._margin)
            for task in dict.fromkeys(row.task for row in self._rows if row.is_pairing)
        ]
        body = ""
        for t in found:
            if t.agents:
                best = t.standings[0].agent
                figure = self._figure(
                    figures.heat_map(t),
                    f"Payoffs of {t.task}",
                    f"Heat map of the payoff of seat 0 against seat 1, best mean payoff first: {best}.",
                )
                ranking = self._table(tables.tournament_tables(t)[0])
                body += f'{ranking}<div class="figures wide">{figure}</div>'
        return [("tournaments", "Tournaments", body)]

    def _language(self) -> str:
        """What language models have used, examples of answers that could not be used, and transcripts."""
        used = usage_by_agent(self._rows, tasks=[r.task for r in self._results])
        shown = [tables.usage_table(used)] if used else []
        shown += [t for t in [tables.example_table(used)] if t.rows]
        talks = "".join(f'<div class="talk">{self._table(table)}</div>' for table in self._talks)
        return "".join(map(self._table, shown)) + talks

    def _run(self) -> str:
        cells = list(complete_cells(self._rows).values())
        failed = [c[0] for c in cells if c[0].status == "failed"]
        facts = {
            "cells": f"{len(cells)}, of which {len(failed)} failed",
            "suites": ", ".join(sorted({c[0].suite for c in cells})),
            "seeds": ", ".join(map(str, sorted({c[0].seed for c in cells}))),
            "agents": ", ".join(sorted({c[0].agent for c in cells})),
            "measured with": "regret-envs " + ", ".join(sorted({c[0].code_version for c in cells})),
            "report made with": ", ".join(
                [f"Python {platform.python_version()}", *map(_version, ("numpy", "scipy", "matplotlib"))]
            ),
            "report made on": f"{platform.platform()}, {os.cpu_count()} cores, {date.today()}",
        }
        table = Table("Versions, seeds and machine", ["what", "value"], list(map(list, facts.items())))
        notes = "".join(f"<li>{escape(note)}</li>" for note in self._board.notes)
        notes = f"<h3>Left out</h3><ul>{notes}</ul>" if notes else ""
        rows = [[c.agent, c.task, str(c.seed), str(c.block), c.reason] for c in failed]
        columns = ["agent", "task", "seed", "block", "why"]
        failures = self._table(Table("Failures", columns, rows)) if rows else "<p>No cell failed.</p>"
        return self._table(table) + notes + failures

    def _table(self, table: Table, *, note: bool = True) -> str:
        heads = "".join(f'<th scope="col">{escape(c)}</th>' for c in table.columns)
        left = len(table.columns) - table.numbers
        body = "".join(
            "<tr>"
            + "".join(
                f"<td{' class=n' if i >= left else ''}>{escape(text)}</td>" for i, text in enumerate(row)
            )
            + "</tr>"
            for row in table.rows
        )
        below = "".join(f"<p>{escape(line)}</p>" for line in table.note.split("\n") if line and note)
        self._count += 1
        label = f"table {self._count}: {escape(table.title)}"
        return (
            f'<div class="scroll" role="region" tabindex="0" aria-label="{label}"><table>'
            f"<caption>{escape(table.title)}</caption><thead><tr>{heads}</tr></thead>"
            f"<tbody>{body}</tbody></table></div>{below}"
        )

    def _figure(self, figure: Figure, title: str, text: str, caption: str = "") -> str:
        self._count += 1
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        return f"<figure>{inline_svg(out.getvalue(), f'f{self._count}', title, text)}{below}</figure>"


def inline_svg(svg: str, name: str, title: str, text: str) -> str:
    """An SVG file's picture as an element of a page, with a title and a description.

    Ids get `name` in front, since they must be unique in the page; coordinates keep two decimals.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{name}-", svg)
    # In attributes alone: a number in a text is an agent's setting.
    places = r'\b(?:d|x|y|points|transform)="[^"]*"'
    svg = re.sub(places, lambda m: re.sub(r"(\.\d\d)\d+", r"\1", m[0]), svg)
    svg = re.sub(r"\s*\n\s*", "\n", svg)
    width = re.search(r'width="([\d.]+)pt"', svg)
    svg = re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)
    head = (
        f'role="img" aria-labelledby="{name}-t {name}-d" '
        f'style="width:{float(width[1]) * 1.33 if width else 400:.0f}px" '
    )
    described = f'<title id="{name}-t">{escape(title)}</title><desc id="{name}-d">{escape(text)}</desc>'
    return re.sub(r"<svg ([^>]*)>", lambda m: f"<svg {head}{m[1]}>{described}", svg, count=1)


def _legend(looks: dict[str, int]) -> str:
    items = []
    for agent, index in looks.items():
        dashes = " ".join(str(2 * x) for x in figures.DASHES[index % len(figures.DASHES)])
        line = (
            f'<svg aria-hidden="true" width="36" height="8"><line x1="0" y1="4" x2="36" y2="4" '
            f'stroke="{look(index)["color"]}" stroke-width="2.5" stroke-dasharray="{dashes}"/></svg>'
        )
        items.append(f"<li>{line} {escape(agent)}</li>")
    return f'<ul class="legend">{"".join(items)}</ul>' if items else ""


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} –"


_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 0; }
header, nav, main, footer { max-width: 76rem; margin: 0 auto; padding: 0 1rem; }
a { color: #00508a; }
h1, h2, h3 { line-height: 1.2; overflow-wrap: anywhere; }
h2 { border-bottom: 1px solid #bbb; padding-top: 1.5rem; }
nav ul, .legend { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .9rem; }
caption { text-align: left; font-weight: 600; padding: .25rem .5rem; }
th, td { text-align: left; padding: .2rem .6rem; border-bottom: 1px solid #ddd; vertical-align: top; }
td:first-child { white-space: nowrap; }
td.n, thead th:nth-child(n+3) { font-variant-numeric: tabular-nums; white-space: nowrap; }
td.n { text-align: right; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }
.wide { overflow-x: visible; }
figure { margin: 0; max-width: 100%; }
figcaption { text-align: center; font-size: .85rem; overflow-wrap: anywhere; }
figure svg { max-width: 100%; height: auto; display: block; }
.talk td { white-space: pre-wrap; }
p, li { overflow-wrap: anywhere; max-width: 60rem; }
""".strip()

_FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{title}</h1></header>
<nav aria-label="Sections"><ul>{links}</ul></nav>
<main>{body}</main>
</body>
</html>
"""
