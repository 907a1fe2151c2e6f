"""From a reference as agents write it ("Blum and Mansour 2007") to the entry of the bibliography."""

from __future__ import annotations

import functools
import re
import unicodedata
from pathlib import Path

_ATTENTION = "swapregretloss2026"
BIBLIOGRAPHY = Path(__file__).parents[1] / "references.bib"


@functools.cache
def entries() -> dict[str, tuple[tuple[str, ...], int]]:
    """Every entry's authors' last names and year, by key."""
    found = {}
    for key, body in re.findall(r"@\w+\{(\w+),(.*?)\n?\}\n(?=@|\Z)", BIBLIOGRAPHY.read_text("utf-8"), re.S):
        author = re.search(r"author = \{(.*?)\}, title", body, re.S)
        year = re.search(r"year = \{(\d+)\}", body)
        names = author[1].split(" and ") if author else []
        lasts = tuple(_plain(name.split(",")[0]) for name in names if name != "others")
        assert year, key
        found[key] = lasts, int(year[1])
    return found


def key_of(reference: str) -> str | None:
    """The entry that a reference of the form "A, B and C 2007" or "A et al. 2007" names, or None."""
    found = re.match(r"(.+?) (\d{4})", reference.strip())
    if not found:
        return None
    named = re.split(r", | and ", found[1].removesuffix(" et al."))
    fits = [
        key
        for key, (lasts, year) in entries().items()
        if year == int(found[2])
        and lasts[: len(named)] == tuple(map(_plain, named))
        and (len(lasts) == len(named) or " et al." in found[1])
    ]
    fits = fits or [
        k for k, (lasts, y) in entries().items() if y == int(found[2]) and lasts == (_plain(named[0]),)
    ]
    return fits[0] if len(fits) == 1 else None


def cited(reference: str) -> str:
    """The reference as Markdown, every part of it that the bibliography has as a citation."""
    parts = []
    for part in reference.split("; "):
        key = _ATTENTION if "regret-trained" in part else key_of(part)
        parts.append(
            f"{part}, {{cite:p}}`{key}`" if key == _ATTENTION else f"{{cite:t}}`{key}`" if key else part
        )
    return "; ".join(parts)


def _plain(name: str) -> str:
    """A name without accents, BibTeX's or Unicode's."""
    name = re.sub(r"\{?\\[`'\"v~^] ?\{?(\w)\}?\}?", r"\1", name)
    decomposed = unicodedata.normalize("NFD", name)
    return "".join(c for c in decomposed if not unicodedata.combining(c)).strip()
