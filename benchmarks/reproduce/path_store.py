"""Points of training paths: computed in stages on two processes, and kept by recipe and code version."""

from __future__ import annotations

import csv
import hashlib
import multiprocessing
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import msgspec
import torch

from regret_envs.agents.attention import checkpoint
from regret_envs.agents.attention.training import Trainer
from regret_envs.benchmarks.reproduce.checks import Options
from regret_envs.benchmarks.reproduce.path_recipes import NAMES, NUM_STEPS, Point, measure, path_recipe
from regret_envs.files import replacing

VERSION = 1
"""Of what training and measuring give: raise it when they change, and stored points count no more."""

SHIPPED = Path(__file__).parent / "data" / "training-paths.csv"
STEPS = (20, 40, 80, 120, 160, 240, 480, 1000, NUM_STEPS)
"""The points of a path."""
OTHERS_STEPS = (100, 150, 300, 500)
"""Where another implementation was measured; not points of the paths, so that none counts twice."""
SEEDS, LATE_SEEDS, QUICK_SEEDS = 5, 2, 3
"""Training seeds; beyond 500 steps, where nine tenths of the time go; with `--quick`."""
_LATE, _QUICK_LAST = 500, 160
_STAGES = (_QUICK_LAST, _LATE, 1000, NUM_STEPS)

Place = tuple[str, int, int]
"""Recipe, seed and step."""


def wanted(quick: bool) -> list[Place]:
    """All points, or those of `--quick`: 3 seeds, up to step 160."""
    return [
        (name, seed, step)
        for name in NAMES
        for seed in range(QUICK_SEEDS if quick else SEEDS)
        for step in sorted((*STEPS, *OTHERS_STEPS))
        if step <= (_QUICK_LAST if quick else _LATE) or (not quick and seed < LATE_SEEDS)
    ]


def key(name: str, seed: int) -> str:
    """Twelve hexadecimal digits of a path's recipe and the code version."""
    text = msgspec.json.encode([VERSION, path_recipe(name, seed)], order="deterministic")
    return hashlib.sha256(text).hexdigest()[:12]


def source_version() -> int:
    """A number that changes with the source of attention and of the measurement."""
    here = Path(__file__).parent
    files = [*sorted(Path(checkpoint.__file__).parent.glob("*.py")), here / "path_recipes.py"]
    return int.from_bytes(hashlib.sha256(b"".join(f.read_bytes() for f in files)).digest()[:8], "big")


def place(point: Point) -> Place:
    """Where a point belongs."""
    return point.recipe, point.seed, point.step


def read_points(path: Path) -> dict[Place, Point]:
    """The points of a file, without those of other recipes or code versions; none if there is no file."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    current = {(name, str(seed)): key(name, seed) for name in NAMES for seed in range(SEEDS)}
    points = [
        msgspec.convert({k: v or None for k, v in row.items() if k != "key"}, Point, strict=False)
        for row in rows
        if row["key"] == current.get((row["recipe"], row["seed"]))
    ]
    return {place(point): point for point in points}


def write_points(path: Path, points: Iterable[Point]) -> None:
    """Write a file, whole or not at all, sorted by recipe, seed and step."""
    names = Point.__struct_fields__
    keys: dict[tuple[str, int], str] = {}
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("key", *names))
        for point in sorted(points, key=lambda p: (NAMES.index(p.recipe), p.seed, p.step)):
            path_key = keys.setdefault((point.recipe, point.seed), key(point.recipe, point.seed))
            writer.writerow((path_key, *(getattr(point, name) for name in names)))


def advance(name: str, seed: int, steps: Sequence[int], folder: Path | None = None) -> list[Point]:
    """Train on to the last of `steps`, and measure at each of them.

    Args:
        name: a recipe.
        seed: of the training.
        steps: increasing.
        folder: where training is left off, and taken up if it is not beyond the first step; or None.
    """
    torch.set_num_threads(1)
    trainer = Trainer(path_recipe(name, seed))
    if folder is not None and (folder / checkpoint.STATE_FILE).exists():
        there = Trainer(trainer.recipe)
        checkpoint.resume_state(folder, there)
        trainer = there if there.step <= steps[0] else trainer
    points = []
    for step in steps:
        while trainer.step < step:
            trainer.train_step()
        points.append(measure(trainer, name))
    if folder is not None:
        checkpoint.save_state(folder, trainer)
    return points


def compute(places: Iterable[Place], options: Options, *, workers: int | None = None) -> Iterator[Point]:
    """Compute points, early steps of all paths first.

    Args:
        places: which.
        options: where trainings are left off, and what is shown.
        workers: processes; None: two, or one where there is one core.
    """
    missing = set(places)
    jobs: list[tuple[str, int, list[int]]] = []
    for first, last in zip((0, *_STAGES[:-1]), _STAGES, strict=True):
        for seed in range(SEEDS):
            for name in NAMES:
                steps = sorted(t for n, s, t in missing if (n, s) == (name, seed) and first < t <= last)
                if steps:
                    jobs.append((name, seed, steps))
    workers = min(2, len(os.sched_getaffinity(0))) if workers is None else workers
    for stage in _STAGES:
        now = [job for job in jobs if job[2][-1] <= stage and job[2][-1] > (_before(stage))]
        arguments = [(*job, _folder(options, *job[:2])) for job in now]
        if workers == 1:
            for given in arguments:
                options.say(f"{given[0]}, seed {given[1]}, to step {given[2][-1]}")
                yield from advance(*given)
        elif arguments:
            with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
                pending = {pool.submit(advance, *given): given for given in arguments}
                for future in as_completed(pending):
                    name, seed, steps, _ = pending[future]
                    options.say(f"{name}, seed {seed}, to step {steps[-1]}")
                    yield from future.result()


def _before(stage: int) -> int:
    return (0, *_STAGES)[_STAGES.index(stage)]


def _folder(options: Options, name: str, seed: int) -> Path:
    return options.out / "paths" / f"{name.replace(', ', '-').replace(' ', '-')}-{seed}-{key(name, seed)}"
