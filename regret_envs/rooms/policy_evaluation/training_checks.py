"""What training makes of the softmax Transformer, and how it fares online."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.reproduce.checks import Check, Options, Reference, write_curves
from regret_envs.rooms.policy_evaluation.markov import Trajectory
from regret_envs.rooms.policy_evaluation.problems import predict, value_regret
from regret_envs.rooms.policy_evaluation.softmax_td import SoftmaxTransformer
from regret_envs.rooms.policy_evaluation.theory_checks import (
    NAME,
    PROTOTYPE,
    SHOWN_LAYERS,
    layer_errors,
    sample,
)
from regret_envs.rooms.policy_evaluation.training import SoftmaxTDTraining, expected_update, train
from regret_envs.rooms.policy_evaluation.value_agents import LSTD, TD0, InContextTransformer, ZeroValue


@dataclass(frozen=True)
class Emerged:
    """Trained Transformers, one per seed, their CPU seconds, and fresh trajectories to judge them on."""

    config: SoftmaxTDTraining
    transformers: Sequence[SoftmaxTransformer]
    seconds: Sequence[float]
    trajectory: Trajectory

    def trained(self) -> FloatArray:
        """MSVE, one per seed."""
        return np.array([layer_errors(t, self.trajectory)[-1].mean() for t in self.transformers])

    def constructed(self, tau: float = 6.0) -> FloatArray:
        """MSVE of the construction with as many layers, one per process."""
        layers = self.config.num_layers
        transformer = SoftmaxTransformer.construct(5, num_layers=layers, inverse_temperature=tau)
        return layer_errors(transformer, self.trajectory)[-1]

    def zero(self) -> FloatArray:
        """MSVE of the value 0, one per process."""
        process = self.trajectory.process
        return process.mean_square_value_error(np.zeros_like(process.values))

    def ratios(self) -> FloatArray:
        """V's entries over that of the reward, (num_seeds, 3)."""
        return np.array([t.value_weights / t.value_weights[0] for t in self.transformers])

    def cosines(self) -> FloatArray:
        """Of A's feature block with the identity, one per seed."""
        return np.array(
            [np.trace(t.attention) / np.linalg.norm(t.attention) / np.sqrt(5) for t in self.transformers]
        )


def train_all(discount: float, seeds: Sequence[int], options: Options) -> Emerged:
    """Train with every seed."""
    config = SoftmaxTDTraining(discount=discount)
    transformers, seconds = [], []
    for seed in seeds:
        options.say(f"training with γ = {discount}, seed {seed}")
        began = time.process_time()
        transformers.append(train(replace(config, seed=seed)))
        seconds.append(time.process_time() - began)
    fresh = sample(2000, config.context_length, discount=discount, features=config.features, seed=100)
    return Emerged(config, transformers, seconds, fresh)


def emergence(emerged: Emerged) -> list[Check]:
    """With γ = 0.5 training finds TD."""
    what = "emergence, γ = 0.5, 10 layers, n = 50"
    ratios, trained, zero = emerged.ratios(), emerged.trained(), emerged.zero()

    def measured(text: str) -> Reference:
        return Reference(text, PROTOTYPE)

    return [
        Check.of(NAME, f"{what}: V's target over reward", ratios[:, 1], independent=measured("0.91")),
        Check.of(NAME, f"{what}: V's value over reward", ratios[:, 2], independent=measured("-0.98")),
        Check.of(
            NAME, f"{what}: cosine of A with the identity", emerged.cosines(), independent=measured("0.999")
        ),
        Check.of(NAME, f"{what}: MSVE trained", trained, independent=measured("0.022"), lower_is_better=True),
        Check.of(
            NAME,
            f"{what}: MSVE constructed, τ = 6",
            emerged.constructed(),
            independent=measured("0.023"),
            lower_is_better=True,
        ),
        Check.of(NAME, f"{what}: MSVE constructed, τ = 12", emerged.constructed(12.0)),
        Check.of(NAME, f"{what}: MSVE zero", zero, independent=measured("0.466")),
        Check.of(NAME, f"{what}: CPU seconds of a training", emerged.seconds),
    ]


def beyond_td(emerged: Emerged) -> list[Check]:
    """What comes out with γ = 0.9, where ten layers of TD are too few: every seed, since they differ."""
    what = "γ = 0.9, 10 layers, n = 50"
    checks = [
        Check.of(NAME, f"{what}: MSVE constructed, τ = 6", emerged.constructed()),
        Check.of(NAME, f"{what}: MSVE zero", emerged.zero()),
    ]
    twice = [replace(t, num_layers=2 * emerged.config.num_layers) for t in emerged.transformers]
    deeper = [layer_errors(transformer, emerged.trajectory)[-1].mean() for transformer in twice]
    rows = zip(emerged.trained(), deeper, emerged.ratios(), emerged.cosines(), strict=True)
    for seed, (error, error_20, ratio, cosine) in enumerate(rows):
        checks += [
            Check(NAME, f"{what}, seed {seed}: MSVE trained", error),
            Check(NAME, f"{what}, seed {seed}: MSVE trained, the layer repeated 20 times", error_20),
            Check(NAME, f"{what}, seed {seed}: V's target over reward", ratio[1]),
            Check(NAME, f"{what}, seed {seed}: V's value over reward", ratio[2]),
            Check(NAME, f"{what}, seed {seed}: cosine of A with the identity", cosine),
        ]
    return checks


@dataclass(frozen=True)
class LayerCurves:
    """MSVE after every layer, for one discount.

    Attributes:
        discount: γ.
        trained_layers: the number of layers in training.
        trained: one row a seed, (num_seeds, layers + 1).
        constructed: (layers + 1,).
        floor: MSVE of certainty equivalence.
    """

    discount: float
    trained_layers: int
    trained: FloatArray
    constructed: FloatArray
    floor: float


def layer_curves(emerged: Emerged, options: Options) -> LayerCurves:
    """MSVE by layers of trained and constructed Transformers, also written as CSV."""
    process = emerged.trajectory.process
    constructed = SoftmaxTransformer.construct(5, num_layers=SHOWN_LAYERS)
    floor = process.mean_square_value_error(emerged.trajectory.certainty_equivalence).mean()
    curves = LayerCurves(
        discount=emerged.config.discount,
        trained_layers=emerged.config.num_layers,
        trained=np.array(
            [
                layer_errors(replace(t, num_layers=SHOWN_LAYERS), emerged.trajectory).mean(1)
                for t in emerged.transformers
            ]
        ),
        constructed=layer_errors(constructed, emerged.trajectory).mean(1),
        floor=float(floor),
    )
    columns = {"layer": np.arange(SHOWN_LAYERS + 1), "constructed": curves.constructed}
    columns |= {f"trained, seed {seed}": curve for seed, curve in enumerate(curves.trained)}
    write_curves(options.out / f"in-context-td-layers-{curves.discount}.csv", columns)
    return curves


def expected_updates(trained: SoftmaxTransformer) -> list[Check]:
    """The norm of the expected update at TD's own parameters, with two kernels, and where training ended."""
    kinds = {
        "constructed, τ = 6": SoftmaxTransformer.construct(5, num_layers=1),
        "constructed, τ = 3": SoftmaxTransformer.construct(5, num_layers=1, inverse_temperature=3.0),
        "trained, seed 0": trained,
    }
    checks = []
    for layers, n in ((3, 50), (10, 50), (30, 50), (10, 200), (30, 200)):
        # In groups of 50, whose attention fits into the cache.
        groups = [sample(50, n, discount=0.5, features="random", seed=seed) for seed in range(20)]
        for kind, transformer in kinds.items():
            deep = replace(transformer, num_layers=layers)
            norm, error = _norm_of_mean(np.array([expected_update(deep, group) for group in groups]))
            what = f"norm of the expected update, {kind}, {layers} layers, n = {n}"
            checks.append(Check(NAME, what, norm, standard_error=error))
    return checks


def _norm_of_mean(vectors: FloatArray) -> tuple[float, float]:
    """The norm of an expectation from i.i.d. vectors, and its standard error.

    The squared norm is the mean inner product of different vectors, which their scatter does not bias; the
    error is the jackknife's.
    """

    def norm(v: FloatArray) -> float:
        total = v.sum(0)
        return float(np.sqrt(max(total @ total - (v * v).sum(), 0.0) / (len(v) * (len(v) - 1))))

    count = len(vectors)
    without = [norm(np.delete(vectors, i, axis=0)) for i in range(count)]
    return norm(vectors), float(np.std(without) * np.sqrt(count - 1))


def regrets(trained: SoftmaxTransformer) -> list[Check]:
    """Online: what agents lose to certainty equivalence in 100 steps."""
    trajectory = sample(200, 100, discount=0.5, features="random", seed=3)
    agents = {
        "zero": ZeroValue(),
        "TD(0)": TD0(),
        "LSTD": LSTD(),
        "constructed Transformer, τ = 6": InContextTransformer(
            SoftmaxTransformer.construct(5, num_layers=10)
        ),
        "trained Transformer, seed 0": InContextTransformer(trained),
    }
    return [
        Check.of(
            NAME,
            f"regret against certainty equivalence, 100 steps, γ = 0.5: {name}",
            value_regret(predict(agent, trajectory), trajectory),
        )
        for name, agent in agents.items()
    ]
