"""What a reproduction reports: rows of published | ours, printed and written as `checks.csv`.

    Check("fig4", "CCE gap, two layers", published=0.0467, ours=0.061, standard_error=0.004)
    Check("fig2", "R_20, two layers", published=4.380, ours=3.91, standard_error=0.01, at_most=4.380)
    Check.of("fig4", "CCE gap, one layer", values_over_seeds, published=0.0832, at_least=0.083, at_most=0.092)

A row with a bound holds if `ours` is within it; a row without one only reports.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

COLUMNS = ("figure", "quantity", "published", "ours", "standard_error", "accept", "holds")


@dataclass(frozen=True)
class Check:
    """One number beside the published one.

    Attributes:
        figure: the reproduction's name, as on the command line.
        quantity: what is measured, in a few words, with its unit or settings.
        ours: our number.
        published: the published number, None where there is none.
        standard_error: of ours over training seeds (or sequences: the quantity says so), None if exact.
        at_least: the least that is accepted, None for no bound.
        at_most: the most that is accepted, None for no bound.
    """

    figure: str
    quantity: str
    ours: float
    published: float | None = None
    standard_error: float | None = None
    at_least: float | None = None
    at_most: float | None = None

    @classmethod
    def of(cls, figure: str, quantity: str, values: npt.ArrayLike, **settings: float | None) -> Check:
        """A row of the mean of independent `values` (one a seed) with its standard error.

        Args:
            figure: as in the class.
            quantity: as in the class.
            values: shape (num_seeds,); of one value the error is None.
            settings: `published`, `at_least`, `at_most`.
        """
        array = np.asarray(values, dtype=np.float64)
        error = float(array.std(ddof=1) / np.sqrt(array.size)) if array.size > 1 else None
        return cls(figure, quantity, float(array.mean()), standard_error=error, **settings)

    @property
    def accept(self) -> str:
        """The bound in words: "at most 4.38", "at least 0.5", "0.083 to 0.092", or nothing."""
        if self.at_least is not None and self.at_most is not None:
            return f"{self.at_least:g} to {self.at_most:g}"
        if self.at_most is not None:
            return f"at most {self.at_most:g}"
        return "" if self.at_least is None else f"at least {self.at_least:g}"

    @property
    def holds(self) -> str:
        """ "yes", "no", or "n/a" for a row that only reports. NaN is within no bound."""
        if not self.accept:
            return "n/a"
        low = -np.inf if self.at_least is None else self.at_least
        high = np.inf if self.at_most is None else self.at_most
        return "yes" if low <= self.ours <= high else "no"


@dataclass(frozen=True)
class Report:
    """What a reproduction found.

    Attributes:
        checks: its rows.
        notes: one sentence each: settings that are ours because they were not published, and what
            the numbers mean where that is not plain.
    """

    checks: Sequence[Check]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Options:
    """How a reproduction is run.

    Attributes:
        out: the folder for pictures, curves and `checks.csv`; it exists.
        quick: shipped checkpoints and few seeds, in a minute or so.
        retrain: train everything again instead of taking shipped per-seed results.
        say: shows a line about what is being done.
    """

    out: Path
    quick: bool = False
    retrain: bool = False
    say: Callable[[str], None] = field(default=lambda line: None)


def write_checks(path: Path, checks: Sequence[Check]) -> None:
    """Write `checks.csv`; numbers whole, empty where there is none."""
    rows = [{name: _cell(getattr(check, name)) for name in COLUMNS} for check in checks]
    _write(path, COLUMNS, rows)


def write_curves(path: Path, columns: Mapping[str, npt.ArrayLike]) -> None:
    """Write columns of equal length as CSV with a header."""
    arrays = [np.asarray(column).tolist() for column in columns.values()]
    _write(path, list(columns), [dict(zip(columns, row, strict=True)) for row in zip(*arrays, strict=True)])


def _write(path: Path, names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _cell(value: float | str | None) -> str:
    return "" if value is None else value if isinstance(value, str) else repr(float(value))


def show_report(name: str, report: Report) -> None:
    """Print a report as a table: quantity | published | ours ± standard error | difference | holds."""
    from regret_envs.benchmarks.analysis.tables import Table, show

    rows = []
    for check in report.checks:
        ours = f"{check.ours:.4g}"
        if check.standard_error is not None:
            ours += f" ± {check.standard_error:.2g}"
        published = difference = "–"
        if check.published is not None:
            published, difference = f"{check.published:.4g}", f"{check.ours - check.published:+.2g}"
        accept = f" ({check.accept})" if check.accept else ""
        rows.append([check.quantity + accept, published, ours, difference, check.holds])
    columns = ["quantity (accepted)", "published", "ours ± s.e.", "difference", "holds"]
    show([Table(name, columns, rows, numbers=4, note="\n".join(report.notes))])
