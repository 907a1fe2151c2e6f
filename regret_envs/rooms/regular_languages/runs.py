"""The runs that the reproduction of regular-language learning looks at, and their curves."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from regret_envs.arrays import FloatArray, IntArray
from regret_envs.rooms.regular_languages.environments import EvenPairs, ParityCheck
from regret_envs.rooms.regular_languages.sequence_predictors import (
    SequencePredictor,
    TablePredictor,
    TransformerPredictor,
    UniformPredictor,
    play,
)
from regret_envs.rooms.regular_languages.training import Trajectory, max_margin, train
from regret_envs.rooms.regular_languages.transformer import LabeledSequences, OneLayerTransformer

NUM_STEPS = 100_000
STEP_SIZE, T0, TEMPERATURE = 0.1, 100, 2.0
NUM_SEEDS, STREAM_ROUNDS = 5, 5_000

Streams = dict[str, dict[str, FloatArray]]


@dataclass(frozen=True)
class Run:
    """A training run of `NUM_STEPS` steps from zero.

    Attributes:
        name: also the stem of its files.
        data: the training set.
        trajectory: what happened.
        steps: about a hundred of its steps, `T0` among them, whose models it has.
    """

    name: str
    data: LabeledSequences
    trajectory: Trajectory
    steps: IntArray


def train_run(
    name: str,
    data: LabeledSequences,
    *,
    temperature: float = TEMPERATURE,
    attention_steps: int = T0,
    also_keep: Iterable[int] = (),
) -> Run:
    """Train from zero at the reference setting unless given; `also_keep` are more steps to keep."""
    model = OneLayerTransformer(data.max_length, temperature=temperature)
    steps = np.union1d([0, T0], spaced(1, NUM_STEPS, 100))
    trajectory = train(
        model,
        data,
        num_steps=NUM_STEPS,
        step_size=STEP_SIZE,
        attention_steps=attention_steps,
        keep={*steps.tolist(), *also_keep},
    )
    return Run(name, data, trajectory, steps)


def curves(run: Run) -> dict[str, FloatArray]:
    """What the figure shows, by column: a row for each of the run's steps.

    `u_i` is u of a at position i, `score_L_positive_i` the mean of φ_i over the sequences of length L
    with label +1, `cosine_t0` and `cosine_t` are between u and the max-margin vectors of the features
    at T0 and at t (from T0 on; NaN where the features are not separable).
    """
    t, data, steps = run.trajectory, run.data, run.steps
    models = [t.models[step] for step in steps]
    heads = t.heads[steps]
    columns: dict[str, FloatArray] = {
        "t": steps.astype(np.float64),
        "loss": t.losses[steps],
        **{f"u_{position + 1}": heads[:, 2 * position] for position in range(3)},
        "norm_u": np.linalg.norm(heads, axis=1),
        "drift_W": np.array([np.linalg.norm(m.attention - t.models[T0].attention) for m in models]),
    }
    scores = np.array([model.scores(data) for model in models])
    for length in (3, 5):
        for name, label in (("positive", 1), ("negative", -1)):
            mean = scores[:, :, (data.lengths == length) & (data.labels == label)].mean(2)
            columns |= {f"score_{length}_{name}_{i + 1}": mean[:, i] for i in range(length)}
    directions = [
        _direction(model, data) if step >= T0 else None for step, model in zip(steps, models, strict=True)
    ]
    at_t0 = directions[np.searchsorted(steps, T0)]
    columns["cosine_t0"] = np.array([cosine(u, at_t0) for u in heads])
    columns["cosine_t"] = np.array([cosine(u, v) for u, v in zip(heads, directions, strict=True)])
    return columns


def cosine(u: FloatArray, v: FloatArray | None) -> float:
    """⟨u, v⟩ / (‖u‖ ‖v‖); NaN if there is no v, or if one of them is 0."""
    norm = 0.0 if v is None else float(np.linalg.norm(u) * np.linalg.norm(v))
    return math.nan if v is None or norm == 0 else float(u @ v) / norm


def _direction(model: OneLayerTransformer, data: LabeledSequences) -> FloatArray | None:
    try:
        return max_margin(model.features(data), data.labels)
    except ValueError:
        return None


def spaced(first: int, last: int, count: int = 200) -> IntArray:
    """Steps that weigh every factor of t alike."""
    return np.unique(np.geomspace(first, last, count).round().astype(np.int64))


def stream_losses(trained: OneLayerTransformer) -> Streams:
    """Losses by environment and agent, shape (NUM_SEEDS, STREAM_ROUNDS).

    Args:
        trained: what the agent begins with that is not new to even pairs.
    """
    environments = {
        "EvenPairs-v0": EvenPairs(),
        "ParityCheck-v0": ParityCheck(),
        "ParityCheck-v0, chain of thought": ParityCheck(chain_of_thought=True),
    }
    predictors: dict[str, SequencePredictor] = {
        "uniform": UniformPredictor(),
        "table": TablePredictor(),
        "one-layer Transformer": TransformerPredictor(),
        "trained on even pairs": TransformerPredictor(start=trained),
    }
    return {
        env_name: {
            name: np.stack([play(predictor, env, num_rounds=STREAM_ROUNDS, seed=s) for s in range(NUM_SEEDS)])
            for name, predictor in predictors.items()
        }
        for env_name, env in environments.items()
    }
