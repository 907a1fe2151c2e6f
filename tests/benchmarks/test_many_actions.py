"""The grid over actions and horizons, at its smallest."""

from __future__ import annotations

import csv

import pytest
from conftest import invoke

from regret_envs.agents.swap import stationary
from regret_envs.benchmarks.speed import many_actions


def test_the_grid_is_written(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(many_actions, "QUICK_ACTIONS", (3, 5))
    monkeypatch.setattr(many_actions, "QUICK_HORIZONS", (10, 20))
    monkeypatch.setattr(many_actions, "MOST", 60)
    invoke("--quick", "--out", tmp_path, command=many_actions.main)
    rows = list(csv.DictReader((tmp_path / "many_actions.csv").open(encoding="utf-8")))
    # d = 5 at T = 20 is left out.
    assert len(rows) == 3 * len(many_actions.WORLDS) * len(many_actions.AGENTS)
    assert (tmp_path / "many_actions.png").stat().st_size > 10_000


def test_warm_starts_are_taken_and_come_to_the_same_as_elimination(monkeypatch):
    d = stationary._MANY_ACTIONS  # below it both are elimination
    eliminated, certain = [], []
    eliminate, improve = stationary._eliminate_in_blocks, stationary._improve
    monkeypatch.setattr(
        stationary, "_eliminate_in_blocks", lambda p: eliminated.append(len(p)) or eliminate(p)
    )

    def improved(p, guess):
        answer = improve(p, guess)
        certain.append(answer[1].sum())
        return answer

    monkeypatch.setattr(stationary, "_improve", improved)
    world, steps = next(iter(many_actions.WORLDS)), stationary.MOST_STEPS
    warm, cold = (
        [p for p in many_actions.grid((d,), (8,)) if p.world == world and p.agent == f"Blum–Mansour, {way}"]
        for way in ("warm", "elimination")
    )
    assert warm[0].swap_regret == pytest.approx(cold[0].swap_regret, rel=1e-9)
    assert sum(certain) > 0 and sum(eliminated) > 0
    assert steps == stationary.MOST_STEPS
