"""Pages made from the registries before every build, in `docs/reference` (not under version control)."""

from __future__ import annotations

from pathlib import Path

import agent_pages
import api_pages
import env_pages
import task_pages
from sphinx.application import Sphinx


def _write(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference"
    api_pages.write_pages(folder / "api")
    env_pages.write_pages(folder / "environments")
    agent_pages.write_pages(folder / "agents")
    task_pages.write_pages(folder / "tasks")
    task_pages.write_worlds(folder / "worlds.md")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}
