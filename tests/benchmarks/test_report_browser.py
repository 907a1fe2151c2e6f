"""The report in a headless Chromium; see .ci/browser, which fetches what this needs."""

import functools
import http.server
import os
import threading

import pytest
from conftest import cell, regrets

from regret_envs.benchmarks.analysis.report import report
from regret_envs.benchmarks.running import planning, runner
from regret_envs.benchmarks.running.planning import plan_tournament
from regret_envs.benchmarks.tasks.core import TASKS
from regret_envs.benchmarks.tasks.game import tournament_task

pytestmark = pytest.mark.browser

AGENTS = ["hedge", "blum-mansour", "rm+", "ftl", "ogd", "uniform", "adahedge", "hedge[step_size=0.123456789]"]


def rows():
    """Streams and games, a tournament, a failure and an agent that does not play."""
    tasks = [TASKS[t] for t in ("weighted_rps_t1000", "shapley_t5000", "jordan_t1000", "gaussian_d3_t20")]
    cells = planning.plan("core", tasks, AGENTS, runs=6, seed=0)
    pairings = plan_tournament(tournament_task("weighted_rps", 50)[0], AGENTS, runs=3, seed=0)
    found = [row for c in cells for row in runner.measure(c)]
    found += [row for c in pairings for row in runner.measure(c)]
    found += cell("mypkg.mine:Mine[how=<b>&'quotes'\"]", {}, task="gaussian_d3_t20", status="failed")
    found += cell("net", {}, task="weighted_rps_t1000", status="n/a")
    return [*found, *cell("hedge", regrets(0.0, 0.0), task="no regret at all", num_actions=1)]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    (folder / "report.html").write_text(report(rows()), encoding="utf-8")
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *a: None})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/report.html"
    server.shutdown()


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_it_asks_for_nothing_fits_and_is_accessible(url, browser, width):
    page = browser.new_page(viewport={"width": width, "height": 900}, bypass_csp=True)
    requests, said = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(url)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.title() == "regret-envs"
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(overflow) <= 0
    assert page.locator("svg[role=img]").count() >= 15
    assert [u for u in requests if not u.startswith("data:")] == [url] and said == []
    if shots := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=f"{shots}/report-{width}.png", full_page=True)
    page.add_script_tag(path=os.environ["AXE"])
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in found["violations"]] == []
    assert len(found["passes"]) > 20
    page.close()


def test_the_policy_of_the_page_lets_nothing_in(url, browser):
    page = browser.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(url)
    page.evaluate("document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/x.png'}))")
    page.wait_for_timeout(200)
    assert any("Content Security Policy" in text for text in said)
    page.close()
