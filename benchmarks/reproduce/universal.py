"""The trained policies beside every other agent: scores, ranks, worst tasks, new worlds.

Nothing here is published: the bounds are those that were set before training, and what misses them says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regret_envs import simulate, streams
from regret_envs.agents import AGENTS, make
from regret_envs.agents.universal.families import read_families
from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.analysis.board import Score
from regret_envs.benchmarks.analysis.leaderboard import leaderboard
from regret_envs.benchmarks.analysis.task_results import TaskResults, task_results
from regret_envs.benchmarks.reproduce.checks import Check, KnownMiss, Options, Reference, Report
from regret_envs.benchmarks.reproduce.drawing import COLORS, legend_below, panels, save
from regret_envs.benchmarks.reproduce.universal_inputs import draw_policies, mask_inputs
from regret_envs.benchmarks.running import driver, executors
from regret_envs.benchmarks.running.cells import Cell, missing, needed_modules, shared_imports
from regret_envs.benchmarks.running.planning import plan
from regret_envs.benchmarks.running.results import Writer, read
from regret_envs.benchmarks.running.rows import Row, complete_cells
from regret_envs.benchmarks.running.runner import measure
from regret_envs.benchmarks.tasks.core import SUITES, TASKS
from regret_envs.benchmarks.tasks.task import make_world
from regret_envs.worlds import World

NAME = "universal"
FAMILY = ("universal", "universal-swap", "universal-safe", "universal-swap-safe")
RIVALS = tuple(n for n, entry in AGENTS.items() if n not in FAMILY and entry.takes != "bandit")
_TARGET = "set before training"
_ADAPTS = KnownMiss(0.455, 0.01, "the training takes losses as given, and an adversary's are not")
_CAUTION = KnownMiss(3.839, 0.025, "training penalizes risk, and follow the leader takes much of it")
_LARGE = {
    ("Bernoulli", 100): KnownMiss(1.47, 0.22, "trained on up to 40 actions"),
    ("Gaussian", 1000): KnownMiss(1.28, 0.40, "trained on up to 40 actions"),
    ("Bernoulli", 1000): KnownMiss(0.71, 0.31, "trained on up to 40 actions"),
}
_MARGIN = 1e-3  # of the normalized regret: less is not a difference


def in_family(task: str) -> bool:
    """Whether a family draws worlds of the task's law too, over other ranges of its settings."""
    return TASKS[task].world in {family.world for family in read_families()}


def run(options: Options) -> Report:
    """All checks; what was played is kept in `universal.jsonl`."""
    agents = [*RIVALS, *(n for n in FAMILY if n in AGENTS)]
    rows: list[Row] = []
    for suite in ("core", "nonstationary", "held-out"):
        options.say(f"playing {suite}")
        tasks = [TASKS[id] for id in SUITES[suite].tasks]
        cells = plan(suite, tasks, agents, runs=16 if options.quick else 64, seed=0)
        rows = _play(cells, options.out / "universal.jsonl")
    core, changing, new = (SUITES[suite].tasks for suite in ("core", "nonstationary", "held-out"))
    apart = [t for t in core if not in_family(t)]
    checks = [
        *score_checks(rows, core, "external_regret", "universal-safe"),
        *score_checks(rows, core, "swap_regret", "universal-swap-safe"),
        *score_checks(rows, apart, "external_regret", "universal-safe", ", none in-family"),
        *task_checks(rows, [*core, *changing], "universal-safe"),
        *held_out_checks(rows, new, "universal-safe"),
        *large_checks(options),
        *small_checks(options),
    ]
    _draw(rows, [*core, *changing, *new], options)
    draw_policies(options)
    mask_inputs(options)
    notes = [
        "Lower is better. Rivals are all registered agents outside the family that play full information. "
        "Scores are the leaderboard's, on the tasks that all who play at least half of them have in common.",
        "In-family tasks are of a law that a training family has over other ranges.",
        "What a bound misses is a known miss: neither seeds nor tasks nor bounds were tuned.",
    ]
    return Report(checks, notes)


def _play(cells: Sequence[Cell], results: Path) -> list[Row]:
    """Run what is missing in a file of results; all of its rows then."""
    with Writer(results) as writer:
        to_run = missing(cells, complete_cells(writer.contents.rows))
        if to_run:
            specs = {spec for cell in to_run for spec in cell.seats}
            pool = executors.connect("local", preload=shared_imports(specs), modules=needed_modules(to_run))
            try:
                for finished in driver.run(to_run, pool, measure=measure):
                    writer.append(row for rows in finished for row in rows)
            finally:
                pool.close(now=True)
    return read(results).rows


def score_checks(
    rows: Sequence[Row], tasks: Sequence[str], metric: str, agent: str, of: str = ""
) -> list[Check]:
    """The rank in the score over tasks against the rivals, and the distance to the best of them.

    `of` says which tasks these are.
    """
    if agent not in AGENTS:
        return []
    board = leaderboard(rows, metric=metric, tasks=list(tasks), agents=[*RIVALS, agent]).overall[0]
    scores = {s.agent: s for s in board.scores if s.score is not None}
    own = scores[agent]
    best = min([s for a, s in scores.items() if a != agent], key=_score)
    alone = own.rank == 1 and sum(s.rank == 1 for s in scores.values()) == 1
    what = f"{metric.removesuffix('_regret')} score of {agent} over {len(board.common_tasks)} tasks{of}"
    error = None if own.low is None or own.high is None else (own.high - own.low) / 3.92
    high, low = (own.high, best.low) if own.high is not None else (own.score, best.score)
    assert high is not None and low is not None and own.rank is not None
    bound: dict[str, Any] = {"at_most": 0.0, "reason": _TARGET} if metric == "external_regret" else {}
    return [
        Check(NAME, f"{what} (best rival: {best.agent} {best.score:.3f})", _score(own), standard_error=error),
        Check(
            NAME,
            f"{what}: rank, 1 alone is 1",
            own.rank if alone or own.rank > 1 else 1.5,
            at_most=1,
            reason=_TARGET,
        ),
        Check(
            NAME,
            f"{what}: upper end of the 95 % interval less the lower one of {best.agent}",
            high - low,
            **bound,
        ),
    ]


def _score(score: Score) -> float:
    assert score.score is not None
    return score.score


def task_checks(rows: Sequence[Row], tasks: Sequence[str], agent: str) -> list[Check]:
    """First tie groups, the worst task and the mean rank."""
    results = _results(rows, tasks, [*RIVALS, agent])
    board = leaderboard(rows, metric="external_regret", tasks=list(tasks), agents=[*RIVALS, agent])
    ranks = {table.task: {e.agent: e.rank for e in table.entries} for table in board.tasks}
    checks, firsts, gaps = [], 0, {}
    for task in tasks:
        means = _means(results[task])
        rival = min((a for a in means if a != agent), key=means.__getitem__)
        own, best = means[agent], means[rival]
        runs = results[task].normalized(results[task].values(agent, "external_regret"), "external_regret")
        first = ranks[task][agent] == 1 if len(runs) > 1 else own <= best + _MARGIN
        firsts += first
        gaps[task] = max(own, 0.0) - max(best, 0.0)
        mark = ("first" if first else "behind") + _marked(task)
        checks.append(Check.of(NAME, f"{task}: {mark}; best rival {rival} {best:.3f}", runs))
    worst = max(gaps, key=gaps.__getitem__)
    core = [t for t in tasks if t in SUITES["core"].tasks]
    mean_ranks = _mean_ranks([results[t] for t in core])
    apart = [results[t] for t in core if not _marked(t)]
    rival = min((a for a in mean_ranks if a != agent), key=mean_ranks.__getitem__)
    return [
        *checks,
        Check(
            NAME,
            f"{agent}: tasks of {len(tasks)} in the first tie group",
            firsts,
            at_least=12,
            reason=_TARGET,
        ),
        Check(
            NAME,
            f"{agent}: worst task, positive regret above the best's ({worst})",
            gaps[worst],
            at_most=0.35,
            reason=_TARGET,
            known_miss=_ADAPTS if worst == "adaptive_d3_t500" else None,
        ),
        Check(NAME, f"{agent}: mean rank on core", mean_ranks[agent], at_most=5, reason=_TARGET),
        Check(
            NAME,
            f"{agent}: mean rank on core less that of {rival}",
            mean_ranks[agent] - mean_ranks[rival],
            at_most=0,
            reason=_TARGET,
        ),
        *(
            [Check(NAME, f"{agent}: mean rank on core, none in-family", _mean_ranks(apart)[agent])]
            if apart
            else []
        ),
    ]


def _marked(task: str) -> str:
    return ", in-family" if task in TASKS and in_family(task) else ""


def held_out_checks(rows: Sequence[Row], tasks: Sequence[str], agent: str) -> list[Check]:
    """Rank in score and in mean rank, and the distance to uniform play in its standard errors."""
    results = _results(rows, tasks, [*RIVALS, agent])
    ranks = _mean_ranks(list(results.values()))
    rival = min((a for a in ranks if a != agent), key=ranks.__getitem__)
    behind = {}
    for task, r in results.items():
        own, uniform = r.paired([agent, "uniform"], "external_regret")
        difference = r.normalized(own - uniform, "external_regret")
        error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else _MARGIN
        behind[task] = float(difference.mean() / max(error, 1e-12))
    worst = max(behind, key=behind.__getitem__)
    scored = score_checks(rows, tasks, "external_regret", agent)
    return [
        *scored[:2],
        Check(
            NAME,
            f"held-out: mean rank less that of {rival}",
            ranks[agent] - ranks[rival],
            at_most=0,
            reason=_TARGET,
        ),
        Check(
            NAME,
            f"held-out: standard errors behind uniform, most on {worst}",
            behind[worst],
            at_most=1,
            reason=_TARGET,
        ),
        *(
            Check.of(
                NAME,
                f"held-out {task}; best rival {_best(r, agent)}",
                r.normalized(r.values(agent, "external_regret"), "external_regret"),
            )
            for task, r in results.items()
        ),
    ]


def large_checks(options: Options) -> list[Check]:
    """Hundreds of actions, against the best of four."""
    checks = []
    for d, horizon in ((100, 1000), (1000, 200)):
        for name, world in (
            ("Gaussian", streams.Gaussian(d)),
            ("Bernoulli", streams.Bernoulli(d, gap=0.1)),
            ("drifting", streams.DriftingMean(d)),
        ):
            options.say(f"{name}, {d} actions")
            regrets = {
                agent: simulate(
                    world, make(agent), horizon=horizon, num_runs=4 if options.quick else 16, seed=0
                ).regret("external")[0]
                for agent in ("hedge", "adahedge", "rm+", "predictive-rm+", "universal-safe")
            }
            own = regrets.pop("universal-safe")
            best = min(regrets, key=lambda a: regrets[a].mean())
            checks.append(
                Check.of(
                    NAME,
                    f"{name}, d = {d}, T = {horizon}: regret less that of {best}",
                    own - regrets[best],
                    at_most=0.0,
                    reason=_TARGET,
                    known_miss=_LARGE.get((name, d)),
                )
            )
    return checks


def small_checks(options: Options) -> list[Check]:
    """The paper's two tasks, played by the bare policy."""
    rps = simulate(_world("weighted_rps_t20"), [make("universal"), make("universal")], horizon=20, num_runs=1)
    biased = simulate(
        _world("biased_gaussian_d3_t20"),
        make("universal"),
        horizon=20,
        num_runs=4_000 if options.quick else 20_000,
        seed=7,
    )
    return [
        Check(
            NAME,
            "weighted RPS from uniform, T = 20, universal: CCE gap (predictive-rm+ 0.0473)",
            float(rps.gaps().cce.max[0]),
            published=Reference("0.0467 ± 0.0095", "arXiv 2607.23333, 3.4, two layers"),
            lower_is_better=True,
            at_most=0.0473,
            reason=_TARGET,
        ),
        Check.of(
            NAME,
            "biased Gaussian d = 3, T = 20, bias 0.35, universal: R_20",
            biased.regret("external")[0],
            published=Reference("4.380 ± 0.046", "arXiv 2607.23333, 3.3, two layers"),
            lower_is_better=True,
            at_most=3.30,
            reason=_TARGET,
            known_miss=_CAUTION,
        ),
    ]


def _world(task: str) -> World:
    return make_world(TASKS[task])


def _results(rows: Sequence[Row], tasks: Sequence[str], agents: Sequence[str]) -> dict[str, TaskResults]:
    found, _ = task_results(rows, tasks=list(tasks), agents=list(agents))
    return {r.task: r for r in found}


def _means(r: TaskResults) -> dict[str, float]:
    """The normalized external regret of all who play."""
    metric = "external_regret"
    return {a: float(r.normalized(r.values(a, metric), metric).mean()) for a in r.played}


def _best(r: TaskResults, agent: str) -> str:
    means = {a: m for a, m in _means(r).items() if a != agent}
    best = min(means, key=means.__getitem__)
    return f"{best} {means[best]:.3f}"


def _mean_ranks(results: Sequence[TaskResults]) -> dict[str, float]:
    """Ranks by the mean on every task, ties (within the margin) averaged, of those who play them all."""
    common = set.intersection(*(set(r.played) for r in results))
    ranks: Mapping[str, list[float]] = {a: [] for a in sorted(common)}
    for r in results:
        means = {a: m for a, m in _means(r).items() if a in common}
        for a, own in means.items():
            values: FloatArray = np.array(list(means.values()))
            below, level = (values < own - _MARGIN).sum(), (np.abs(values - own) <= _MARGIN).sum()
            ranks[a].append(below + (level + 1) / 2)
    return {a: float(np.mean(x)) for a, x in ranks.items()}


def _draw(rows: Sequence[Row], tasks: Sequence[str], options: Options) -> None:
    """Every task's normalized regrets: all rivals as gray dots, the policies in color."""
    agents = [a for a in FAMILY if a in AGENTS]
    results = _results(rows, tasks, [*RIVALS, *agents])
    figure, (axes,) = panels(1, size=(7.5, 1.5 + 0.2 * len(tasks)))
    for y, task in enumerate(reversed(tasks)):
        means = _means(results[task])
        rivals = [m for a, m in means.items() if a not in agents]
        axes.scatter(rivals, [y] * len(rivals), s=9, color="0.7", label="other agents" if y == 0 else None)
        for color, agent in zip(COLORS, agents, strict=False):
            axes.scatter(means[agent], y, s=28, marker="D", color=color, label=agent if y == 0 else None)
    axes.set_yticks(range(len(tasks)), list(reversed(tasks)), fontsize=8)
    axes.set_xscale("symlog", linthresh=1)
    axes.set(xlabel="external regret / (ρ √(T ln d / 2))")
    axes.axvline(0, color="0.5", linewidth=0.8)
    legend_below(axes, 3, by=0.12)
    caption = (
        "Normalized external regret of the universal policies (diamonds) and of every other agent (gray "
        "dots), task by task: the mean over runs divided by ρ √(T ln d / 2), on an axis that is linear "
        "within ± 1 and logarithmic beyond. Below 0 is better than the best fixed action in hindsight."
    )
    save(figure, options.out / "universal.png", caption)
