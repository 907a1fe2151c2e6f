# ruff: noqa: E402
import csv
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

import msgspec

from regret_envs.agents import Hedge
from regret_envs.agents.attention.k_star import k_star
from regret_envs.agents.attention.linear import LinearAttention
from regret_envs.agents.attention.swap import SwapAttention
from regret_envs.benchmarks.reproduce import path_recipes, path_store, training_paths
from regret_envs.benchmarks.reproduce.attention import gap_curves
from regret_envs.benchmarks.reproduce.checks import Options, Reference
from regret_envs.benchmarks.reproduce.path_recipes import NAMES, Point, path_recipe


def point(recipe="2 layers, post", seed=0, step=20, **values):
    fields = dict.fromkeys(training_paths.MEASURES, 1.0) | {"ce_uncalibrated": None, "k_train": None}
    return Point(recipe=recipe, seed=seed, step=step, **{**fields, "swap_uncalibrated": None, **values})


@pytest.fixture
def few_sequences(monkeypatch):
    monkeypatch.setattr(path_recipes, "_UNIT_SEQUENCES", 32)
    monkeypatch.setattr(path_recipes, "_BIASED_SEQUENCES", 32)
    path_recipes._held_out.cache_clear()
    yield
    path_recipes._held_out.cache_clear()


@pytest.fixture
def small(monkeypatch, few_sequences):
    """Two recipes of a few steps, measured on few sequences."""
    names = ("1 layer, constant", "swap heads, constant")
    whole = path_recipe
    for module in (path_store, training_paths):
        monkeypatch.setattr(module, "NAMES", names)
    monkeypatch.setattr(
        path_store, "path_recipe", lambda name, seed: msgspec.structs.replace(whole(name, seed), batch_size=4)
    )
    for name, value in (
        ("STEPS", (1, 2, 4)),
        ("OTHERS_STEPS", ()),
        ("SEEDS", 2),
        ("LATE_SEEDS", 1),
        ("QUICK_SEEDS", 2),
        ("_QUICK_LAST", 2),
        ("_LATE", 2),
        ("_STAGES", (2, 4)),
    ):
        monkeypatch.setattr(path_store, name, value)
    return names


def test_ten_recipes_on_the_sampled_objective():
    recipes = {name: path_recipe(name, 3) for name in NAMES}
    assert len(recipes) == 10
    for name, recipe in recipes.items():
        recipe.check()
        assert (recipe.estimator, recipe.optimizer, recipe.seed) == ("sample", "adam", 3)
        assert recipe.schedule == ("cosine" if "annealed" in name else "constant")
        assert recipe.num_steps == max(path_store.STEPS)
    assert {
        (r.settings["layers"], r.settings["normalization"])
        for r in recipes.values()
        if r.settings.get("layers")
    } == {(layers, n) for layers in (2, 4) for n in ("none", "pre", "post")}


def test_points_are_kept_by_recipe_and_code_version(tmp_path, monkeypatch):
    path = tmp_path / "points.csv"
    points = [point(step=40), point(step=20, k_train=0.25), point("swap heads, constant", 1)]
    path_store.write_points(path, points)
    assert path_store.read_points(path) == {path_store.place(p): p for p in points}
    assert [row["step"] for row in csv.DictReader(path.open())] == ["20", "40", "20"]
    assert path_store.read_points(tmp_path / "none.csv") == {}
    keys = {path_store.key(name, seed) for name in NAMES for seed in range(5)}
    assert len(keys) == 50
    monkeypatch.setattr(path_store, "VERSION", path_store.VERSION + 1)
    assert path_store.read_points(path) == {}


def test_measured_at_the_theoretical_points(few_sequences):
    k = float(k_star(3, 20))
    trainer = path_store.Trainer(path_recipe("1 layer, constant", 0))
    trainer.model = LinearAttention.from_step_size(k, 3).float()
    found = path_recipes.measure(trainer, "1 layer, constant")
    assert found.k_train == pytest.approx(k, abs=1e-6) and found.hedge_step == pytest.approx(k, abs=1e-3)
    assert found.mass_to_hedge < 0.1 < found.mass_to_forecaster
    assert found.cce == pytest.approx(gap_curves(Hedge(step_size=k)).cce[-1], abs=1e-6)
    trainer = path_store.Trainer(path_recipe("swap heads, constant", 0))
    trainer.model = SwapAttention.from_step_size(0.322, 3).float()
    trainer.model.logit_scale = 3.0
    found = path_recipes.measure(trainer, "swap heads, constant")
    assert found.k_train == pytest.approx(0.322, abs=1e-6)
    assert (found.ce, found.ce_uncalibrated) == pytest.approx((0.0627, 0.0968), abs=5e-5)


def test_paths_are_computed_kept_and_taken_up(small, tmp_path, monkeypatch):
    monkeypatch.setattr(path_store, "SHIPPED", tmp_path / "none.csv")
    options = Options(tmp_path)
    wanted = path_store.wanted(False)
    assert len(wanted) == 2 * (2 * 2 + 1)
    computed = {path_store.place(p): p for p in path_store.compute(wanted, options, workers=1)}
    assert set(computed) == set(wanted)
    # In one go, without the stop in between, to the bit.
    assert path_store.advance(small[0], 0, [1, 2, 4]) == [computed[small[0], 0, step] for step in (1, 2, 4)]
    path_store.write_points(tmp_path / "training-paths.csv", computed.values())
    monkeypatch.setattr(path_store, "compute", lambda places, options: iter([]) if not places else 1 / 0)
    report = training_paths.run(options)
    assert {check.holds for check in report.checks} == {"n/a"}
    assert (tmp_path / "training-paths.png").stat().st_size > 10_000
    assert len(list(csv.DictReader((tmp_path / "training-paths.csv").open()))) == len(wanted)


def test_a_stored_point_that_is_not_met_again_says_no(small, tmp_path, monkeypatch):
    stored = {path_store.place(p): p for s in range(2) for p in path_store.advance(small[0], s, [1, 2])}
    checks = training_paths._met_again(stored, stored, Options(tmp_path))
    assert [check.holds for check in checks] == ["yes", "yes"]
    moved = {k: msgspec.structs.replace(p, regret=p.regret + 9) for k, p in stored.items()}
    checks = training_paths._met_again(moved, moved, Options(tmp_path))
    assert [check.holds for check in checks] == ["no", "yes"]
    assert training_paths._met_again(stored, {}, Options(tmp_path)) == []


def test_who_passes_a_target_for_how_long_and_by_chance():
    target = replace(
        training_paths.TARGETS[0],
        recipes=["2 layers, post"],
        published=(Reference("4.00 ± 0.10", "x"), Reference("0.050 ± 0.010", "x")),
    )
    # R_20 falls from 6 through 4 to 3 and the gap grows: both are near between steps 80 and 120 alone.
    way = {20: (6.0, 0.01), 80: (4.2, 0.03), 120: (3.8, 0.07), 160: (3.0, 0.09)}
    points = [
        point(seed=seed, step=step, regret=regret, cce=gap)
        for seed in range(2)
        for step, (regret, gap) in way.items()
    ]
    # Another recipe is near in one number only.
    points += [point("2 layers, pre", s, step, regret=4.0, cce=0.5) for s in range(2) for step in (20, 80)]
    found = training_paths.paths(points)
    assert found["2 layers, post"][80]["regret"] == training_paths.Mean(4.2, 0.0, 2)
    passed = training_paths.passing(found, target)
    assert list(passed.steps) == ["2 layers, post"]
    assert passed.steps["2 layers, post"] == list(range(80, 121))
    assert (passed.points, passed.of) == (2, 6)
    assert passed.by_chance == pytest.approx(4 * 2 / 6)


def test_one_seed_has_no_error_and_is_near_nothing():
    found = training_paths.paths([point(regret=4.38, cce=0.0467)])
    mean = found["2 layers, post"][20]["regret"]
    assert mean.value == 4.38 and math.isnan(mean.error)
    assert training_paths.passing(found, training_paths.TARGETS[0]).points == 0


def test_what_ships_is_of_these_recipes():
    points = path_store.read_points(path_store.SHIPPED)
    rows = list(csv.DictReader(path_store.SHIPPED.open()))
    assert len(points) == len(rows) > 0
    assert points.keys() <= set(path_store.wanted(False))
    assert all(np.isfinite([p.regret, p.cce, p.loss]).all() for p in points.values())


def test_the_documented_table_is_what_is_stored():
    found = training_paths.paths(path_store.read_points(path_store.SHIPPED).values())
    text = (Path(__file__).parents[2] / "docs" / "attention.md").read_text(encoding="utf-8")
    rows = [
        line.strip("| ").split(" | ") for line in text.splitlines() if re.search(r"\| \d+ \| \d \|", line)
    ]
    assert len(rows) == 8
    measures = {"R_20": "regret", "CCE": "cce", "CE": "ce", "full swap": "swap"}
    for recipe, step, seeds, measured, _ in rows:
        name, _, kind = recipe.partition(", ")
        plain = "_uncalibrated" if kind == "uncalibrated" else ""
        path = found["swap heads, constant" if name == "swap heads" else recipe][int(step)]
        for part in measured.split(", "):
            what, value, error = re.fullmatch(r"(.+) ([\d.]+) ± ([\d.]+)", part).groups()
            mean = path[measures[what] + plain]
            digits = len(value.partition(".")[2])
            assert mean.seeds == int(seeds), recipe
            assert (f"{mean.value:.{digits}f}", f"{mean.error:.{digits}f}") == (value, error), (
                recipe,
                step,
                what,
            )
