import re
import sys
import xml.etree.ElementTree as ET

import msgspec
import numpy as np
import pytest
from conftest import cell

from regret_envs.benchmarks.analysis import figures, report
from regret_envs.benchmarks.analysis.standings import tournament
from regret_envs.benchmarks.analysis.task_results import task_results
from regret_envs.benchmarks.running import planning, runner
from regret_envs.benchmarks.running.planning import plan_tournament
from regret_envs.benchmarks.tasks.core import TASKS
from regret_envs.benchmarks.tasks.game import tournament_task

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def rows():
    tasks = [TASKS["jordan_t1000"], TASKS["gaussian_d3_t20"], TASKS["weighted_rps_t20"]]
    cells = planning.plan("s", tasks, ["hedge[step_size=0.123456789]", "rm+", "uniform"], runs=4, seed=0)
    pairings = plan_tournament(tournament_task("chicken", 20)[0], ["hedge", "ftl"], runs=3, seed=0)
    found = [row for c in cells for row in runner.measure(c)]
    found += [row for c in pairings for row in runner.measure(c)]
    return [*found, *cell("<b>&bad", {}, task="gaussian_d3_t20", status="failed")]


def test_one_file_with_everything(rows):
    page = report.report(rows, title="Mine & yours")
    assert len(page.encode()) < report.MOST_BYTES
    for text in ("<title>Mine &amp; yours</title>", "hedge[step_size=0.123456789]", "&lt;b&gt;&amp;bad"):
        assert text in page
    for section in ("Leaderboard", "Task by task", "Tournaments", "What was run", "Failures"):
        assert f">{section}<" in page
    assert "<script" not in page and "<b>&bad" not in page
    assert re.findall(r'(?:src|href|url)[=(]"?(?!#|data:)[^\s">)]+', page) == []
    ids = re.findall(r'\bid="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    pictures = re.findall(r"<svg .*?</svg>", page, flags=re.S)
    for picture in pictures:
        svg = ET.fromstring(picture.replace("xlink:href", "href"))
        for link in re.findall(r'(?:href="#|url\(#)([^")]+)', picture):
            assert f'id="{link}"' in picture
        if svg.get("role") == "img":
            named = svg.get("aria-labelledby").split()
            assert all(f'id="{name}"' in picture for name in named)
            assert svg.find("{http://www.w3.org/2000/svg}desc").text
    # Three tasks with two panels, two profiles, one three-action game of three agents, and a heat map.
    assert sum('role="img"' in p for p in pictures) == 6 + 2 + 3 + 1


def test_a_report_is_the_same_again(rows):
    one = ["weighted_rps_t20"]
    assert report.report(rows, tasks=one) == report.report(rows, tasks=one)


def test_it_stays_below_its_size_with_fewer_agents_a_figure(rows, monkeypatch):
    one = ["gaussian_d3_t20"]
    whole = report.report(rows, tasks=one)
    monkeypatch.setattr(report, "MOST_BYTES", len(whole.encode()) - 1)
    smaller = report.report(rows, tasks=one)
    assert smaller.count("<path") < whole.count("<path")


def test_what_a_curve_shows():
    values = {1: (2.0, 4.0), 100: (30.0, 50.0)}
    found = [
        row
        for agent, factor in (("a", 1.0), ("b", -1.0))
        for row in cell(agent, {"external_regret": np.array(values[100]) * factor}, rounds=(1, 100))
    ]
    (r,) = task_results(found)[0]
    with figures.style():
        axes = figures.curves(r, "external_regret", {"a": 0, "b": 1}).axes[0]
    above, below, theory = axes.lines
    np.testing.assert_allclose(above.get_ydata(), [9.0, 0.4])
    assert np.isnan(below.get_ydata()[1]) and axes.get_xscale() == axes.get_yscale() == "log"
    unit = r.normalization("external_regret")
    np.testing.assert_allclose(theory.get_ydata(), [unit / 10, unit / 100])
    assert above.get_linestyle() != below.get_linestyle() and above.get_color() != below.get_color()
    band = axes.collections[0].get_paths()[0].vertices
    at_end = band[band[:, 0] == 100, 1]
    assert (at_end.min(), at_end.max()) == (pytest.approx(0.4 - 1.96 * 0.1), pytest.approx(0.4 + 1.96 * 0.1))


def test_text_on_a_heat_map_is_legible(rows):
    found = tournament(rows, "tournament_chicken_t20")
    with figures.style():
        figure = figures.heat_map(found)
    axes = figure.axes[0]
    mesh = axes.collections[0]
    colors = mesh.to_rgba(mesh.get_array()).reshape(-1, 4)
    assert len(axes.texts) == 4
    for text, color in zip(axes.texts, colors, strict=True):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color[:3]]
        cell_light = float(np.dot(linear, [0.2126, 0.7152, 0.0722]))
        text_light = {"#ffffff": 1.0, "#000000": 0.0}[text.get_color()]
        lighter, darker = max(cell_light, text_light), min(cell_light, text_light)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5


def test_the_simplex_path_is_play():
    task = TASKS["weighted_rps_t20"]
    policies, average = figures.simplex_path(task, "hedge")
    assert policies.shape == average.shape and policies.shape[1] == 3
    np.testing.assert_allclose(policies[0], 1 / 3)
    np.testing.assert_allclose(average.sum(1), 1)
    assert figures.simplex_path(TASKS["jordan_t1000"], "hedge") is None
    assert figures.simplex_path(TASKS["gaussian_d3_t20"], "hedge") is None


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
    page = report.report([*rows, *told], tasks=["weighted_rps_t20"])
    assert "named_by_a_row:Agent" in page and "named_by_a_row" not in sys.modules
