"""The grid over actions and horizons, at its smallest."""

from __future__ import annotations

import csv

import pytest
from click.testing import CliRunner

from regret_envs.agents.swap import stationary
from regret_envs.benchmarks.speed import many_actions


def test_the_grid_is_written(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(many_actions, "QUICK_ACTIONS", (3, 5))
    monkeypatch.setattr(many_actions, "QUICK_HORIZONS", (10, 20))
    monkeypatch.setattr(many_actions, "MOST", 60)
    result = CliRunner().invoke(many_actions.main, ["--quick", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader((tmp_path / "many_actions.csv").open(encoding="utf-8")))
    # d = 5 at T = 20 is left out.
    assert len(rows) == 3 * len(many_actions.WORLDS) * len(many_actions.AGENTS)
    by_agent = {row["agent"]: float(row["swap_regret"]) for row in rows}
    assert by_agent["Blum–Mansour, warm"] == by_agent["Blum–Mansour, elimination"]
    assert (tmp_path / "many_actions.png").stat().st_size > 10_000
    assert stationary.MOST_STEPS == 48
