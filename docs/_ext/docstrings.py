"""Docstrings as they are written here: `names` in backticks, Markdown tables, formulas in Unicode."""

from __future__ import annotations

import functools
import re
from typing import Any

from api_pages import names
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

_CODE = re.compile(r"(``.+?``|`[^`]+`|\*\*[^*]+\*\*)")
_NAME = re.compile(r"[A-Za-z_][\w.]*")


class AnyOrCode(SphinxRole):
    """`text` as code; a link where it is a public name, or a member of one."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """The node."""
        code = nodes.literal(self.rawtext, self.text)
        target = _full_name(self.text) if _NAME.fullmatch(self.text) else None
        if target is None:
            return [code], []
        return [pending_xref("", code, refdomain="py", reftype="obj", reftarget=target, refwarn=False)], []


@functools.cache
def _full_name(text: str) -> str | None:
    """The documented name that a name in a docstring stands for; None where there is none, or several."""
    for length in range(text.count(".") + 1, 0, -1):
        head = ".".join(text.split(".")[:length])
        ends = {full for name, full in names().items() if name == head or name.endswith(f".{head}")}
        if len(ends) == 1:
            return ends.pop() + text[len(head) :]
    return None


def convert(lines: list[str]) -> list[str]:
    """Tables become list-tables, and what reStructuredText would take for markup is escaped."""
    converted: list[str] = []
    table: list[str] = []
    literal = False
    for line in [*lines, ""]:
        if line.lstrip().startswith("|") and line.rstrip().endswith("|"):
            table.append(line.strip())
            continue
        if table:
            converted += _list_table(table)
            table = []
        if literal and line and not line.startswith(" "):
            literal = False
        converted.append(line if literal else _escape(line))
        literal = literal or line.endswith("::")
    return converted[:-1]


def _escape(line: str) -> str:
    if line.startswith(".. ") or line.startswith(":"):
        head, colon, rest = line.partition(": ")
        return head + colon + _escape(rest) if colon and not line.startswith(".. ") else line
    pieces = _CODE.split(line)
    for i, piece in enumerate(pieces):
        if i % 2 == 0:
            pieces[i] = re.sub(r"([*|\\])|(?<=\w)(_)(?=\W|$)", r"\\\g<0>", piece)
        elif i + 1 < len(pieces) and re.match(r"[\w']", pieces[i + 1][:1] or " "):
            pieces[i + 1] = "\\" + pieces[i + 1]  # `word`s
    return "".join(pieces)


def _list_table(rows: list[str]) -> list[str]:
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    del cells[1]  # the rule below the head
    lines = ["", ".. list-table::", "   :header-rows: 1", ""]
    for row in cells:
        for i, cell in enumerate(row):
            lines.append(f"   {'* -' if i == 0 else '  -'} {_escape(cell)}")
    return [*lines, ""]


def _process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = convert(_markdown_code(lines))


def _markdown_code(lines: list[str]) -> list[str]:
    """An indented block after a line that ends with a colon or a paragraph is code."""
    result: list[str] = []
    in_code = False
    for i, line in enumerate(lines):
        indented = line.startswith("    ")
        if in_code and line and not indented:
            in_code = False
        before = next((past for past in reversed(lines[:i]) if past), "")
        starts = (
            indented and not in_code and i > 0 and not lines[i - 1] and not before.startswith((" ", ":", "."))
        )
        if starts:
            result += ["::", ""]
            in_code = True
        result.append(line)
    return result


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the role and the conversion (after napoleon's)."""
    app.add_role("any_or_code", AnyOrCode())
    app.connect("autodoc-process-docstring", _process, priority=900)
    return {"parallel_read_safe": True}
