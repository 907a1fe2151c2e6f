"""Look-ups by name, with errors that list the near matches."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")


class UnknownNameError(ValueError):
    """A name that is not registered; the message lists the near ones."""


def near_matches(name: str, known: Iterable[str]) -> str:
    """A clause for an error message: the known names nearest to `name`, or all of them."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(repr(n) for n in near)}?"
    return f"known: {', '.join(names)}"


def lookup(kind: str, name: str, table: Mapping[str, T]) -> T:
    """`table[name]`.

    Args:
        kind: what the table holds, for the error ("game", "agent", …).
        name: the key.
        table: names to things.

    Raises:
        UnknownNameError: if there is no such name; lists the near matches.
    """
    try:
        return table[name]
    except KeyError:
        raise UnknownNameError(f"unknown {kind} {name!r}: {near_matches(name, table)}") from None
