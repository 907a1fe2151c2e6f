"""What a reproduction reports: rows that say whose number ours is compared with, and can say no.

    Check("fig4", "CCE gap, one layer", 0.0908, standard_error=0.0005, lower_is_better=True,
          published=Reference("0.0832 ± 0.0028", "arXiv 2607.23333, 3.4"))
    Check("fig4", "CCE gap, uniform", 0.1111, exact=1 / 9)
    Check.of("long-run", "CCE gap, Hedge", gaps, at_most=0.02, reason="Hedge's regret bound")

Comparisons are two-sided: within 3 combined standard errors a row holds, else it differs. An exact value
and a bound, which needs a reason, can be missed: then the row says no, and `reproduce` exits with 1.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from regret_envs.benchmarks.reproduce.papers import cited

if TYPE_CHECKING:
    from regret_envs.benchmarks.analysis.tables import Table

COLUMNS = (
    "figure",
    "quantity",
    "published",
    "published_error",
    "section",
    "exact",
    "independent",
    "independent_error",
    "implementation",
    "ours",
    "standard_error",
    "stored",
    "bound",
    "reason",
    "known_miss",
    "holds",
    "paper",
)

ERRORS = 3.0
"""How many combined standard errors a value may lie from what it is compared with."""


@dataclass(frozen=True)
class Reference:
    """Somebody else's number, as printed.

    Args:
        text: "0.0617", or with its error "0.0832 ± 0.0028".
        source: the paper (of `papers.PAPERS`) and section that it is published in, or the implementation
            that measured it.

    Attributes:
        value: the number.
        error: its standard error, 0 if none is printed.
        rounding: half a unit of the last digit printed.

    Raises:
        ValueError: if the text is not such a number.
    """

    text: str
    source: str
    value: float = field(init=False)
    error: float = field(init=False)
    rounding: float = field(init=False)

    def __post_init__(self) -> None:
        value, _, error = self.text.partition("±")
        try:
            number = Decimal(value.strip())
            self._set("error", float(error or 0))
        except ArithmeticError:
            raise ValueError(f"a reference is a number as printed, not {self.text!r}") from None
        self._set("value", float(number))
        self._set("rounding", 0.5 * 10.0 ** int(number.as_tuple().exponent))

    def _set(self, name: str, value: float) -> None:
        object.__setattr__(self, name, value)


@dataclass(frozen=True)
class KnownMiss:
    """A miss that is on record: what was found, its standard error, and why.

    It is a failure again when the value moves by more than 3 combined errors, up or down.
    """

    value: float
    error: float
    reason: str


@dataclass(frozen=True)
class Check:
    """One number, and what it is held against.

    Attributes:
        figure: the reproduction's name, as on the command line.
        quantity: what is measured, in a few words, with its unit or settings.
        ours: our number.
        standard_error: of ours over training seeds (or sequences: the quantity says so), None if exact.
        published: the number in the paper, None where there is none.
        exact: a closed form's or theorem's value; ours must be within 3 standard errors and `tolerance`.
        independent: what another implementation measured.
        at_least: the least that is accepted, None for no bound.
        at_most: the most that is accepted, None for no bound.
        reason: why there is a bound: the theorem, or what the test must notice. Without one, no bound.
        lower_is_better: whether less than the reference is "below" and not "differs".
        stored: whether ours was read and not computed.
        known_miss: on record, where the row does not hold.
        tolerance: absolute, of an exact value: rounding.

    Raises:
        ValueError: for a bound without a reason, or a known miss of a row that cannot be missed.
    """

    figure: str
    quantity: str
    ours: float
    _: KW_ONLY
    standard_error: float | None = None
    published: Reference | None = None
    exact: float | None = None
    independent: Reference | None = None
    at_least: float | None = None
    at_most: float | None = None
    reason: str = ""
    lower_is_better: bool = False
    stored: bool = False
    known_miss: KnownMiss | None = None
    tolerance: float = 1e-9

    def __post_init__(self) -> None:
        if bool(self.bound) != bool(self.reason):
            raise ValueError(f"{self.quantity}: a bound and its reason come together")
        if self.known_miss and not (self.bound or self._references() or self.exact is not None):
            raise ValueError(f"{self.quantity}: what is compared with nothing cannot be missed")

    @classmethod
    def of(cls, figure: str, quantity: str, values: npt.ArrayLike, **settings: Any) -> Check:
        """A row of the mean of independent `values` (one per seed) with its standard error.

        Args:
            figure: as in the class.
            quantity: as in the class.
            values: shape (num_seeds,); of one value the error is None.
            **settings: the other attributes.
        """
        array = np.asarray(values, dtype=np.float64)
        error = float(array.std(ddof=1) / np.sqrt(array.size)) if array.size > 1 else None
        return cls(figure, quantity, float(array.mean()), standard_error=error, **settings)

    @property
    def bound(self) -> str:
        """The bound in words: "at most 4.38", "at least 0.5", "0.083 to 0.092", or nothing."""
        if self.at_least is not None and self.at_most is not None:
            return f"{self.at_least:g} to {self.at_most:g}"
        if self.at_most is not None:
            return f"at most {self.at_most:g}"
        return "" if self.at_least is None else f"at least {self.at_least:g}"

    @property
    def holds(self) -> str:
        """What the row says.

        "no" if the value is off an exact one, out of its bound or NaN there, or if a known miss has moved;
        "known miss"; "differs", or "below by 5.2 errors", where a reference is more than 3 combined errors
        away; "yes"; and "n/a" where there is nothing to compare with.
        """
        if self.known_miss is not None:
            allowed = ERRORS * math.hypot(self.known_miss.error, self.standard_error or 0.0)
            moved = not abs(self.ours - self.known_miss.value) <= allowed + self.tolerance
            return "no" if moved else "known miss"
        verdicts = [self._against(reference) for reference in self._references()]
        if self.exact is not None:
            allowed = ERRORS * (self.standard_error or 0.0) + self.tolerance
            verdicts.append("yes" if abs(self.ours - self.exact) <= allowed else "no")
        if self.bound:
            low = -math.inf if self.at_least is None else self.at_least
            high = math.inf if self.at_most is None else self.at_most
            verdicts.append("yes" if low <= self.ours <= high else "no")
        for verdict in ("no", "differs"):
            if verdict in verdicts:
                return verdict
        return next((v for v in verdicts if v != "yes"), "yes") if verdicts else "n/a"

    def _references(self) -> list[Reference]:
        return [r for r in (self.published, self.independent) if r is not None]

    def _against(self, reference: Reference) -> str:
        error = math.hypot(reference.error, self.standard_error or 0.0)
        distance = abs(self.ours - reference.value) - reference.rounding
        if distance <= ERRORS * error + 1e-12 * abs(reference.value):
            return "yes"
        if not (self.lower_is_better and self.ours < reference.value):
            return "differs"
        return f"below by {distance / error:.1f} errors" if error else "below"


@dataclass(frozen=True)
class Report:
    """What a reproduction found.

    Attributes:
        checks: its rows.
        notes: one sentence each: settings that are ours because they were not published, and what
            the numbers mean where that is not plain.
        tables: shown after the rows.
    """

    checks: Sequence[Check]
    notes: Sequence[str] = ()
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class Options:
    """How a reproduction is run.

    Attributes:
        out: the folder for pictures, curves and `checks.csv`; it exists.
        quick: stored results and few seeds, in a minute or so.
        fresh: compute everything again, whatever is stored.
        say: shows a line about what is being done.
        made: what this run has computed, so that `fresh` computes nothing twice.
    """

    out: Path
    quick: bool = False
    fresh: bool = False
    made: set[Path] = field(default_factory=set)
    say: Callable[[str], None] = field(default=lambda line: None)


def write_checks(path: Path, checks: Sequence[Check]) -> None:
    """Write `checks.csv`; numbers whole, empty where there is none."""
    _write(path, COLUMNS, [_row(check) for check in checks])


def _row(check: Check) -> dict[str, str]:
    published, miss = _columns(check.published), check.known_miss
    independent = _columns(check.independent)
    found: dict[str, float | str | None] = {
        **dict(zip(("published", "published_error", "section"), published, strict=True)),
        **dict(zip(("independent", "independent_error", "implementation"), independent, strict=True)),
        "paper": "; ".join(cited(f"{published[2]} {check.reason}")),
        "stored": "stored" if check.stored else "",
        "known_miss": None if miss is None else f"{miss.value:g} ± {miss.error:g}: {miss.reason}",
    }
    return {name: _cell(found[name] if name in found else getattr(check, name)) for name in COLUMNS}


def _columns(reference: Reference | None) -> tuple[float | None, float | None, str | None]:
    if reference is None:
        return None, None, None
    return reference.value, reference.error or None, reference.source


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
    """Print a report as a table: quantity | compared with | ours ± standard error | holds."""
    from regret_envs.benchmarks.analysis.tables import Table, show

    rows, misses = [], []
    for check in report.checks:
        ours = f"{check.ours:.4g}"
        if check.standard_error is not None:
            ours += f" ± {check.standard_error:.2g}"
        against = []
        if check.published is not None:
            against.append(f"{check.published.text} published ({check.published.source})")
        if check.exact is not None:
            against.append(f"{check.exact:.6g} exact")
        if check.independent is not None:
            against.append(f"{check.independent.text} independent ({check.independent.source})")
        if check.bound:
            against.append(f"{check.bound}: {check.reason}")
        rows.append([check.quantity, "; ".join(against), ours + " (stored)" * check.stored, check.holds])
        if check.known_miss is not None:
            misses.append(f"Known miss, {check.quantity}: {check.known_miss.reason}")
    columns = ["quantity", "compared with", "ours ± s.e.", "holds"]
    papers = cited(" ".join([*report.notes, *(row[1] for row in rows)]))
    show([Table(name, columns, rows, numbers=2, note="\n".join([*report.notes, *misses, *papers]))])
    show(report.tables)
