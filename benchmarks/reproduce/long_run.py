"""Long-run play: which regret vanishes decides which equilibrium is approached."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping

import numpy as np

from regret_envs import simulate
from regret_envs.agents import Agent, BlumMansour, Hedge
from regret_envs.agents.attention.k_star import k_star
from regret_envs.agents.attention.linear import LinearAttention
from regret_envs.agents.attention.swap import SwapAttention
from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.reproduce.attention import ACTIONS
from regret_envs.benchmarks.reproduce.checks import Check, Options, Report, write_curves
from regret_envs.benchmarks.reproduce.drawing import COLORS, legend_below, log_axes, panels, save
from regret_envs.games import weighted_rps

_HORIZONS = (10, 30, 100, 300, 1000, 3000, 10_000)
_PERTURBATION, _RUNS = 1e-12, 32
_CHAOTIC = "Hedge, step 1"

Gaps = dict[str, dict[str, FloatArray]]
"""By agent and gap ("cce", "ce"), one per perturbed run, shape (horizons, runs)."""


def _agents(horizon: int) -> dict[str, Agent]:
    """Every agent at the step that fits the horizon, except the last."""
    k = k_star(ACTIONS, horizon)
    return {
        "linear attention": LinearAttention.from_step_size(k, ACTIONS),
        "swap attention": SwapAttention.from_step_size(ACTIONS * k, ACTIONS, form="block"),
        "Hedge": Hedge(),
        "Blum–Mansour": BlumMansour(),
        _CHAOTIC: Hedge(step_size=1.0),
    }


def _bounds(horizon: int) -> dict[str, tuple[str, float, str]]:
    """What regret bounds leave of a gap, losses in [−1, 1]: kind, value and reason by agent."""
    k, log_d, default = (
        k_star(ACTIONS, horizon),
        math.log(ACTIONS),
        math.sqrt(2 * math.log(ACTIONS) / horizon),
    )

    def hedge(step: float) -> float:
        return (log_d / step + step * horizon / 2) / horizon

    def blum_mansour(step: float) -> float:
        return (ACTIONS * log_d / step + step * horizon / 2) / horizon

    external = "CCE gap ≤ R_T / T ≤ (ln d / k + k T / 2) / T"
    internal = "CE gap ≤ SR_T / T ≤ (d ln d / k + k T / 2) / T"
    return {
        "linear attention": ("cce", hedge(k), external),
        "Hedge": ("cce", hedge(default), external),
        "swap attention": ("ce", blum_mansour(ACTIONS * k), internal),
        "Blum–Mansour": ("ce", blum_mansour(ACTIONS * default), internal),
    }


def perturbed_gaps(agent: Agent, horizon: int) -> dict[str, FloatArray]:
    """Gaps of self-play in weighted rock–paper–scissors from starts moved by 1e-12.

    Where they scatter, the gap is not a number but a law: rounding moves a single run as much.

    Returns:
        "cce" and "ce", each of shape (32,).
    """
    play = simulate(
        weighted_rps(),
        [agent, copy.deepcopy(agent)],
        horizon=horizon,
        num_runs=_RUNS,
        starting_loss_scale=_PERTURBATION,
    )
    gaps = play.gaps()
    return {"cce": gaps.cce.max, "ce": gaps.ce.max}


def run(options: Options) -> Report:
    """Gaps at the end of games of 10 to 10,000 rounds."""
    found: dict[str, dict[str, list[FloatArray]]] = {n: {"cce": [], "ce": []} for n in _agents(10)}
    for horizon in _HORIZONS:
        options.say(f"{horizon} rounds")
        for name, agent in _agents(horizon).items():
            for kind, values in perturbed_gaps(agent, horizon).items():
                found[name][kind].append(values)
    ends = {n: {kind: np.array(v) for kind, v in kinds.items()} for n, kinds in found.items()}
    _draw(options, ends)
    notes = [
        "Not in the paper: its corollaries are about limits, this is what they look like. Every horizon is a "
        "game of its own, played with k*(3, T) (swap attention 3 k*(3, T)) from the first policy on.",
        f"Every game is played {_RUNS} times, from starting losses N(0, 1e-24). Hedge with step 1 is "
        "chaotic: a single run depends on the CPU's rounding, so its rows and its curve are of the ensemble.",
    ]
    return Report(checks(ends), notes)


def checks(ends: Gaps) -> list[Check]:
    """Gaps at the longest horizon under their bounds, and what the perturbation moves."""
    last, rows = _HORIZONS[-1], []
    for name, (kind, bound, reason) in _bounds(last).items():
        label = {"cce": "CCE", "ce": "pairwise CE"}[kind]
        worst = float(ends[name][kind][-1].max())
        rows.append(
            Check("long-run", f"{label} gap, {name}, T = {last}", worst, at_most=bound, reason=reason)
        )
    for name, kinds in ends.items():
        if name != _CHAOTIC:
            scatter = max(float(np.ptp(gaps, axis=1).max()) for gaps in kinds.values())
            what = f"largest change of a gap of {name} by starts moved by 1e-12"
            rows.append(
                Check("long-run", what, scatter, at_most=1e-6, reason="else its gaps are not numbers")
            )
    rows += [
        Check("long-run", f"pairwise CE gap, {name}, T = {last}", float(ends[name]["ce"][-1].mean()))
        for name in ("linear attention", "Hedge")
    ]
    for i, horizon in enumerate(_HORIZONS):
        if horizon >= 1000:
            gaps = ends[_CHAOTIC]["ce"][i]
            what = f"pairwise CE gap, {_CHAOTIC}, T = {horizon}"
            rows += [
                Check.of("long-run", f"{what}: mean of the ensemble", gaps),
                Check("long-run", f"{what}: standard deviation of a run", float(gaps.std(ddof=1))),
            ]
    return rows


_CAPTION = """
Self-play in weighted rock–paper–scissors for T = 10 to 10,000 rounds, every horizon a game of its own,
with the step size that fits it. (a) CCE gap, (b) pairwise CE gap; values below 10⁻⁵ are drawn there.
Lines: mean, shaded: least to largest of the runs of agents that are chaotic.
"""


def _draw(options: Options, ends: Mapping[str, Mapping[str, FloatArray]]) -> None:
    figure, axes = panels(2)
    columns: dict[str, FloatArray] = {}
    for panel, kind, label in zip(axes, ("cce", "ce"), ("CCE gap", "pairwise CE gap"), strict=True):
        for i, (name, kinds) in enumerate(ends.items()):
            gaps = np.maximum(kinds[kind], 1e-5)
            panel.plot(_HORIZONS, gaps.mean(1), marker="o", markersize=3, color=COLORS[i], label=name)
            panel.fill_between(_HORIZONS, gaps.min(1), gaps.max(1), color=COLORS[i], alpha=0.2, linewidth=0)
            columns |= {
                f"{kind}, {name}": kinds[kind].mean(1),
                f"{kind}, {name}, least": kinds[kind].min(1),
                f"{kind}, {name}, largest": kinds[kind].max(1),
            }
        log_axes(panel)
        panel.set(xlabel="horizon T, with the step that fits it", ylabel=label)
        legend_below(panel)
    save(figure, options.out / "long-run.png", _CAPTION)
    write_curves(options.out / "long-run.csv", {"horizon": _HORIZONS, **columns})
