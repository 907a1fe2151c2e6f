"""What a check finds, and how checks are run."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np

Status = Literal["ok", "fails", "advice"]


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Attributes:
        what: what was checked.
        status: "ok", "fails", or "advice": it can be used, but something will work less well.
        problem: what happened; "" if all is well.
        fix: what to do about it.
    """

    what: str
    status: Status
    problem: str = ""
    fix: str = ""


class ConformanceError(AssertionError):
    """Something does not do what it must.

    Attributes:
        findings: everything that was checked.
    """

    def __init__(self, subject: str, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        failures = [f for f in findings if f.status == "fails"]
        lines = [f"  {f.what}\n    {f.problem}\n    to fix: {f.fix}" for f in failures]
        super().__init__("\n".join([f"{subject} fails {len(failures)} of {len(findings)} checks:", *lines]))


class Problem(Exception):
    """Raised within a check: what happened, and how to fix it."""


@dataclass(frozen=True)
class Check:
    """A check, as data.

    Attributes:
        run: raises `Problem`, or anything else that the subject raises.
        what: what it checks.
        status: of a subject that does not pass.
        decisive: whether the checks after it are left out if it does not pass.
    """

    run: Callable[[], None]
    what: str
    status: Status = "fails"
    decisive: bool = False


def find(subject: str, checks: Sequence[Check], hint: str, *, raises: bool) -> list[Finding]:
    """Run checks and collect what they find.

    Args:
        subject: names what is checked.
        checks: in their order.
        hint: the fix for an error that the subject itself raises.
        raises: whether a failure raises.

    Raises:
        ConformanceError: if a check fails and `raises` is set.
    """
    findings = []
    for check in checks:
        findings.append(run_check(check, hint))
        if check.decisive and findings[-1].status != "ok":
            break
    if raises and any(f.status == "fails" for f in findings):
        raise ConformanceError(subject, findings)
    return findings


def run_check(check: Check, hint: str) -> Finding:
    """What one check finds; arguments as in `find`."""
    try:
        check.run()
    except Problem as problem:
        return Finding(check.what, check.status, problem.args[0], problem.args[1])
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit too
        return Finding(check.what, check.status, described(error), hint)
    return Finding(check.what, "ok")


_MOST_CHARACTERS = 500


def described(error: BaseException) -> str:
    """An error that the subject raised, with the line that raised it."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    try:
        text = str(error)
    except Exception:
        text = "(its str() raises)"
    if len(text) > _MOST_CHARACTERS:
        text = f"{text[:_MOST_CHARACTERS]}… ({len(text)} characters)"
    return f"{type(error).__name__}: {text} ({where.filename}:{where.lineno})"


def shown(subject: object) -> str:
    """Its repr(), or where that raises the name of its class."""
    try:
        return repr(subject)
    except Exception:
        return f"{type(subject).__name__}(…)"


@contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """Python's and NumPy's module-level generators seeded, and set back afterwards."""
    saved, saved_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - others' generators
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(saved)
        np.random.set_state(saved_numpy)  # noqa: NPY002
