"""Where training passes the published numbers: ten recipes, measured along their way.

The published figures of deep models and of swap heads are not those of trained optima. Which recipe was used
was not published, so none of the ten is called that; the table says which of them come by, and for how long.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regret_envs.agents import FollowTheLeader, Hedge
from regret_envs.agents.attention.k_star import k_star
from regret_envs.benchmarks.analysis.tables import Table
from regret_envs.benchmarks.reproduce import path_store as store
from regret_envs.benchmarks.reproduce.attention import ACTIONS, BIAS_NOTE, HORIZON, final_regrets, gap_curves
from regret_envs.benchmarks.reproduce.checks import Check, Options, Reference, Report
from regret_envs.benchmarks.reproduce.forecaster import HindsightForecaster
from regret_envs.benchmarks.reproduce.path_figure import draw
from regret_envs.benchmarks.reproduce.path_recipes import NAMES, Point

_FIG = "training-paths"
_STUDY = "study of training paths"
_WITHIN = 2.0  # combined standard errors

MEASURES = tuple(name for name in Point.__struct_fields__ if name not in ("recipe", "seed", "step"))


@dataclass(frozen=True)
class Mean:
    """A measure at a point of a path: its mean over seeds, and the standard error (NaN of one seed)."""

    value: float
    error: float
    seeds: int


Path = Mapping[int, Mapping[str, Mean]]
"""By step, and by measure."""


@dataclass(frozen=True)
class Target:
    """A published pair.

    Attributes:
        name: what it was published of.
        recipes: whose paths are held against it.
        measures: the two fields of `Point`.
        published: the two numbers.
    """

    name: str
    recipes: Sequence[str]
    measures: tuple[str, str]
    published: tuple[Reference, Reference]


def _depth(prefix: str) -> list[str]:
    return [name for name in NAMES if name.startswith(prefix)]


TARGETS = (
    Target(
        "2 layers: R_20, CCE gap",
        _depth("2 layers"),
        ("regret", "cce"),
        (
            Reference("4.380 ± 0.046", "arXiv 2607.23333, 3.3"),
            Reference("0.0467 ± 0.0095", "arXiv 2607.23333, 3.4"),
        ),
    ),
    Target(
        "4 layers: R_20, CCE gap",
        _depth("4 layers"),
        ("regret", "cce"),
        (
            Reference("4.322 ± 0.017", "arXiv 2607.23333, 3.3"),
            Reference("0.0653 ± 0.0054", "arXiv 2607.23333, 3.4"),
        ),
    ),
    Target(
        "1 layer: % moved to FTRL, CCE gap",
        _depth("1 layer"),
        ("mass_to_hedge", "cce"),
        (Reference("2.71", "arXiv 2607.23333, 3.2"), Reference("0.0832 ± 0.0028", "arXiv 2607.23333, 3.4")),
    ),
    Target(
        "swap heads, calibrated: CE, full swap",
        _depth("swap"),
        ("ce", "swap"),
        (
            Reference("0.0627 ± 0.0018", "arXiv 2607.23333, 4.1"),
            Reference("0.0956 ± 0.0068", "arXiv 2607.23333, 4.1"),
        ),
    ),
    Target(
        "swap heads, uncalibrated: CE, full swap",
        _depth("swap"),
        ("ce_uncalibrated", "swap_uncalibrated"),
        (
            Reference("0.0968 ± 0.0049", "arXiv 2607.23333, 4.1"),
            Reference("0.1627 ± 0.0110", "arXiv 2607.23333, 4.1"),
        ),
    ),
)

_MEASURED: Sequence[tuple[str, int, str, str]] = (
    ("2 layers, post", 120, "regret", "4.305"),
    ("2 layers, post", 120, "cce", "0.056 ± 0.009"),
    ("2 layers, post", 300, "cce", "0.138"),
    ("4 layers, post", 100, "regret", "4.32 ± 0.09"),
    ("4 layers, post", 100, "cce", "0.071 ± 0.009"),
    ("4 layers, post", 150, "cce", "0.148"),
    ("swap heads, constant", 500, "ce", "0.064 ± 0.007"),
    ("swap heads, constant", 500, "swap", "0.096 ± 0.009"),
    ("swap heads, constant", 500, "ce_uncalibrated", "0.092 ± 0.003"),
    ("swap heads, constant", 500, "swap_uncalibrated", "0.158 ± 0.009"),
)
"""What another implementation found by recipes that differ from ours in width and initial parameters."""


def run(options: Options) -> Report:
    """Compute what is not stored, hold a stored point against a new one, and say who comes by what."""
    stored = {} if options.fresh else store.read_points(store.SHIPPED)
    mine = options.out / "training-paths.csv"
    points = dict(stored) if options.fresh else {**stored, **store.read_points(mine)}
    wanted = store.wanted(options.quick)
    for point in store.compute([place for place in wanted if place not in points], options):
        points[store.place(point)] = point
        store.write_points(mine, points.values())
    # With --quick, later points are shown where they are stored.
    points = {place: points[place] for place in sorted({*wanted, *stored})}
    store.write_points(mine, points.values())
    found = paths(points.values())
    counts = [passing(found, target) for target in TARGETS]
    # Follow the leader's gap is not a number: it hangs on how ties are broken, here after the first round.
    floor = float(final_regrets(FollowTheLeader()).mean())
    draw(options, found, TARGETS, _references(), floor)
    checks = [
        *_against_others(found, points, stored),
        *(_many_points(target, passed) for target, passed in zip(TARGETS, counts, strict=True)),
        *_met_again(points, stored, options),
    ]
    notes = [
        "Means over training seeds, with their standard errors: "
        + (
            f"at least {store.QUICK_SEEDS} seeds up to step 160, beyond it those that are stored."
            if options.quick
            else f"{store.SEEDS} seeds, {store.LATE_SEEDS} of them beyond step 500."
        ),
        f"{len(stored.keys() & points.keys())} of {len(points)} points are stored, of these recipes and this "
        "version of the code; --fresh computes them all.",
        "A path is straight between its points. By chance: how many points would lie within two errors of "
        "both numbers if being near the one said nothing about the other. Few seeds make large errors, and "
        "what has a large error is near everything.",
        BIAS_NOTE,
    ]
    return Report(checks, notes, [_table(found, counts)])


def paths(points: Iterable[Point]) -> dict[str, Path]:
    """Means over seeds by recipe, step and measure."""
    by_place: dict[str, dict[int, list[Point]]] = {}
    for point in points:
        by_place.setdefault(point.recipe, {}).setdefault(point.step, []).append(point)
    return {
        recipe: {step: _means(group) for step, group in sorted(steps.items())}
        for recipe, steps in by_place.items()
    }


def _means(group: Sequence[Point]) -> dict[str, Mean]:
    means = {}
    for measure in MEASURES:
        values = [getattr(point, measure) for point in group]
        if None not in values:
            error = np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
            means[measure] = Mean(float(np.mean(values)), float(error), len(values))
    return means


def _near(mean: float, error: float, published: Reference) -> bool:
    return abs(mean - published.value) <= _WITHIN * math.hypot(error, published.error) + published.rounding


@dataclass(frozen=True)
class Passing:
    """How paths pass a published pair.

    Attributes:
        steps: by recipe, the optimizer steps at which its path is within two errors of both numbers.
        points: of the measured points of all recipes, how many are.
        by_chance: how many would be if nearness to the one number were independent of that to the other.
        of: the measured points.
    """

    steps: Mapping[str, Sequence[int]]
    points: int
    by_chance: float
    of: int


def passing(found: Mapping[str, Path], target: Target) -> Passing:
    """Which paths pass a target. A path is straight between its points; its errors are interpolated too."""
    steps: dict[str, list[int]] = {}
    near: list[list[bool]] = []
    for recipe, path in found.items():
        at = [step for step, means in path.items() if all(m in means for m in target.measures)]
        if not at:
            continue
        every = np.arange(at[0], at[-1] + 1)
        inside = np.ones(len(every), dtype=bool)
        for measure, published in zip(target.measures, target.published, strict=True):
            value, error = (
                np.interp(every, at, [getattr(path[step][measure], name) for step in at])
                for name in ("value", "error")
            )
            inside &= [_near(v, e, published) for v, e in zip(value, error, strict=True)]
        if recipe in target.recipes:
            steps[recipe] = every[inside].tolist()
        near += [
            [
                _near(path[step][m].value, path[step][m].error, published)
                for m, published in zip(target.measures, target.published, strict=True)
            ]
            for step in at
            if step in store.STEPS
        ]
    array = np.array(near, dtype=bool).reshape(-1, 2)
    by_chance = float(array[:, 0].sum() * array[:, 1].sum() / max(len(array), 1))
    return Passing(steps, int(array.all(1).sum()), by_chance, len(array))


def _table(found: Mapping[str, Path], counts: Sequence[Passing]) -> Table:
    rows = []
    for target, passed in zip(TARGETS, counts, strict=True):
        for recipe, steps in passed.steps.items():
            where = f"{steps[0]} … {steps[-1]}" if steps else "–"
            rows.append([target.name, recipe, str(max(found[recipe])), where, str(len(steps))])
    columns = ["published pair", "recipe", "measured to step", "within 2 errors at steps", "steps"]
    return Table("paths past published pairs", columns, rows, numbers=1)


def _many_points(target: Target, passed: Passing) -> Check:
    what = f"{target.name}: points of {passed.of} within 2 errors (by chance {passed.by_chance:.1f})"
    return Check(_FIG, what, passed.points)


def _against_others(
    found: Mapping[str, Path], points: Mapping[store.Place, Point], stored: Mapping[store.Place, Point]
) -> list[Check]:
    labels = {
        "regret": "R_20",
        "cce": "CCE gap",
        "ce": "pairwise CE gap",
        "swap": "full-swap gap",
        "ce_uncalibrated": "pairwise CE gap, uncalibrated",
        "swap_uncalibrated": "full-swap gap, uncalibrated",
    }
    checks = []
    for recipe, step, measure, text in _MEASURED:
        if step in found.get(recipe, {}):
            mean = found[recipe][step][measure]
            places = [p for p in points if (p[0], p[2]) == (recipe, step)]
            checks.append(
                Check(
                    _FIG,
                    f"{labels[measure]}, {recipe}, step {step}",
                    mean.value,
                    standard_error=None if math.isnan(mean.error) else mean.error,
                    independent=Reference(text, _STUDY),
                    stored=any(place in stored for place in places),
                )
            )
    return checks


def _met_again(
    points: Mapping[store.Place, Point], stored: Mapping[store.Place, Point], options: Options
) -> list[Check]:
    """One stored point, which the source of attention chooses, computed anew."""
    cheap = sorted(place for place in points if place in stored and place[2] <= 160)
    if not cheap:
        return []
    recipe, seed, step = cheap[store.source_version() % len(cheap)]
    options.say(f"again: {recipe}, seed {seed}, step {step}")
    (again,) = store.advance(recipe, seed, [step])
    checks = []
    for measure in ("regret", "cce"):
        scatter = np.std(
            [getattr(p, measure) for p in points.values() if (p.recipe, p.step) == (recipe, step)], ddof=1
        )
        before = getattr(stored[recipe, seed, step], measure)
        checks.append(
            Check(
                _FIG,
                f"stored point met again: {recipe}, seed {seed}, step {step}, {measure}",
                getattr(again, measure),
                at_least=before - 4 * float(scatter),
                at_most=before + 4 * float(scatter),
                reason="the same seed again: 4 standard errors of a seed",
            )
        )
    return checks


def _references() -> dict[str, tuple[float, float]]:
    """R_20 and CCE gap of what is drawn in: two policies of Gaussian losses."""
    agents = {
        "P(a* | past)": HindsightForecaster(),
        "Hedge, step k*": Hedge(step_size=k_star(ACTIONS, HORIZON)),
    }
    return {
        name: (float(final_regrets(agent).mean()), float(gap_curves(agent, rounds=[HORIZON]).cce[-1]))
        for name, agent in agents.items()
    }
