"""Putting results of several files together: cells are told by their keys, and doubles must agree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from regret_envs.benchmarks.running.rows import Row, complete_cells

TOLERANCE = 1e-9
"""Other processors give results that differ in their last digits."""


class Part:
    """The rows below one header.

    Attributes:
        path: the file.
        rows: its rows.
        lines: the line at which the last cell of each key begins.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.rows: list[Row] = []
        self.lines: dict[str, int] = {}

    def add(self, line: int, row: Row) -> None:
        """Add the row of a line."""
        self.rows.append(row)
        if row.part == 0 or row.key not in self.lines:
            self.lines[row.key] = line

    def where(self, key: str) -> str:
        """File and line of a cell."""
        return f"{self.path}, line {self.lines[key]}"


def join(parts: Sequence[Part]) -> tuple[list[Row], list[str]]:
    """The rows of all parts, and what is left out and why.

    The rows of a single part stay as they are, except those of cells that lack a metric. Of several parts the
    whole cells are taken, ordered by day. A cell that failed in one and not in another did not fail.
    """
    whole = [complete_cells(part.rows) for part in parts]
    wrong = _incomplete(parts, whole)
    left_out = [problem for cells in wrong for problem in cells.values()]
    if len(parts) < 2:
        return [row for part in parts for row in part.rows if row.key not in wrong[0]], left_out
    found: dict[str, tuple[Part, list[Row]]] = {}
    differing: dict[str, str] = {}
    for part, cells, bad in zip(parts, whole, wrong, strict=True):
        for key, cell in cells.items():
            if key in bad:
                continue
            other = found.get(key)
            if other is not None and cell[0].status == "failed":
                continue
            if other is not None and not _agree(other[1], cell):
                differing[key] = (
                    f"{other[0].where(key)} and {part.where(key)}: values: {cell[0].agent} on "
                    f"{cell[0].task}, seed {cell[0].seed}, block {cell[0].block}, has results that differ; "
                    "both are left out"
                )
            found[key] = part, cell
    kept = [cell for key, (_, cell) in found.items() if key not in differing]
    kept.sort(key=lambda cell: cell[0].date or "")
    return [row for cell in kept for row in cell], [*left_out, *differing.values()]


def _agree(first: list[Row], second: list[Row]) -> bool:
    """Whether two measurements of a cell are the same; a failure agrees with everything."""
    if "failed" in (first[0].status, second[0].status):
        return True
    tables = [{(row.metric, row.player, row.round): row for row in cell} for cell in (first, second)]
    return tables[0].keys() == tables[1].keys() and all(
        row.status == (other := tables[1][what]).status
        and len(row.values) == len(other.values)
        and all(
            math.isclose(x, y, rel_tol=TOLERANCE, abs_tol=TOLERANCE * row.loss_scale)
            for x, y in zip(row.values, other.values, strict=True)
        )
        for what, row in tables[0].items()
    )


def unfinished(parts: Sequence[Part]) -> list[str]:
    """The cells that nowhere have all their rows: who wrote them was killed, or some were removed."""
    whole = [complete_cells(part.rows) for part in parts]
    done = {key for cells in whole for key in cells}
    found: dict[str, str] = {}
    for part in parts:
        counts = Counter(row.key for row in part.rows if row.key not in done)
        for row in part.rows:
            if row.key in counts:
                found[row.key] = (
                    f"{part.where(row.key)}: parts: {counts[row.key]} of the {row.parts} rows of {row.agent} "
                    f"on {row.task}, seed {row.seed}, block {row.block}; the cell is left out"
                )
    return list(found.values())


def _incomplete(parts: Sequence[Part], whole: Sequence[dict[str, list[Row]]]) -> list[dict[str, str]]:
    """For every part, the cells that were not measured as most cells of their task, and what they lack."""
    measured = [
        {
            key: frozenset((row.metric, row.round) for row in cell)
            for key, cell in cells.items()
            if cell[0].status == "ok"
        }
        for cells in whole
    ]
    usual: dict[object, Counter[frozenset[tuple[str | None, int | None]]]] = {}
    for cells, what in zip(whole, measured, strict=True):
        for key, measures in what.items():
            usual.setdefault(_of(cells[key][0]), Counter())[measures] += 1
    problems: list[dict[str, str]] = []
    for part, cells, what in zip(parts, whole, measured, strict=True):
        problems.append({})
        for key, measures in what.items():
            row = cells[key][0]
            (most, _), *_ = usual[_of(row)].most_common(1)
            if measures != most:
                lacking = sorted({f"{metric}" for metric, _ in most - measures}) or ["nothing, and has more"]
                problems[-1][key] = (
                    f"{part.where(key)}: metric: the cell of {row.agent} on {row.task} lacks "
                    f"{', '.join(lacking)}, unlike most; skipped"
                )
    return problems


def _of(row: Row) -> object:
    return row.task, row.measured_on, row.is_pairing
