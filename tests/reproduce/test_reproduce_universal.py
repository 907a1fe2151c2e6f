"""The checks of the universal policies, on rows made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import cell, regrets

pytest.importorskip("matplotlib")


from regret_envs.benchmarks.reproduce import universal
from regret_envs.benchmarks.tasks.core import Suite

UNIT = 2.0 * np.sqrt(50 * np.log(3) / 2)
SAFE = "universal-safe"


@pytest.fixture(autouse=True)
def rivals(monkeypatch):
    monkeypatch.setattr(universal, "RIVALS", ("hedge", "uniform"))


def rows_of(table):
    """{agent: {task: (values over runs, in units)}} as rows."""
    return [
        row
        for agent, tasks in table.items()
        for task, values in tasks.items()
        for row in cell(agent, regrets(*(UNIT * np.asarray(values))), task=task)
    ]


def by_words(checks, words):
    (check,) = (c for c in checks if words in c.quantity)
    return check


def test_scores():
    noise = np.linspace(-0.01, 0.01, 20)
    table = {SAFE: {"a": noise - 0.5}, "hedge": {"a": noise[::-1] + 0.5}, "uniform": {"a": noise + 0.9}}
    checks = universal.score_checks(rows_of(table), ["a"], "external_regret", SAFE)
    assert checks[0].ours == pytest.approx(-0.5) and "hedge 0.500" in checks[0].quantity
    assert by_words(checks, "rank").ours == 1 and by_words(checks, "rank").holds == "yes"
    assert by_words(checks, "upper end").holds == "yes"
    table[SAFE], table["hedge"] = table["hedge"], table[SAFE]
    checks = universal.score_checks(rows_of(table), ["a"], "external_regret", SAFE)
    assert by_words(checks, "rank").holds == by_words(checks, "upper end").holds == "no"
    table["hedge"] = table[SAFE]  # a tie is not the first rank alone
    checks = universal.score_checks(rows_of(table), ["a"], "external_regret", SAFE)
    assert by_words(checks, "rank").holds == "no"


def test_tasks(monkeypatch):
    monkeypatch.setitem(universal.SUITES, "core", Suite("", ("a", "b")))
    noise = np.linspace(-0.01, 0.01, 20)
    table = {
        SAFE: {"a": noise - 0.5, "b": noise + 0.6, "c": [0.3]},
        "hedge": {"a": noise[::-1] + 0.5, "b": noise[::-1] - 0.2, "c": [0.2995]},
        "uniform": {"a": noise + 0.9, "b": noise + 0.9, "c": [0.9]},
    }
    checks = universal.task_checks(rows_of(table), ["a", "b", "c"], SAFE)
    assert by_words(checks, "first tie group").ours == 2  # a, and c within the margin
    assert by_words(checks, "b: behind").ours == pytest.approx(0.6)
    worst = by_words(checks, "worst task")
    assert worst.ours == pytest.approx(0.6) and "(b)" in worst.quantity and worst.holds == "no"
    assert by_words(checks, "mean rank on core less").ours == pytest.approx(0.0)


def test_held_out():
    noise = np.linspace(-1, 1, 21)
    table = {SAFE: {"a": noise + 0.5}, "hedge": {"a": noise + 2.0}, "uniform": {"a": 2 * noise}}
    checks = universal.held_out_checks(rows_of(table), ["a"], SAFE)
    error = np.std(noise, ddof=1) / np.sqrt(21)
    assert by_words(checks, "behind uniform").ours == pytest.approx(0.5 / error)
    assert by_words(checks, "mean rank less").ours == pytest.approx(1.0)
