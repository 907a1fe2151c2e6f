"""Pages made from the registries before every build, in `docs/reference` (not under version control)."""

from __future__ import annotations

from pathlib import Path

import api_pages
from sphinx.application import Sphinx


def _write(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference"
    api_pages.write_pages(folder / "api")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}
