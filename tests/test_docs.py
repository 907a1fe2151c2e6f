"""The documentation's sources: every snippet runs, every link leads somewhere, every module has its page."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from pathlib import Path

import pytest
from snippets import run_page, snippets

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GENERATED = ("reference", "tutorials")
PAGES = [p for p in sorted(DOCS.rglob("*.md")) if p.relative_to(DOCS).parts[0] not in GENERATED]


def page_id(page):
    return str(page.relative_to(DOCS))


@pytest.mark.parametrize(
    "page", [p for p in PAGES if any(s.not_run is None for s in snippets(p.read_text()))], ids=page_id
)
def test_a_page_runs_from_top_to_bottom(page, tmp_path):
    run_page(page.read_text(), tmp_path)


def test_a_snippet_that_fails_fails_its_page(tmp_path):
    run_page("```python\nprint(1)\n```\n\n```text\n1\n```\n", tmp_path)
    for page in (
        "```python\n1 / 0\n```\n",
        "```sh\nfalse\n```\n",
        "```python\nprint(1)\n```\n\n```text\nx\n```\n",
    ):
        with pytest.raises(AssertionError):
            run_page(page, tmp_path)
    run_page("<!-- not run: it fails -->\n```python\n1 / 0\n```\n", tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith(("http:", "https:")):
            path = (page.parent / target).resolve()
            generated = path.is_relative_to(DOCS / "reference")  # looked for in the built site
            assert generated or path.exists(), f"{target} in {page_id(page)}"


def test_every_module_that_says_what_is_public_is_in_the_reference():
    # Read, not imported: the page of regret_envs.jax needs JAX.
    tree = ast.parse((DOCS / "_ext" / "api_pages.py").read_text())
    (modules,) = (n.value for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "MODULES")
    listed = set(ast.literal_eval(modules))
    declared = set()
    for package, folder in (
        ("regret_envs", "regret_envs"),
        ("regret_envs.agents", "agents"),
        ("regret_envs.benchmarks", "benchmarks"),
    ):
        for file in (ROOT / folder).rglob("__init__.py"):
            names = [n for n in ast.parse(file.read_text()).body if isinstance(n, ast.Assign)]
            if any(isinstance(t, ast.Name) and t.id == "__all__" for n in names for t in n.targets):
                declared.add(".".join([package, *file.parent.relative_to(ROOT / folder).parts]))
    assert len(declared) >= 9
    assert declared <= listed


def test_every_agents_paper_is_in_the_bibliography(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    import citations

    from regret_envs.agents.catalogue import built_in

    references = set()
    for entry in built_in().values():
        if entry.requires is None:
            module, _, name = entry.target.partition(":")
            reference = getattr(importlib.import_module(module), name).reference
            references |= set(reference.split("; ")) if isinstance(reference, str) else set()
    references -= {"", *(r for r in references if r.startswith("regret-trained"))}
    assert len(references) > 20
    assert sorted(r for r in references if citations.key_of(r) is None) == []
    assert citations.key_of("Blum and Mansour 2008") is None and citations.key_of("Nobody 2007") is None


def test_the_citation_is_of_this_version():
    citation = (ROOT / "CITATION.cff").read_text()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nversion: {version}\n" in citation
    assert f"version = {{{version}}}" in (ROOT / "README.md").read_text()
