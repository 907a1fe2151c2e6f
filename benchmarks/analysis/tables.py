"""Tables of text: Markdown for files and pipes, CSV, and drawn for a terminal."""

from __future__ import annotations

import csv
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regret_envs.benchmarks.analysis.board import Estimate

WIDTH = 80


@dataclass(frozen=True)
class Table:
    """Cells of text under column heads.

    Attributes:
        title: above the table.
        columns: heads.
        rows: as many cells as columns.
        numbers: how many of the last columns are numbers: to the right, and never cut or wrapped.
        note: below the table.
        optional: columns that a narrow terminal leaves out, the first ones first.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: int = 0
    note: str = ""
    optional: Sequence[str] = ()


def markdown(tables: Sequence[Table]) -> str:
    """The tables in Markdown."""
    blocks = []
    for table in tables:
        widths = [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]
        left = len(widths) - table.numbers
        rule = [f"{'-' * (max(w, 3) - (i >= left))}{':' * (i >= left)}" for i, w in enumerate(widths)]
        lines = [
            "| "
            + " | ".join(
                cell.rjust(max(w, 3)) if i >= left else cell.ljust(max(w, 3))
                for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
            + " |"
            for row in (table.columns, rule, *table.rows)
        ]
        blocks.append(
            "\n".join([f"### {table.title}", "", *lines, *(["", table.note] if table.note else [])])
        )
    return "\n\n".join(blocks) + "\n"


def show(tables: Sequence[Table]) -> None:
    """Print the tables: drawn as wide as the terminal, from 80 to 140 columns; elsewhere in Markdown.

    A narrower terminal breaks the lines, which loses no digit.
    """
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(width=min(max(shutil.get_terminal_size((WIDTH, 24)).columns, WIDTH), 140))
    if not console.is_terminal:
        print(markdown(tables), end="")
        return
    for whole in tables:
        table = _fitted(whole, console.width)
        console.print(Text(table.title, style="bold"))
        drawn = RichTable(box=None, header_style="dim")
        left = len(table.columns) - table.numbers
        for i, column in enumerate(table.columns):
            number = i >= left
            drawn.add_column(
                Text(column), justify="right" if number else "left", no_wrap=number, overflow="fold"
            )
        for row in table.rows:
            drawn.add_row(*map(Text, row))
        console.print(drawn)
        if table.note:
            console.print(Text(table.note, style="dim"))
        console.print()


def _fitted(table: Table, width: int) -> Table:
    """The table without optional columns for which there is no room; its note then says so."""

    def needed(shown: Sequence[int]) -> int:
        left = len(table.columns) - table.numbers
        widths = [max(len(table.columns[i]), *(len(row[i]) for row in table.rows), 0) for i in shown]
        # Text columns are folded at most to a third of the width; columns are two blanks apart.
        return sum(
            w if i >= left else min(w, width // 3) for i, w in zip(shown, widths, strict=True)
        ) + 2 * len(shown)

    shown = list(range(len(table.columns)))
    dropped = []
    for name in table.optional:
        if name in table.columns and needed(shown) > width:
            shown.remove(list(table.columns).index(name))
            dropped.append(name)
    if not dropped:
        return table
    line = f"{', '.join(dropped)}: no room for it in {width} columns."
    return replace(
        table,
        columns=[table.columns[i] for i in shown],
        rows=[[row[i] for i in shown] for row in table.rows],
        numbers=table.numbers - len(dropped),
        note="\n".join([*([table.note] if table.note else []), line]),
    )


def print_as(format_: str, content: Any, tables: Sequence[Table]) -> None:
    """Print `content` as "json", or the tables as "csv" (each under its own heads), "md" or "table"."""
    if format_ == "json":
        import msgspec

        print(msgspec.json.format(msgspec.json.encode(content), indent=2).decode())
    elif format_ == "csv":
        for table in tables:
            lines = [table.columns, *table.rows]
            csv.writer(sys.stdout, lineterminator="\n").writerows([map(csv_cell, line) for line in lines])
    elif format_ == "md":
        print(markdown(tables), end="")
    else:
        show(tables)


def csv_cell(value: Any) -> Any:
    """A cell of a CSV file; text that spreadsheets would take for a formula has an apostrophe in front."""
    if isinstance(value, str) and value[:1] in _FORMULA and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?( ± \d+(\.\d+)?(e[+-]?\d+)?)?")


def number(value: float) -> str:
    """Five significant digits, or all before the point."""
    return f"{value:.0f}" if abs(value) >= 1e5 else f"{value:.5g}"


def mean_and_error(e: Estimate) -> str:
    """mean ± standard error, the error with two significant digits; the mean alone of a single run."""
    if e.standard_error is None:
        return number(e.mean)
    if e.standard_error <= 1e-9 * abs(e.mean):
        return f"{number(e.mean)} ± 0"
    decimals = int(np.clip(1 - np.floor(np.log10(e.standard_error)), 0, 6))
    return f"{e.mean:z.{decimals}f} ± {e.standard_error:.{decimals}f}"


def headed(metric: str, higher_is_better: bool) -> str:
    """A metric's name, with an arrow in the direction that is better."""
    return f"{metric.replace('_', ' ')} {'↑' if higher_is_better else '↓'}"


def is_own(agent: str) -> bool:
    """Whether a spec names the user's own code or weights ("module:Class", "checkpoint:folder")."""
    return ":" in agent.partition("[")[0]


def shown_agent(agent: str) -> str:
    """A spec for tables: the user's own agents have a star."""
    return f"{agent} *" if is_own(agent) else agent
