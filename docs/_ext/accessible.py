"""What the theme's pages lack for readers who use a keyboard or a screen reader."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

_CHANGES = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Contents of the site">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="Contents of the page">',
    # What may scroll can be reached by the keyboard.
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper ': '<div tabindex="0" class="table-wrapper ',
}


def complete(folder: Path) -> None:
    """Change the pages in a folder; a second time changes nothing."""
    for file in folder.rglob("*.html"):
        text = file.read_text("utf-8")
        changed = text
        for old, new in _CHANGES.items():
            changed = changed.replace(old, new)
        if changed != text:
            file.write_text(changed, "utf-8")


def _finished(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        complete(Path(app.outdir))


def setup(app: Sphinx) -> dict[str, bool]:
    """Change the pages when all are written."""
    app.connect("build-finished", _finished)
    return {"parallel_read_safe": True}
