"""Figures of results and of play: matplotlib Axes in and out. Needs the extra `plot` when a figure is drawn.

    from regret_envs.benchmarks import evaluate, plotting

    rows = evaluate(["hedge", "rm+", "blum-mansour"], tasks="weighted_rps_t1000", runs=16)
    axes = plotting.curves(rows)
    plotting.figure_of(axes).savefig("curves.pdf")

What belongs here: one function per kind of figure, and the looks of agents, which are the same in all of
them. Every function draws on the `axes` that it is given, or on those of a new figure, and returns them; the
text below a figure says what its bands and marks are (`caption=False` leaves it out).
"""

from __future__ import annotations

from regret_envs.benchmarks.plotting.looks import COLORS, Look, figure_of, look, style
from regret_envs.benchmarks.plotting.matrices import heatmap
from regret_envs.benchmarks.plotting.rounds import curves, growth, training, training_log
from regret_envs.benchmarks.plotting.tasks import profile, scores
from regret_envs.benchmarks.plotting.triangle import SimplexError, replay, simplex

__all__ = [
    "COLORS",
    "Look",
    "SimplexError",
    "curves",
    "figure_of",
    "growth",
    "heatmap",
    "look",
    "profile",
    "replay",
    "scores",
    "simplex",
    "style",
    "training",
    "training_log",
]
