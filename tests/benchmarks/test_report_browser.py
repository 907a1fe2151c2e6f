"""The report in a headless Chromium; see .ci/browser, which fetches what this needs."""

import functools
import http.server
import json
import os
import threading

import msgspec
import pytest
from conftest import cell, regrets

from regret_envs.benchmarks.report import report
from regret_envs.benchmarks.running import planning, runner
from regret_envs.benchmarks.running.planning import plan_tournament
from regret_envs.benchmarks.tasks.core import TASKS
from regret_envs.benchmarks.tasks.game import tournament_task

pytestmark = pytest.mark.browser

AGENTS = ["hedge", "blum-mansour", "rm+", "ftl", "ogd", "uniform", "adahedge", "hedge-anytime", "mmd"]
AGENTS += ["hedge[step_size=0.123456789]"]


def rows():
    """Streams and games, a tournament, a failure and an agent that does not play."""
    tasks = [TASKS[t] for t in ("weighted_rps_t1000", "shapley_t5000", "jordan_t1000", "gaussian_d3_t20")]
    cells = planning.plan("core", tasks, AGENTS, runs=6, seed=0)
    pairings = plan_tournament(tournament_task("weighted_rps", 50)[0], AGENTS, runs=3, seed=0)
    found = [row for c in cells for row in runner.measure(c)]
    found += [row for c in pairings for row in runner.measure(c)]
    on = {}
    for row in found:
        fields = ("task_version", "task_hash", "data_hash", "num_actions", "loss_scale")
        on[row.task] = {name: getattr(row, name) for name in fields}
    gaussian, game = "gaussian_d3_t20", "weighted_rps_t1000"
    found += cell("mypkg.mine:Mine[how=<b>&'quotes'\"]", {}, task=gaussian, status="failed", **on[gaussian])
    found += cell("net", {}, task=game, status="n/a", **on[game])
    own = "mypkg.mine:Good"
    found += [
        msgspec.structs.replace(row, agent=own, key=f"{row.key} {own}", identity=f"{row.identity} {own}")
        for row in found
        if row.agent == "mmd" and not row.is_pairing
    ]
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


@pytest.fixture
def opened(url, browser):
    """Opens the page with some of a browser's settings; what the console says must be nothing."""
    pages, said = [], []

    def open_page(**settings):
        page = browser.new_page(**{"viewport": {"width": 1280, "height": 900}, **settings})
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(url)
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert said == []


OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SCHEMES = ("light", "dark")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [390, 1280])
def test_it_asks_for_nothing_fits_and_is_accessible(url, opened, width, scheme):
    requests = []
    page = opened(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    page.on("request", lambda request: requests.append(request.url))
    page.reload()
    if shots := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=f"{shots}/report-{width}-{scheme}.png", full_page=True)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.title() == "regret-envs"
    assert page.evaluate(OVERFLOW) <= 0
    assert page.locator("svg[role=img]").count() >= 15
    assert [u for u in requests if not u.startswith("data:")] == [url]
    page.add_script_tag(path=os.environ["AXE"])
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in found["violations"]] == []
    assert len(found["passes"]) > 20


def luminance(color):
    """WCAG's relative luminance of a computed color, "rgb(r, g, b)"."""
    channels = [int(x) / 255 for x in color.partition("(")[2].rstrip(")").split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_scheme_is_the_readers(opened, scheme):
    page = opened(color_scheme=scheme)
    paper, ink = (
        page.evaluate(f"getComputedStyle(document.body).{name}") for name in ("backgroundColor", "color")
    )
    assert (luminance(paper) > 0.8) == (scheme == "light")
    low, high = sorted([luminance(paper), luminance(ink)])
    assert (high + 0.05) / (low + 0.05) >= 7
    inverted = page.evaluate("getComputedStyle(document.querySelector('figure svg')).filter")
    assert (inverted == "none") == (scheme == "light")
    own = page.locator("tr.own td").first.evaluate("cell => getComputedStyle(cell).backgroundColor")
    other = page.locator("tr:not(.own) td").first.evaluate("cell => getComputedStyle(cell).backgroundColor")
    assert own != other
    page.emulate_media(media="print", color_scheme=scheme)
    assert luminance(page.evaluate("getComputedStyle(document.body).color")) < 0.05
    assert page.evaluate("getComputedStyle(document.querySelector('figure svg')).filter") == "none"
    assert not page.locator("nav").is_visible()


def column(page, table, number):
    return page.locator(f"#{table} tbody tr:visible td:nth-child({number})").all_inner_texts()


def test_a_table_is_sorted_by_its_heads(opened):
    page = opened()
    table = "scores-external_regret"
    head = page.locator(f"#{table} th", has_text="score")
    before = [float(x) for x in column(page, table, 3)]
    assert len(before) >= 5 and before == sorted(before)
    for way, reverse in (("ascending", False), ("descending", True)):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == way
        shown = [float(x) for x in column(page, table, 3)]
        assert shown == sorted(before, reverse=reverse)
    page.locator(f"#{table} th", has_text="agent").locator("button").press("Enter")
    names = [name.lower() for name in column(page, table, 2)]
    assert names == sorted(names) and head.get_attribute("aria-sort") is None
    # Numbers with separators, and the index of tasks.
    page.locator("#index th button", has_text="T").last.click()
    rounds = [int(x.replace(",", "")) for x in column(page, "index", 6)]
    assert rounds == sorted(rounds) and len(set(rounds)) > 2


def test_a_table_is_filtered_by_words(opened):
    page = opened()
    table = "scores-external_regret"
    box = page.locator(".grid", has=page.locator(f"#{table}")).locator("input[type=search]")
    everyone = column(page, table, 2)
    box.fill("hedge STEP")
    assert column(page, table, 2) == ["hedge[step_size=0.123456789]"]
    box.fill("")
    assert column(page, table, 2) == everyone


def test_curves_are_chosen_by_checkboxes(opened):
    page = opened()
    curves = page.locator(".curves", has=page.locator("li[data-agent='uniform']")).first
    line = curves.locator(".curve[data-agent='hedge']").first
    box = curves.get_by_role("checkbox", name="hedge", exact=True)
    assert box.is_checked() and line.is_visible()
    box.uncheck()
    assert not line.is_visible()
    curves.locator("summary").click()
    hidden = curves.locator("details li").first
    agent = hidden.get_attribute("data-agent")
    other = curves.locator(f".curve[data-agent={json.dumps(agent)}]").first
    assert not other.is_visible()
    hidden.get_by_role("checkbox").check()
    assert other.is_visible()


def test_it_works_without_its_script(opened):
    page = opened(java_script_enabled=False)
    assert page.locator("th button").count() == page.locator("input").count() == 0
    assert page.locator(".answer").count() == 2 and page.locator(".curve:visible").count() > 20
    hidden = page.locator(".legend li.off")
    assert hidden.count() > 0 and not hidden.first.is_visible()
    page.locator("summary", has_text="Table of").first.click()
    assert page.locator("article details[open] table").first.is_visible()


def test_a_narrow_page_says_that_a_table_scrolls(opened):
    page = opened(viewport={"width": 390, "height": 800})
    grid = page.locator(".grid", has=page.locator("#scores-external_regret"))
    assert "Scroll" in grid.locator(".cue").inner_text() and grid.locator(".cue").is_visible()
    assert page.locator("#scores-external_regret").evaluate("x => x.scrollWidth > x.clientWidth")
    assert not opened().locator(".cue").first.is_visible()


def test_the_policy_of_the_page_lets_nothing_in(url, browser):
    page = browser.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(url)
    page.evaluate("document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/x.png'}))")
    page.wait_for_timeout(200)
    assert any("Content Security Policy" in text for text in said)
    page.close()
