"""What in a table is a label and not a number: a first row that names columns, a column that names rows."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Any

from regret_envs.streams import cells

_LABEL_NAMES = re.compile(
    r"(index|idx|row|rows|id|no|nr|#|round|rounds|t|step|steps|iteration|time|timestamp|datetime|date|day|days"
    r"|week|month|year|unnamed: ?\d+|__index_level_\d+__|level_\d+)",
    re.IGNORECASE,
)


_MARKED = re.compile(r"""[($€£¥'"+\-−–]*\d[\d_.,;'’\s]*[)'"€$£¥]*""")
"""A number with marks: 1_000, $5, −1, (3). It may be a name, but not for sure."""


def row_labels(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[int, str] | None:
    """The first column of whole numbers that looks like row labels, and why; None if there is none.

    Args:
        names: of the columns, "" without one.
        rows: the cells beneath.
    """
    if len(names) < 2 or not rows:
        return None
    named = any(names)
    for column, name in enumerate(name.strip() for name in names):
        whole = [n for row in rows if (n := cells.integer(row[column])) is not None]
        if len(whole) < len(rows):
            continue
        increasing = whole == sorted(set(whole))
        counts = whole[0] in (0, 1) and whole == list(range(whole[0], whole[0] + len(whole)))
        unnamed = named and cells.is_missing(name)
        labels = _LABEL_NAMES.fullmatch(name) and len(whole) > 1
        subject = "has no name, and its cells" if unnamed else ": its cells"
        if all(map(_is_day, whole)):
            return column, f"{subject} are dates"
        if counts and (unnamed or labels or (column == 0 and len(whole) > 2)):
            return column, f"{subject} count from {whole[0]}"
        if increasing and labels:
            return column, f"{subject} increase"
    return None


def _is_day(number: int) -> bool:
    """Whether a number is a date written as 20200131."""
    if not 18000101 <= number <= 22001231:
        return False
    try:
        datetime.date(number // 10000, number // 100 % 100, number % 100)
    except ValueError:
        return False
    return True


def first_row_is_header(rows: Sequence[Sequence[str]], columns: Sequence[int], decimal: str) -> bool:
    """Whether the first row names the columns.

    Args:
        rows: all rows, as text.
        columns: the columns of losses.
        decimal: the decimal mark.

    Raises:
        ValueError: if it may or may not; says which setting decides it.
    """
    first, below = rows[0], rows[1:]

    def is_text(cell: str) -> bool:
        return cells.is_date(cell) or (cells.is_word(cell, decimal) and not _MARKED.fullmatch(cell.strip()))

    texts = [c for c in columns if is_text(first[c])]
    # Where the cell below is text too, the column says nothing about the first row.
    telling = [c for c in texts if not (below and len(below[0]) > c and is_text(below[0][c]))]
    if telling or (texts and not any(map(cells.is_date, first)) and len(texts) == len(columns)):
        return True
    marked = [c for c in columns if _MARKED.fullmatch(first[c].strip()) and cells.is_word(first[c], decimal)]
    if any(below and len(below[0]) > c and not cells.is_word(below[0][c], decimal) for c in marked):
        reason = f"{first[marked[0]]!r} is not a plain number"
    else:
        reason = _looks_like_header(
            [first[c] for c in columns], [[row[c] for c in columns if c < len(row)] for row in below]
        )
    if reason:
        raise ValueError(
            f"the first row ({first_cells(first)}) may be a header: {reason}; write header = true if it "
            "names the columns, header = false if it is the first round"
        )
    return False


def first_cells(row: Sequence[str]) -> str:
    """The first four cells of a row, for messages."""
    return ", ".join(row[:4]) + (", …" if len(row) > 4 else "")


def _looks_like_header(first: Sequence[str], below: Sequence[Sequence[str]]) -> str:
    """Why a first row of numbers may name the columns, or "" if nothing says so."""
    labels = first[1:] if len(first) > 2 and cells.is_missing(first[0]) else first
    whole = [cells.integer(cell) for cell in labels]
    names = [n for n in whole if n is not None]
    if len(names) < len(labels) or len(set(names)) < len(names) or not names:
        return ""
    in_sequence = names == list(range(names[0], names[0] + len(names)))
    if len(labels) < len(first):
        return "it begins with an empty cell, as row labels' do" if in_sequence else ""
    if in_sequence and len(names) > 1 and (names[0] == 0 or (names[0] == 1 and len(names) > 2)):
        return f"its numbers count from {names[0]}"
    if len(names) > 1 and all(1800 <= n <= 2200 for n in names) and names == sorted(names):
        return "its numbers are years"
    if not below:
        return ""
    if len(names) > 1 and any(
        "." in c or "e" in c.lower() for row in below for c in row if cells.integer(c) is None
    ):
        return "whole numbers stand over decimals"
    beneath = [n for row in below for n in map(cells.integer, row) if n is not None]
    if len(names) > 1 and beneath and min(map(abs, names)) > 10 * max(map(abs, beneath)):
        return "its numbers are far larger than those beneath"
    return ""
