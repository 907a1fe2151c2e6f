"""What the attention reproductions share: trained models, and how they are evaluated.

Models are trained here, and kept in `out/models`. With `quick` the deep ones' results come from the
package, and say that they are stored.
"""

from __future__ import annotations

import copy
import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regret_envs import simulate
from regret_envs.agents import Agent
from regret_envs.agents.attention import checkpoint
from regret_envs.agents.attention.model import AttentionModel
from regret_envs.agents.attention.recipe import default_recipe
from regret_envs.agents.attention.training import train
from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.reproduce.checks import Options, write_curves
from regret_envs.games import weighted_rps
from regret_envs.play.result import Play
from regret_envs.streams import BiasedGaussian

ACTIONS, HORIZON = 3, 20
LAYERS = (2, 4)
SEEDS = range(5)
HELD_OUT_RUNS, HELD_OUT_SEED = 16_384, 1
_DEEP_RESULTS = Path(__file__).parent / "data" / "deep.csv"

BIAS_NOTE = (
    "The bias law of the biased Gaussian stream was not published: N(0, 0.35² I) is ours, fitted to the "
    "published R_20 of uniform play, so that figure checks nothing."
)
DEEP_NOTE = (
    "Width (32), layer normalization (before each branch), no positional encoding, batch (256), steps "
    "(1,200) and Adam's rate (0.001, cosine) of the Transformers were not published and are ours."
)


def one_layer_seeds(options: Options) -> range:
    """Five training seeds, two when it has to be quick."""
    return range(2) if options.quick else SEEDS


def trained(options: Options, name: str, model: str, seed: int, **changes: Any) -> AttentionModel:
    """The model of a recipe: from `out/models` if it is there and not to be fresh, else trained and kept.

    Args:
        options: where, and what is shown.
        name: of the folder, before the seed.
        model: a name in `MODELS`.
        seed: of the training.
        **changes: of the default recipe.
    """
    recipe = default_recipe(model, seed=seed, **changes)
    folder = options.out / "models" / f"{name}-seed{seed}"
    there = (folder / checkpoint.CONFIG_FILE).exists() and checkpoint.read_config(folder).recipe == recipe
    fresh = options.fresh and folder not in options.made
    if fresh or not there:
        options.say(f"training {name}, seed {seed}")
        torch.set_num_threads(1)
        train(recipe, folder, resume=not fresh and (folder / checkpoint.STATE_FILE).exists())
        options.made.add(folder)
    return checkpoint.load(folder)[0]


def regret_curve(agent: Agent) -> FloatArray:
    """Mean R_t, t = 1 … 20, on held-out biased Gaussian sequences, shape (20,)."""
    rounds = range(1, HORIZON + 1)
    play = _biased_play(agent, rounds)
    return np.array([play.at(t).regret().mean() for t in rounds])


def final_regrets(agent: Agent) -> FloatArray:
    """R_20 of the same sequences, shape (HELD_OUT_RUNS,)."""
    return _biased_play(agent, ()).regret()[0]


def _biased_play(agent: Agent, rounds: Sequence[int]) -> Play:
    return simulate(
        BiasedGaussian(ACTIONS, bias_scale=0.35),
        agent,
        horizon=HORIZON,
        num_runs=HELD_OUT_RUNS,
        seed=HELD_OUT_SEED,
        rounds=rounds,
    )


@dataclass(frozen=True)
class GapCurves:
    """Gaps of the time-averaged play after rounds 1, 2, …, each of shape (rounds,)."""

    cce: FloatArray
    ce: FloatArray
    swap: FloatArray


def gap_curves(agent: Agent, horizon: int = HORIZON, rounds: Sequence[int] | None = None) -> GapCurves:
    """An agent against its copy in weighted rock–paper–scissors, at every round or at `rounds`."""
    rounds = range(1, horizon + 1) if rounds is None else rounds
    play = simulate(weighted_rps(), [agent, copy.deepcopy(agent)], horizon=horizon, rounds=rounds)
    gaps = [play.at(t).gaps() for t in rounds]
    return GapCurves(*(np.array([getattr(g, kind).max[0] for g in gaps]) for kind in ("cce", "ce", "swap")))


@dataclass(frozen=True)
class DeepResults:
    """R_t and CCE gaps of the deep models, arrays (seeds, 20), by number of layers; read or computed."""

    regret: dict[int, FloatArray]
    cce: dict[int, FloatArray]
    stored: bool = False


def deep_results(options: Options) -> DeepResults:
    """The results of trained models; with `quick`, those that are stored in the package."""
    if options.quick and not options.fresh:
        return read_deep_results(_DEEP_RESULTS)
    regret, cce = {}, {}
    for layers in LAYERS:
        models = [
            trained(
                options,
                f"transformer-{layers}",
                "transformer",
                seed,
                settings={"layers": layers},
                estimator="hindsight",
            )
            for seed in SEEDS
        ]
        regret[layers] = np.stack([regret_curve(model) for model in models])
        cce[layers] = np.stack([gap_curves(model).cce for model in models])
    results = DeepResults(regret, cce)
    write_deep_results(options.out / "deep.csv", results)
    return results


def write_deep_results(path: Path, results: DeepResults) -> None:
    """One row a model and round."""
    rows = [
        (layers, seed, t + 1, results.regret[layers][seed, t], results.cce[layers][seed, t])
        for layers in results.regret
        for seed in range(len(results.regret[layers]))
        for t in range(HORIZON)
    ]
    names = ("layers", "seed", "t", "regret", "cce_gap")
    write_curves(path, dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def read_deep_results(path: Path) -> DeepResults:
    """What `write_deep_results` wrote."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    curves = {}
    for kind in ("regret", "cce_gap"):
        curves[kind] = {
            layers: np.array([float(row[kind]) for row in rows if int(row["layers"]) == layers]).reshape(
                -1, HORIZON
            )
            for layers in LAYERS
        }
    return DeepResults(curves["regret"], curves["cce_gap"], stored=True)
