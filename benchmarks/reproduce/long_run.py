"""Long-run play: which regret vanishes decides which equilibrium is approached."""

from __future__ import annotations

import numpy as np

from regret_envs.agents import Agent, BlumMansour, Hedge
from regret_envs.agents.attention.k_star import k_star
from regret_envs.agents.attention.linear import LinearAttention
from regret_envs.agents.attention.swap import SwapAttention
from regret_envs.benchmarks.reproduce.attention import ACTIONS, gap_curves
from regret_envs.benchmarks.reproduce.checks import Check, Options, Report, write_curves
from regret_envs.benchmarks.reproduce.drawing import COLORS, panels, save

_HORIZONS = (10, 30, 100, 300, 1000, 3000, 10_000)


def _agents(horizon: int) -> dict[str, Agent]:
    """Every agent at the step that fits the horizon, but for the last."""
    k = k_star(ACTIONS, horizon)
    return {
        "linear attention": LinearAttention.from_step_size(k, ACTIONS),
        "swap attention": SwapAttention.from_step_size(ACTIONS * k, ACTIONS, form="block"),
        "Hedge": Hedge(),
        "Blum–Mansour": BlumMansour(),
        "Hedge, step 1": Hedge(step_size=1.0),
    }


def run(options: Options) -> Report:
    """Gaps at the end of games of 10 to 10,000 rounds."""
    ends: dict[str, dict[str, list[float]]] = {name: {"cce": [], "ce": []} for name in _agents(10)}
    for horizon in _HORIZONS:
        options.say(f"{horizon} rounds")
        for name, agent in _agents(horizon).items():
            curves = gap_curves(agent, horizon, rounds=[horizon])
            for kind, values in ends[name].items():
                values.append(float(getattr(curves, kind)[0]))

    def at(name: str, kind: str, horizon: int) -> float:
        return ends[name][kind][_HORIZONS.index(horizon)]

    last = _HORIZONS[-1]
    checks = [
        Check(
            "long-run",
            f"CCE gap, linear attention, T = {last}",
            at("linear attention", "cce", last),
            at_most=0.01,
        ),
        Check(
            "long-run",
            f"pairwise CE gap, swap attention, T = {last}",
            at("swap attention", "ce", last),
            at_most=0.01,
        ),
        Check(
            "long-run", f"pairwise CE gap, linear attention, T = {last}", at("linear attention", "ce", last)
        ),
    ]
    for name, kind, horizon, expected in (
        ("Hedge", "ce", 1000, 0.027),
        ("Hedge", "ce", 10_000, 0.029),
        ("Blum–Mansour", "ce", 1000, 0.0070),
    ):
        if horizon not in _HORIZONS:
            continue
        half = 0.5 * 10 ** -(len(f"{expected:g}") - 2)
        checks.append(
            Check(
                "long-run",
                f"pairwise CE gap, {name}, T = {horizon}",
                at(name, kind, horizon),
                at_least=expected - half,
                at_most=expected + half,
            )
        )
    figure, axes = panels(2)
    for panel, kind, label in zip(axes, ("cce", "ce"), ("CCE gap", "pairwise CE gap"), strict=True):
        for i, (name, kinds) in enumerate(ends.items()):
            panel.plot(
                _HORIZONS,
                np.maximum(kinds[kind], 1e-5),
                marker="o",
                markersize=3,
                color=COLORS[i],
                label=name,
            )
        panel.set(xscale="log", yscale="log", xlabel="T, with the step that fits it", ylabel=label)
    axes[0].legend(fontsize=8)
    save(figure, options.out / "long-run.png")
    columns = {f"{kind}, {name}": values for name, kinds in ends.items() for kind, values in kinds.items()}
    write_curves(options.out / "long-run.csv", {"horizon": _HORIZONS, **columns})
    notes = [
        "Not in the paper: its corollaries are about limits, this is what they look like. Every horizon is a "
        "game of its own, played with k*(3, T) (swap attention 3 k*(3, T)) from the first policy on.",
        "Hedge with step 1 is chaotic: its curve depends on the CPU's rounding, so nothing is checked of it.",
    ]
    return Report(checks, notes)
