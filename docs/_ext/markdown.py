"""Pieces of Markdown pages that are made from the code."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; bars within cells are escaped."""
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    for row in rows:
        cells = (re.sub(r"\s+", " ", str(cell)).strip().replace("|", "\\|") for cell in row)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write(path: Path, *blocks: str) -> None:
    """Write a page, if it differs from what is there: Sphinx reads changed pages again."""
    text = "\n\n".join(block.strip("\n") for block in blocks if block) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def document(obj: Any) -> tuple[str, dict[str, str]]:
    """A docstring without its sections, as Markdown, and what it says of every argument."""
    lines = inspect.cleandoc(obj.__doc__ or "").splitlines()
    body: list[str] = []
    arguments: dict[str, str] = {}
    section = last = ""
    for line in lines:
        if re.fullmatch(r"(Args|Raises|Returns|Attributes|Yields):", line):
            section = line[:-1]
        elif section and (line.startswith(" ") or not line):
            if section == "Args" and (found := re.match(r"    (\w+): (.*)", line)):
                last = found[1]
                arguments[last] = found[2]
            elif section == "Args" and line.strip() and last:
                arguments[last] += " " + line.strip()
        else:
            section = ""
            body.append(line)
    return _escaped("\n".join(body).strip()), arguments


def _escaped(text: str) -> str:
    """Stars outside code, bold and bullets are multiplication, or part of a name such as k*."""
    pieces = re.split(r"(```.*?```|`[^`]*`|\*\*[^*\n]+\*\*)", text, flags=re.DOTALL)
    pieces[::2] = [re.sub(r"(?<!^)(?<!\n)\*", r"\\*", piece) for piece in pieces[::2]]
    return "".join(pieces)


def arguments(maker: Callable[..., Any], also: Mapping[str, str] | None = None) -> str:
    """The settings of a class or function as a table, or a sentence where there are none."""
    known = {**(also or {}), **document(maker)[1]}
    if inspect.isclass(maker):
        for base in reversed(maker.__mro__):
            known = {**document(base)[1], **known}
    rows = []
    for name, parameter in inspect.signature(maker).parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        default = "required" if parameter.default is parameter.empty else f"`{shown(parameter.default)}`"
        rows.append((f"`{name}`", default, known.get(name, "")))
    return table(("setting", "default", "meaning"), rows) if rows else "It has no settings."


def shown(value: object) -> str:
    """A default as a reader would write it."""
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
