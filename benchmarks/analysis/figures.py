"""Figures of results. Needs matplotlib (the extra `plot`), imported when a figure is drawn.

Agents differ in line style as well as in color, and text on a heat map is dark or light by its cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from regret_envs import simulate
from regret_envs.agents import registry
from regret_envs.agents.llm.credentials import trusting
from regret_envs.agents.usage import Asking
from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.analysis import statistics
from regret_envs.benchmarks.analysis.standings import Tournament
from regret_envs.benchmarks.analysis.task_results import TaskResults
from regret_envs.benchmarks.tasks.task import Task, make_world
from regret_envs.games import Game
from regret_envs.metrics import Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = ("#0072b2", "#d55e00", "#009e73", "#b04a8f", "#7a5c00", "#444444", "#0a7d8c", "#a01c1c")
DASHES = ((), (5, 2), (1, 1.5), (6, 2, 1, 2), (9, 2), (3, 1), (4, 1, 1, 1, 1, 1), (2, 3))
MOST_AGENTS = len(COLORS)
# ρ is the task's loss_scale; Blum–Mansour's rate is that of copies at their best steps.
_HEDGE, _BLUM_MANSOUR = "ρ √(ln d / 2T)", "ρ √(d ln d / 2T)"
_THEORY: dict[str, tuple[str, Callable[[int], float]]] = {
    "external_regret": (_HEDGE, lambda d: 1.0),
    "cce_gap": (_HEDGE, lambda d: 1.0),
    "swap_regret": (_BLUM_MANSOUR, lambda d: d),
    "ce_gap": (_BLUM_MANSOUR, lambda d: d),
    "swap_gap": (_BLUM_MANSOUR, lambda d: d),
}


@contextmanager
def style() -> Iterator[None]:
    """Text stays text in an SVG, and equal figures come to equal files."""
    import matplotlib

    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": "regret-envs",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "figure.constrained_layout.use": True,
    }
    with matplotlib.rc_context(settings):
        yield


def _figure(width: float = 4.2, height: float = 3.0) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    return figure, figure.add_subplot()


def look(index: int) -> dict[str, Any]:
    """Color and dashes of the index-th agent."""
    dashes = DASHES[index % len(DASHES)]
    return {"color": COLORS[index % len(COLORS)], "linestyle": (0, dashes) if dashes else "-"}


def curves(r: TaskResults, metric: str, looks: Mapping[str, int], *, legend: bool = False) -> Figure:
    """A metric by round on logarithmic axes, regrets over T: mean, 95 % band over runs, theory's rate.

    What is not above 0 cannot be shown and is left out.

    Args:
        r: a task's results.
        metric: one of its metrics.
        looks: the agents to draw, with the number of their `look`.
        legend: whether the figure names them.
    """
    figure, axes = _figure()
    regret = r.metric(metric).normalize == "regret"
    rounds = np.array(r.rounds, dtype=np.float64)
    for agent, index in looks.items():
        values = np.stack([r.values(agent, metric, at=t) for t in r.rounds])
        values = values / rounds[:, None] if regret else values
        mean = values.mean(1)
        axes.plot(rounds, np.where(mean > 0, mean, np.nan), label=agent, linewidth=1.3, **look(index))
        if values.shape[1] > 1:
            error = 1.96 * values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
            low, high = mean - error, mean + error
            shown = low > 0
            color = look(index)["color"]
            axes.fill_between(rounds, low, high, where=shown, color=color, alpha=0.15, linewidth=0)
    if metric in _THEORY and r.num_actions > 1:
        name, factor = _THEORY[metric]
        unit = r.loss_scale * np.sqrt(np.log(r.num_actions) / 2)
        rate = unit * np.sqrt(factor(r.num_actions) / rounds)
        axes.plot(rounds, rate, color="#000000", linewidth=1.2, linestyle=(0, (1, 1)), zorder=5)
        axes.annotate(
            name,
            (rounds[-1], rate[-1]),
            xytext=(0, 4),
            textcoords="offset points",
            fontsize=8,
            ha="right",
            zorder=6,
            bbox={"facecolor": "#ffffff", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    if not any(np.isfinite(line.get_ydata()).any() for line in axes.lines):
        axes.text(0.5, 0.5, "nothing above 0", ha="center", transform=axes.transAxes)
    axes.set_xlabel("round T")
    axes.set_ylabel(r.metric(metric).title + (" / T" if regret else ""))
    if legend:
        figure.set_size_inches(6.4, 3.4)
        figure.legend(loc="outside right upper", fontsize=7, frameon=False, handlelength=3)
    return figure


def profile(
    samples: Mapping[str, Sequence[FloatArray]],
    metric: Metric,
    looks: Mapping[str, int],
    *,
    legend: bool = False,
) -> Figure:
    """Performance profiles: the share of runs, over tasks, that score at most τ; higher is better.

    Where more is better, the share that score at least τ.
    """
    figure, axes = _figure()
    every = np.concatenate([x for a in looks for x in samples[a]])
    low, high = np.quantile(every, [0.02, 1.0] if metric.higher_is_better else [0.0, 0.98])
    thresholds = np.linspace(low, high, 120)
    for agent, index in looks.items():
        costs = [metric.sign * x for x in samples[agent]]
        share = statistics.performance_profile(costs, metric.sign * thresholds)
        axes.plot(thresholds, share, label=agent, linewidth=1.3, **look(index))
    axes.set_xlabel(f"τ, normalized {metric.title}")
    axes.set_ylabel(f"share of runs at {'least' if metric.higher_is_better else 'most'} τ")
    axes.set_ylim(-0.02, 1.02)
    if legend:
        figure.set_size_inches(6.4, 3.4)
        figure.legend(loc="outside right upper", fontsize=7, frameon=False, handlelength=3)
    return figure


def simplex_path(task: Task, agent: str, *, most_rounds: int = 1000) -> tuple[FloatArray, FloatArray] | None:
    """Seat 0's policies in self-play of one run, and their running averages; None without 3 actions.

    Returns:
        Two arrays (points, 3) at up to 200 rounds, denser early on.
    """
    if not task.world.startswith("games.") or task.feedback or task.opponents:
        return None
    world = make_world(task)
    if not isinstance(world, Game) or world.num_players > 4 or world.num_actions[0] != 3:
        return None
    with trusting("offline"):  # a language model plays from its cache alone
        agents = [registry.make(agent) for _ in world.num_actions]
    for a in agents:
        if isinstance(a, Asking):
            a.prepare(task.id, hides_losses=False)
    horizon = min(task.horizon, most_rounds)
    for a, d in zip(agents, world.num_actions, strict=True):
        if a.unsupported(d, horizon=horizon):
            return None
    play = simulate(
        world, agents, horizon=horizon, starting_loss_scale=task.starting_loss_scale, record="policies"
    )
    assert play.policies is not None
    policies = play.policies[0][:, 0]
    average = np.cumsum(policies, axis=0) / np.arange(1, horizon + 1)[:, None]
    at = np.unique(np.linspace(0, np.sqrt(horizon - 1), 200).astype(float) ** 2 // 1).astype(int)
    return policies[at], average[at]


def simplex(path: tuple[FloatArray, FloatArray], index: int) -> Figure:
    """A path of `simplex_path` in the triangle of three actions: policies thin, their average thick."""
    figure, axes = _figure(2.4, 2.3)
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
    axes.add_patch(_triangle(corners))
    policies, average = (points @ corners for points in path)
    color = look(index)["color"]
    axes.plot(*policies.T, color=color, linewidth=0.5, alpha=0.6)
    axes.plot(*average.T, color=color, linewidth=1.6)
    axes.plot(*average[-1], marker="o", markersize=4, color="#000000")
    for action, (x, y) in enumerate(corners):
        place = "top" if y == 0 else "bottom"
        axes.annotate(f"action {action}", (x, y), ha="center", va=place, fontsize=8)
    axes.set_xlim(-0.15, 1.15)
    axes.set_ylim(-0.12, 1.0)
    axes.set_aspect("equal")
    axes.axis("off")
    return figure


def _triangle(corners: FloatArray) -> Any:
    from matplotlib.patches import Polygon

    return Polygon(corners, fill=False, edgecolor="#767676", linewidth=0.8)


def heat_map(found: Tournament) -> Figure:
    """The payoffs of seat 0 (rows) against seat 1 (columns), best first; numbers up to 16 agents."""
    import matplotlib

    order = [found.agents.index(s.agent) for s in found.standings]
    payoffs = found.payoffs()[np.ix_(order, order)]
    n = len(order)
    figure, axes = _figure(2.2 + 0.42 * n, 1.6 + 0.36 * n)
    most = float(np.abs(payoffs).max()) or 1.0
    image = axes.pcolormesh(payoffs, cmap="RdBu", vmin=-most, vmax=most, edgecolors="white", linewidth=0.5)
    names = [found.agents[i] for i in order]
    axes.set_yticks(np.arange(n) + 0.5, names)
    axes.set_xticks(np.arange(n) + 0.5, [str(i + 1) for i in range(n)])
    axes.set_yticklabels([f"{i + 1}  {name}" for i, name in enumerate(names)])
    axes.set_xlabel("seat 1, by number")
    axes.invert_yaxis()
    axes.tick_params(length=0)
    if n <= 16:
        for i, j in np.ndindex(n, n):
            red, green, blue, _ = matplotlib.colormaps["RdBu"]((payoffs[i, j] / most + 1) / 2)
            dark = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 < 0.18
            color = "#ffffff" if dark else "#000000"
            text = f"{payoffs[i, j]:.2f}"
            axes.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=7, color=color)
    figure.colorbar(image, ax=axes, label="payoff to seat 0", fraction=0.04)
    return figure
