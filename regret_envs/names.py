"""Look-ups by name, with errors that list the near matches."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

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


def make_named(kind: str, name: str, table: Mapping[str, Callable[..., T]], settings: Mapping[str, Any]) -> T:
    """`table[name](**settings)`.

    Raises:
        UnknownNameError: if there is no such name; lists the near matches.
        TypeError: if a setting is unknown (lists the near matches) or one that is needed is missing.
    """
    maker = lookup(kind, name, table)
    known = inspect.signature(maker).parameters
    has = f"; its settings: {', '.join(map(str, settings_of(maker)))}" if known else ", which has no settings"
    for key in settings:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
            meant = f", did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"unknown setting {key!r} of {kind} {name!r}{meant}{has}")
    for key, parameter in known.items():
        if parameter.default is parameter.empty and key not in settings:
            raise TypeError(f"{kind} {name!r} needs the setting {key!r}{has}")
    return maker(**settings)


def settings_of(maker: Callable[..., Any]) -> list[str]:
    """What can be set, with defaults: "num_actions", "seed=0"."""
    marks: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [
        f"{marks.get(p.kind, '')}{p.name}" + ("" if p.default is p.empty else f"={p.default!r}")
        for p in inspect.signature(maker).parameters.values()
    ]
