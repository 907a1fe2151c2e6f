"""Tables of numbers from CSV and Parquet files, read by one set of rules.

A file is read as columns of cells; what a cell may be, and which columns are losses, does not depend on
the format. What cannot be told from the file (whether a first row of numbers is a header, whether a column
that counts is losses) is an error that names the settings that decide it.
"""

from __future__ import annotations

import csv
import hashlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.names import lookup
from regret_envs.streams import cells
from regret_envs.streams.labels import first_cells, first_row_is_header, row_labels


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """How a table is read.

    Attributes:
        columns: the columns of losses, by name or by number from 0, in this order; None: all.
        skip: columns that are left out, likewise. None: none, and a column that looks like row labels
            is an error; (): every column is losses.
        header: whether the first row names the columns. None: it does if it holds a word.
        separator: what lies between cells.
        decimal: the decimal mark, "." or ",".

    Raises:
        ValueError, TypeError: if a setting is not one of these.
    """

    columns: Sequence[str | int] | None = None
    skip: Sequence[str | int] | None = None
    header: bool | None = None
    separator: str = ","
    decimal: str = "."

    def __post_init__(self) -> None:
        for name, chosen in (("columns", self.columns), ("skip", self.skip)):
            if chosen is None:
                continue
            entries = [] if isinstance(chosen, str) else list(chosen)
            if isinstance(chosen, str) or any(
                isinstance(c, bool) or not isinstance(c, (str, int)) for c in entries
            ):
                raise TypeError(f'{name} must be a list of names or numbers, as ["date", 3], got {chosen!r}')
            object.__setattr__(self, name, tuple(entries))
            if len(set(entries)) < len(entries):
                raise ValueError(f"{name} names a column twice: {entries}")
        if self.columns is not None and self.skip is not None:
            raise ValueError("columns and skip exclude each other: give one of them")
        if self.columns is not None and not len(self.columns):
            raise ValueError("columns is empty: name the columns of losses, or leave it out for all of them")
        if self.header not in (None, True, False):
            raise TypeError(f"header must be true or false, got {self.header!r}")
        if not isinstance(self.separator, str) or len(self.separator) != 1 or self.separator in '"\r\n':
            raise ValueError(f'separator must be one character, as ";" or "\\t", got {self.separator!r}')
        if self.decimal not in (".", ","):
            raise ValueError(f'decimal must be "." or ",", got {self.decimal!r}')
        if self.decimal == self.separator:
            raise ValueError(
                f'decimal and separator are both {self.decimal!r}: with decimal = "," give separator = ";"'
            )


@dataclass(frozen=True)
class Table:
    """What was read.

    Attributes:
        values: shape (rows, columns), float64.
        names: the columns' names, or "" without one.
        notes: one line per rule that was applied to something unusual.
    """

    values: FloatArray
    names: tuple[str, ...]
    notes: tuple[str, ...]


def read_table(path: Path, settings: TableSettings) -> Table:
    """The numbers of a `.csv` or `.parquet` file.

    Raises:
        ValueError: if the file is unreadable or ragged, a cell is not a finite number, or the file leaves
            open what is losses; names row, column and the setting to write.
        UnknownNameError: if there is no such column; lists the near matches.
        ImportError: if Parquet is asked for and pyarrow is not installed; names the extra.
    """
    # A task makes its world again for every cell; the content is parsed once.
    return _parsed(path, hashlib.sha256(path.read_bytes()).digest(), settings)


@lru_cache(maxsize=8)
def _parsed(path: Path, digest: bytes, settings: TableSettings) -> Table:
    raw = _read_parquet(path, settings) if path.suffix.lower() == ".parquet" else _read_csv(path, settings)
    chosen = _chosen(raw, settings)
    notes = list(raw.notes)
    if settings.columns is None and settings.skip is None and (found := row_labels(raw.names, raw.rows)):
        column, what = found
        raise ValueError(
            f"{raw.where(column)} {what}: they look like row labels. Write skip = [{raw.key(column)}] to "
            "leave them out, or skip = [] if they are losses"
        )
    values = np.empty((len(raw.rows), len(chosen)))
    for position, column in enumerate(chosen):
        values[:, position], column_notes = _numbers(raw, column, settings.decimal)
        notes += column_notes
    return Table(values, tuple(raw.names[c] for c in chosen), tuple(notes))


@dataclass
class _Raw:
    """The cells of a file before they are numbers; texts in CSV, any objects in Parquet."""

    file: str
    names: list[str]
    rows: list[Sequence[Any]]
    where_row: Callable[[int], str]
    notes: list[str] = field(default_factory=list)

    def where(self, column: int, row: int | None = None) -> str:
        """A place, as a person counts it in the file."""
        name = f" ({self.names[column]!r})" if self.names[column] else ""
        row_text = "" if row is None else f"{self.where_row(row)}, "
        return f"{self.file}: {row_text}column {column + 1}{name}"

    def key(self, column: int) -> str:
        """How a setting names the column, as in TOML."""
        name = self.names[column]
        return f'"{name}"' if name and self.names.count(name) == 1 else str(column)


def _chosen(raw: _Raw, settings: TableSettings) -> list[int]:
    """The numbers of the columns that are read."""
    width = len(raw.names)

    def find(wanted: str | int) -> int:
        if isinstance(wanted, str):
            named = {name: i for i, name in enumerate(raw.names) if name}
            if not named:
                raise ValueError(
                    f"{raw.file} has no column names: give {wanted!r} as a number from 0, or header = true"
                )
            if raw.names.count(wanted) > 1:
                raise ValueError(f"{raw.file} has several columns {wanted!r}: give their numbers from 0")
            return lookup(f"column of {raw.file}", wanted, named)
        if not 0 <= wanted < width:
            raise ValueError(f"{raw.file} has columns 0 … {width - 1}, there is no column {wanted}")
        return wanted

    if settings.columns is not None:
        return [find(c) for c in settings.columns]
    left_out = {find(c) for c in settings.skip or ()}
    chosen = [c for c in range(width) if c not in left_out]
    if width and not chosen:
        raise ValueError(f"{raw.file}: skip leaves no column")
    return chosen


def _numbers(raw: _Raw, column: int, decimal: str) -> tuple[FloatArray, list[str]]:
    """A column as numbers, and the notes about it."""
    row_cells = [row[column] for row in raw.rows]
    readers: list[tuple[Callable[[Any], float | None], str]] = [
        (lambda cell: cells.number(cell, decimal), ""),
        (cells.truth, "true and false are read as 1 and 0"),
        (lambda cell: cells.percent(cell, decimal), "percentages are read as hundredths"),
    ]
    # All cells of a column are of one kind, that of its first.
    first = next(
        (reader for reader in readers if row_cells and reader[0](row_cells[0]) is not None), readers[0]
    )
    values = np.empty(len(row_cells))
    for row, cell in enumerate(row_cells):
        value = first[0](cell)
        if value is None or not math.isfinite(value):
            where = raw.where(column, row)
            if value is not None and not math.isnan(value):
                raise ValueError(f"{where}: {value} is not finite")
            raise ValueError(f"{where}: {_fault(raw, column, cell, decimal, mixed=row > 0)}")
        values[row] = value
    return values, [f"{raw.where(column)}: {first[1]}"] if first[1] else []


def _fault(raw: _Raw, column: int, cell: Any, decimal: str, mixed: bool) -> str:
    """What is wrong with a cell, and which setting to write."""
    if cells.is_missing(cell):
        unnamed = not any(raw.names) and not mixed
        hint = "; write header = true if the row names the columns" if unnamed else ""
        return f"the value is missing ({cell!r}){hint}"
    if cells.is_date(cell):
        return f"{str(cell)!r} is not a number but a date or time: write skip = [{raw.key(column)}]"
    if mixed and any(
        of is not None
        for of in (cells.number(cell, decimal), cells.truth(cell), cells.percent(cell, decimal))
    ):
        return f"{cell!r} is not a number like those above it: write a column in one way"
    shown = repr(cell if isinstance(cell, (str, bytes)) else str(cell))
    fault = f"{shown} is not a number"
    if isinstance(cell, str):
        if cells.number(cell, "," if decimal == "." else ".") is not None and not (
            decimal == "." and re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+", cell.strip())
        ):
            other = "," if decimal == "." else "."
            return f'{fault}: write decimal = "{other}" if that is the decimal mark'
        if "_" in cell or "," in cell or "'" in cell:
            return f"{fault}: write it without marks between digits"
        if ";" in cell or "\t" in cell:
            mark = ";" if ";" in cell else "\\t"
            return f'{fault}: write separator = "{mark}" if that is what lies between cells'
    return f"{fault}: write skip = [{raw.key(column)}] to leave the column out"


def _has_header(file: str, rows: Sequence[Sequence[str]], settings: TableSettings) -> bool:
    """Whether the first row of a CSV file names the columns: as it was set, or as the cells say."""
    if settings.header is not None:
        return settings.header
    width = len(rows[0])
    if any(name in rows[0] for name in (*(settings.columns or ()), *(settings.skip or ()))):
        return True
    left_out = {c for c in settings.skip or () if isinstance(c, int)}
    asked = [c for c in settings.columns or range(width) if isinstance(c, int)]
    try:
        return first_row_is_header(
            rows, [c for c in asked if 0 <= c < width and c not in left_out], settings.decimal
        )
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def _read_csv(path: Path, settings: TableSettings) -> _Raw:
    """Rows are named as a person counts them in the file: from 1, a header and blank lines included."""
    rows: list[list[str]] = []
    lines: list[int] = []
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, delimiter=settings.separator, strict=True)
        try:
            for row_cells in filter(None, reader):
                rows.append(row_cells)
                lines.append(reader.line_num)
        except (UnicodeDecodeError, csv.Error) as error:
            raise ValueError(f"{path} cannot be read as .csv: {error}") from error
    if not rows:
        return _Raw(path.name, [], [], str)
    width = len(rows[0])
    other = next((c for c in ";\t,|" if c != settings.separator and c in rows[0][0]), None)
    if width == 1 and other:
        mark = "\\t" if other == "\t" else other
        between = "commas" if settings.separator == "," else repr(settings.separator)
        raise ValueError(
            f"{path.name}: row {lines[0]}: cells must lie between {between}, got {rows[0][0]!r}: "
            f'write separator = "{mark}"'
        )
    for row_cells, line in zip(rows, lines, strict=True):
        if len(row_cells) != width:
            raise ValueError(f"{path.name}: row {line} has {len(row_cells)} cells, the first has {width}")
    header = _has_header(path.name, rows, settings)
    names = [""] * width
    notes = []
    if header:
        names, rows, lines = rows[0], rows[1:], lines[1:]
        if any(not cells.is_word(name, settings.decimal) for name in names):
            notes.append(f"{path.name}: the first row ({first_cells(names)}) names the columns")
    return _Raw(path.name, names, list(rows), lambda row: f"row {lines[row]}", notes)


def _read_parquet(path: Path, settings: TableSettings) -> _Raw:
    """Rows are counted from 1."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped, import-not-found, unused-ignore]
        import pyarrow.parquet as pq  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise ImportError(
            f'{path.name}: reading Parquet needs the extra "parquet": pip install "regret-envs[parquet]"'
        ) from error
    if settings.header is not None or settings.separator != ",":
        raise ValueError(f"{path.name}: header and separator are for .csv; a Parquet file names its columns")
    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path} cannot be read as .parquet: {error}") from error
    columns = []
    for column in table.columns:
        # Timestamps of nanoseconds have no Python object without pandas.
        as_text = pa.types.is_temporal(column.type)
        columns.append((column.cast(pa.string()) if as_text else column).to_pylist())
    rows: list[Sequence[Any]] = list(zip(*columns, strict=True))
    return _Raw(path.name, list(table.column_names), rows, lambda row: f"row {row + 1}")
