"""The built documentation, in build/docs: complete, without dead links, and in need of no network."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytestmark = pytest.mark.docs
ROOT = Path(__file__).parents[1]
SITE = ROOT / "build" / "docs"


class Page(HTMLParser):
    """What a page defines, links to and loads."""

    def __init__(self, file):
        super().__init__()
        self.anchors, self.links, self.loaded = {""}, [], []
        self.feed(file.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors.update(given[key] for key in ("id", "name") if given.get(key))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag == "link" and "stylesheet" in given.get("rel", ""):
            self.loaded.append(given["href"])
        elif given.get("src"):
            self.loaded.append(given["src"])


@pytest.fixture(scope="module")
def pages():
    found = {file.resolve(): Page(file) for file in SITE.rglob("*.html")}
    assert len(found) > 20, f"build the documentation into {SITE} first: .ci/docs"
    return found


def elsewhere(link):
    return urlsplit(link).scheme or link.startswith("//")


def test_no_link_inside_is_dead(pages):
    dead = []
    for file, page in pages.items():
        for link in (*page.links, *page.loaded):
            if elsewhere(link):
                continue
            split = urlsplit(link)
            target = (file.parent / unquote(split.path)).resolve() if split.path else file
            anchor = unquote(split.fragment)
            if not target.is_file() or (target in pages and anchor not in pages[target].anchors):
                dead.append(f"{file.relative_to(SITE)}: {link}")
    assert dead == []


def test_no_page_needs_the_network(pages):
    for file, page in pages.items():
        assert [link for link in page.loaded if elsewhere(link) and not link.startswith("data:")] == [], file
    for file in (*SITE.rglob("*.css"), *SITE.rglob("*.html")):
        assert re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//", file.read_text("utf-8")) == [], file


def test_every_public_name_is_in_the_reference(monkeypatch):
    from sphinx.util.inventory import InventoryFile

    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    import api_pages

    with (SITE / "objects.inv").open("rb") as stream:
        inventory = InventoryFile.load(stream, "", lambda base, uri: uri)
    documented = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    assert len(api_pages.names()) > 200
    assert sorted(set(api_pages.names().values()) - documented) == []


def test_math_is_drawn_by_the_browser():
    text = (SITE / "concepts" / "play-loss-matrix.html").read_text("utf-8")
    assert "<math" in text and "MathJax" not in text
