"""Rows of self-play are numbers: payoffs moved by 1e-12 do not move them. Chaotic play is in `long-run`."""
# ruff: noqa: E402

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from regret_envs import simulate
from regret_envs.agents import BlumMansour, Hedge
from regret_envs.agents.attention.builtin import SHIPPED
from regret_envs.agents.attention.checkpoint import load
from regret_envs.benchmarks.reproduce import attention, fig4, training_paths
from regret_envs.benchmarks.reproduce.checks import Options
from regret_envs.games import NormalFormGame, weighted_rps

MODELS = ("linear-attention", "swap-attention", "transformer-2", "transformer-4")


def moved_rps(seed=0, scale=1e-12):
    payoff = -weighted_rps().losses[0]
    return NormalFormGame.zero_sum(payoff + scale * np.random.default_rng(seed).standard_normal((3, 3)))


def rows(options):
    return {check.quantity: check.ours for check in fig4.run(options).checks}


def test_the_rows_of_fig4_are_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(
        fig4, "trained", lambda options, name, model, seed, **changes: load(SHIPPED / model)[0]
    )
    before = rows(Options(tmp_path, quick=True))
    monkeypatch.setattr(attention, "weighted_rps", moved_rps)
    after = rows(Options(tmp_path, quick=True))
    assert len(before) > 15
    assert after == pytest.approx(before, abs=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_the_gaps_of_trained_models_are_numbers(name, monkeypatch):
    model = load(SHIPPED / name)[0].double()
    before = attention.gap_curves(model)
    monkeypatch.setattr(attention, "weighted_rps", moved_rps)
    after = attention.gap_curves(model)
    for kind in ("cce", "ce", "swap"):
        assert np.allclose(getattr(after, kind), getattr(before, kind), rtol=0, atol=1e-6)


def test_what_training_paths_draws_in_is_made_of_numbers(monkeypatch):
    monkeypatch.setattr(attention, "HELD_OUT_RUNS", 256)
    before = training_paths._references()
    monkeypatch.setattr(attention, "weighted_rps", moved_rps)
    for name, pair in training_paths._references().items():
        assert pair == pytest.approx(before[name], abs=1e-6)


@pytest.mark.parametrize(
    ("agent", "chaotic"),
    [(Hedge(), False), (BlumMansour(), False), (Hedge(step_size=1.0), True)],
    ids=["Hedge", "Blum–Mansour", "Hedge, step 1"],
)
def test_the_scan_finds_chaos_where_there_is_some(agent, chaotic):
    gaps = [
        simulate(game, [agent, copy.deepcopy(agent)], horizon=1000).gaps().ce.max[0]
        for game in (weighted_rps(), *(moved_rps(seed) for seed in range(3)))
    ]
    assert np.ptp(gaps) > 1e-3 if chaotic else np.ptp(gaps) < 1e-6
