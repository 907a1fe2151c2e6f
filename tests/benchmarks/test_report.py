"""The report: one file that loads nothing, escapes what rows say, and says first what one wants to know."""

import base64
import hashlib
import re
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import msgspec
import pytest
from conftest import cell, regrets

from regret_envs.benchmarks.analysis.leaderboard import leaderboard
from regret_envs.benchmarks.running import planning, runner
from regret_envs.benchmarks.running.planning import plan_tournament
from regret_envs.benchmarks.tasks.core import TASKS
from regret_envs.benchmarks.tasks.game import tournament_task

pytest.importorskip("matplotlib")

from regret_envs.benchmarks.report import content, page, report


def failed(row, agent):
    """A failed cell of an agent on the task of another row."""
    fields = {name: getattr(row, name) for name in ("task_version", "task_hash", "data_hash", "num_actions")}
    return cell(agent, {}, task=row.task, status="failed", **fields)


@pytest.fixture(scope="module")
def rows():
    tasks = [TASKS["jordan_t1000"], TASKS["gaussian_d3_t20"], TASKS["weighted_rps_t20"]]
    cells = planning.plan("s", tasks, ["hedge[step_size=0.123456789]", "rm+", "uniform"], runs=4, seed=0)
    pairings = plan_tournament(tournament_task("chicken", 20)[0], ["hedge", "ftl"], runs=3, seed=0)
    found = [row for c in cells for row in runner.measure(c)]
    found += [row for c in pairings for row in runner.measure(c)]
    gaussian = next(row for row in found if row.task == "gaussian_d3_t20")
    return [*found, *failed(gaussian, "<b>&bad")]


@pytest.fixture(scope="module")
def whole(rows):
    return report(rows, title="Mine & yours")


class Tags(HTMLParser):
    """The tags and attributes of a page, in order."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_one_file_with_everything(whole):
    assert len(whole.encode()) < page.MOST_BYTES
    for text in ("<title>Mine &amp; yours</title>", "hedge[step_size=0.123456789]", "&lt;b&gt;&amp;bad"):
        assert text in whole
    for section in ("Leaderboard", "Task by task", "Tournaments", "What was run", "Failures"):
        assert f">{section}<" in whole
    assert "<b>&bad" not in whole
    assert re.findall(r'(?:src|href|url)[=(]"?(?!#|data:)[^\s">)]+', whole) == []
    tags = Tags(whole).found
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [a["href"][1:] for tag, a in tags if tag == "a"]
    assert {"scores", "tasks", "tournaments", "run", "task-1", "task-3"} <= set(links) <= set(ids)
    pictures = re.findall(r"<svg .*?</svg>", whole, flags=re.S)
    for picture in pictures:
        svg = ET.fromstring(picture.replace("xlink:href", "href"))
        for link in re.findall(r'(?:href="#|url\(#)([^")]+)', picture):
            assert f'id="{link}"' in picture
        if svg.get("role") == "img":
            named = svg.get("aria-labelledby").split()
            assert all(f'id="{name}"' in picture for name in named)
            assert svg.find("{*}desc").text and svg.find("{*}title").text
    # Two panels of three tasks, scores and profiles of two metrics, a game of three actions, a heat map.
    assert sum('role="img"' in p for p in pictures) == 6 + 4 + 1 + 1


def test_only_its_own_script_runs(whole):
    (script,) = re.findall(r"<script>(.*?)</script>", whole, flags=re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = [a["content"] for tag, a in Tags(whole).found if a.get("http-equiv")]
    assert f"script-src 'sha256-{digest}'" in policy and "default-src 'none'" in policy
    assert not [a for _, a in Tags(whole).found if any(name.startswith("on") for name in a)]


def test_the_answer_comes_first(rows, whole):
    tables = leaderboard(rows).overall
    best = tables[0].scores[0]
    start = whole.index('<p class="answer">')
    first = whole[start : whole.index("</p>", start)]
    assert f"{best.agent} has the lowest normalized external regret of 3 agents" in first
    assert start < whole.index("<nav") < whole.index("Scores in external regret") < whole.index("<table")


def scores(*agents):
    """The leaderboard's table over two tasks of agents with these regrets."""
    rows = [
        row
        for agent, values in agents
        for task, x in zip("abc", values, strict=False)
        for row in cell(agent, regrets(x - 0.01, x + 0.01), task=task)
    ]
    return leaderboard(rows).overall[:1]


def test_the_sentence_says_who_is_best_and_where_ones_own_agent_stands():
    (said,) = content.answers(scores(("rm+", (1.0, 1.0)), ("mine:Mine", (2.0, 3.0))))
    assert said.startswith("rm+ has the lowest normalized external regret of 2 agents on 2 tasks: 0.0")
    assert said.endswith("Your mine:Mine has rank 2 with 0.239.")
    # The mean follows one task, the mean rank two.
    (said,) = content.answers(scores(("a", (-50.0, 2.0, 2.0)), ("b", (1.0, 1.0, 1.0))))
    assert said.startswith("a has the lowest") and "By mean rank, b leads with 1.3." in said
    (said,) = content.answers(scores(("a", (1.0,)), ("b", (1.0,))))
    assert "A test cannot tell b apart from it." in said
    one, other = cell("a", regrets(1.0, 2.0), task="t"), cell("b", regrets(1.0, 2.0), task="u")
    said = content.answers(leaderboard([*one, *other]).overall)[0]
    assert said.startswith("There are no scores in external regret: no task was finished by all agents")


def test_ones_own_agents_are_marked_and_the_rest_is_folded_away():
    rows = [
        *cell("hedge", regrets(1.0, 2.0)),
        *cell("mine:Mine", regrets(3.0, 4.0)),
        *cell("ucb1", {}, status="n/a"),
    ]
    text = report(rows)
    own = re.findall(r'<tr class="own">.*?</tr>', text, flags=re.S)
    assert own and all("mine:Mine *" in line for line in own)
    assert "1 more agents without a score" in text or "1 more" in text
    folded = text[text.index("<details><summary>1 more") :]
    assert "ucb1" in folded[: folded.index("</details>")]
    main = text[text.index('id="scores-external_regret"') :]
    assert "ucb1" not in main[: main.index("</table>")]


def test_every_head_of_a_table_is_explained_where_it_stands(whole):
    tables = re.findall(r'<div class="grid".*?(?=<div class="grid"|</section>)', whole, flags=re.S)
    for table in tables:
        heads = re.findall(r"<th [^>]*>(.*?)</th>", table)
        terms = re.findall(r"<dt>(.*?)</dt>", table)
        if heads and heads[0] == "#":
            assert set(heads) <= set(terms), heads


def test_curves_can_be_chosen_and_only_the_best_are_drawn_at_first(rows):
    names = [f"hedge[step_size={x}]" for x in range(1, 12)]
    many = [row for i, name in enumerate(names) for row in cell(name, regrets(1.0 + i, 1.2 + i))]
    text = report([*many, *cell("mine:Mine", regrets(90.0, 91.0))])
    keys = re.findall(r'<li data-agent="([^"]*)"( class="off")?>', text)
    assert [name for name, off in keys if not off] == [*names[:7], "mine:Mine"]
    assert {name for name, off in keys if off} == set(names[7:])
    drawn = re.findall(r'<g class="curve( off)?" data-agent="([^"]*)"', text[text.index('class="curves"') :])
    assert {name for off, name in drawn} == {*names, "mine:Mine"}
    assert {name for off, name in drawn if off} == set(names[7:])


def test_a_report_is_the_same_again(rows):
    one = ["weighted_rps_t20"]
    assert report(rows, tasks=one) == report(rows, tasks=one)


def test_it_stays_below_its_size_with_fewer_curves(rows, monkeypatch):
    one = ["gaussian_d3_t20"]
    all_of_it = report(rows, tasks=one)
    monkeypatch.setattr(page, "MOST_BYTES", len(all_of_it.encode()) - 1)
    smaller = report(rows, tasks=one)
    assert smaller.count('class="curve"') < all_of_it.count('class="curve"')


def test_tasks_or_scores_alone(rows):
    assert 'id="tasks"' not in report(rows, by="score", tasks=["gaussian_d3_t20"])
    assert 'id="scores"' not in report(rows, by="task", tasks=["gaussian_d3_t20"])


def test_a_row_runs_no_code(rows, tmp_path, monkeypatch):
    (tmp_path / "named_by_a_row.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    named = "named_by_a_row:Agent", "blum-mansour[copies=named_by_a_row:Agent]"
    template = [row for row in rows if row.task == "weighted_rps_t20" and row.agent == "rm+"]
    told = [
        msgspec.structs.replace(
            row, agent=agent, key=f"{row.key} {agent}", identity=f"{row.identity} {agent}"
        )
        for agent in named
        for row in template
    ]
    text = report([*rows, *told], tasks=["weighted_rps_t20"])
    assert "named_by_a_row:Agent" in text and "named_by_a_row" not in sys.modules
