"""The built documentation, opened from disk in a headless Chromium; see .ci/browser."""

import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
SITE = Path(__file__).parents[1] / "build" / "docs"
KINDS = {
    "home": "index.html",
    "concept": "concepts/equilibria.html",
    "tutorial": "tutorials/01-regret-and-equilibria.html",
    "environment": "reference/environments/WeightedRPS-v1.html",
    "agent": "reference/agents/hedge.html",
    "task": "reference/tasks/core.html",
    "reference": "reference/api/regret_envs.metrics.html",
}


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    assert (SITE / "index.html").is_file(), f"build the documentation into {SITE} first: .ci/docs"
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
        yield chromium
        chromium.close()


def opened(browser, path, width=1280, scheme="light"):
    """A page, and what it said and asked for elsewhere."""
    page = browser.new_page(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        bypass_csp=True,
        reduced_motion="reduce",
    )
    noticed = []
    page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else noticed.append(r.url))
    page.on("console", lambda message: noticed.append(message.text))
    page.on("pageerror", lambda error: noticed.append(str(error)))
    page.goto(f"{SITE.as_uri()}/{path}")
    return page, noticed


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_fits_says_nothing_and_is_accessible(browser, kind, width, scheme):
    page, noticed = opened(browser, KINDS[kind], width, scheme)
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(overflow) <= 0
    if shots := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=f"{shots}/docs-{kind}-{width}-{scheme}.png")
    assert noticed == []
    page.add_script_tag(path=os.environ["AXE"])
    # It would ask for the style sheets again, which browsers refuse on file://.
    found = page.evaluate("axe.run(document, {resultTypes: ['violations'], preload: false})")
    assert [(v["id"], [n["html"][:200] for n in v["nodes"][:5]]) for v in found["violations"]] == []
    assert len(found["passes"]) > 15
    page.close()


def test_colors_follow_the_readers_scheme(browser):
    colors = set()
    for scheme in ("light", "dark"):
        page, _ = opened(browser, "index.html", scheme=scheme)
        colors.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.close()
    assert len(colors) == 2


def test_search_finds_swap_regret_from_disk(browser):
    page, noticed = opened(browser, "search.html?q=swap+regret")
    page.wait_for_selector("#search-results li a", timeout=20_000)
    found = page.eval_on_selector_all(
        "#search-results li a", "links => links.map(a => a.getAttribute('href'))"
    )
    assert any("concepts/regret.html" in link for link in found), found
    assert noticed == []
    page.close()
