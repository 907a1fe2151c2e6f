"""What a cell of a table may be: a number, a truth value, a percentage, a date, missing, or a word.

Cells are text (CSV) or any objects (Parquet); the rules are the same.
"""

from __future__ import annotations

import datetime
import math
import re
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

_MISSING = {"", "na", "n/a", "nan", "null", "none", "#n/a"}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_TRUTH = {"true": 1.0, "false": 0.0}
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?([T ].*)?"  # 2020-01-31, 2020/1/31 09:30, 2020-01
    r"|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .*)?"  # 31.01.2020, 1/31/20
    r"|\d{1,2}:\d{2}(:\d{2}.*)?"  # 09:30
    r"|\d{1,2}[- ]?[A-Za-z]{3,9}[- ,]*\d{2,4}"  # 31-Jan-2020
    r"|[A-Za-z]{3,9}\.? \d{1,2},? \d{4}"  # Jan 31, 2020
    r"|\d{4}[- ]?Q[1-4]|\d{4}-?W\d{1,2}(-?\d)?",  # 2020Q1, 2020-W05
    re.ASCII,
)
_INTEGER = re.compile(r"[+-]?\d+(\.0)?", re.ASCII)


def is_missing(cell: Any) -> bool:
    if isinstance(cell, str):
        return cell.strip().lower() in _MISSING
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def number(cell: Any, decimal: str) -> float | None:
    """A plain number, or None."""
    if isinstance(cell, str):
        text = cell.strip()
        if decimal == ",":
            text = "?" if "." in text else text.replace(",", ".")
        return float(text) if _NUMBER.fullmatch(text) or _INFINITE.fullmatch(text) else None
    return float(cell) if isinstance(cell, (Real, Decimal)) and not isinstance(cell, bool) else None


def truth(cell: Any) -> float | None:
    if isinstance(cell, (bool, np.bool_)):
        return float(cell)
    return _TRUTH.get(cell.strip().lower()) if isinstance(cell, str) else None


def percent(cell: Any, decimal: str) -> float | None:
    if not (isinstance(cell, str) and cell.strip().endswith("%")):
        return None
    hundredths = number(cell.strip()[:-1], decimal)
    return None if hundredths is None else hundredths / 100


def is_date(cell: Any) -> bool:
    if isinstance(cell, str):
        text = cell.strip()  # 1990.5 is a number
        return _DATE.fullmatch(text) is not None and _NUMBER.fullmatch(text) is None
    return isinstance(cell, (datetime.date, datetime.time, datetime.timedelta))


def is_word(cell: str, decimal: str) -> bool:
    """Whether a cell of a CSV file can only be a name."""
    return not (
        is_missing(cell)
        or is_date(cell)
        or any(of is not None for of in (number(cell, decimal), truth(cell), percent(cell, decimal)))
    )


def integer(cell: Any) -> int | None:
    """A whole number written as one (0 or 0.0, as pandas names columns), or None."""
    if isinstance(cell, str):
        return int(float(cell)) if len(cell) < 300 and _INTEGER.fullmatch(cell.strip()) else None
    return int(cell) if isinstance(cell, (int, np.integer)) and not isinstance(cell, bool) else None
