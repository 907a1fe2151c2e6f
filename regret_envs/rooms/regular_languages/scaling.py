"""What the theorems say of the largest length L and of λ: rates, and what the second phase needs."""

from __future__ import annotations

import math

import numpy as np

from regret_envs.arrays import FloatArray, IntArray
from regret_envs.benchmarks.reproduce.checks import Check, Reference, Report
from regret_envs.rooms.regular_languages.runs import NUM_STEPS, STEP_SIZE, T0, TEMPERATURE, Run, cosine
from regret_envs.rooms.regular_languages.training import max_margin, train
from regret_envs.rooms.regular_languages.transformer import OneLayerTransformer, even_pairs_set

_LENGTHS = (4, 6, 8, 12)
_STEPS = 400


def by_length(name: str) -> Report:
    """t_0, the lead of attention there and ‖u*‖ for L = 4, 6, 8, 12, each with its exponent in L.

    Args:
        name: of the reproduction.
    """
    right, leads, norms = (np.empty(len(_LENGTHS)) for _ in range(3))
    for i, length in enumerate(_LENGTHS):
        data = even_pairs_set(length)
        model = OneLayerTransformer(data.max_length, temperature=TEMPERATURE)
        trajectory = train(model, data, num_steps=_STEPS, step_size=STEP_SIZE, attention_steps=T0, keep=[T0])
        right[i] = math.nan if trajectory.first_step_right is None else trajectory.first_step_right
        at_t0 = trajectory.models[T0]
        negatives = (data.labels < 0) & (data.lengths >= 2)
        leads[i] = (at_t0.scores(data)[1] - 1 / data.lengths)[negatives].min()
        norms[i] = np.linalg.norm(max_margin(at_t0.features(data), data.labels))
    boundary = float(TEMPERATURE ** (1 / 3))
    at_6 = norms[_LENGTHS.index(6)]
    horizon = TEMPERATURE / (3 * at_6 * STEP_SIZE * 6)
    lengths = "L = 4, 6, 8, 12"
    checks = [
        *(
            Check(name, f"L = {length}: step from which on all are right", step)
            for length, step in zip(_LENGTHS, right, strict=True)
        ),
        Check(
            name,
            f"exponent in L of that step, {lengths}",
            _exponent(right),
            published=Reference("-1.00", "arXiv 2505.00926, t_0 = O(1/(η L))"),
        ),
        Check(
            name,
            f"exponent in L of the least lead φ_2 − 1/L on negatives at t = {T0}, {lengths}",
            _exponent(leads),
            published=Reference("-1.00", "arXiv 2505.00926, theorem 4.1: Ω(η² t² / L)"),
        ),
        *(
            Check(
                name,
                f"L = {length}: norm of u* of t_0",
                norm,
                independent=Reference("151", "study of regular languages") if length == 6 else None,
            )
            for length, norm in zip(_LENGTHS, norms, strict=True)
        ),
        Check(name, f"exponent in L of that norm, {lengths}", _exponent(norms)),
        Check(name, "L = 6: norm of u* over λ^(1/3) (002, appendix B.2: O(1))", at_6 / boundary),
        Check(name, "L = 6: steps until the T of appendix B.2", horizon),
    ]
    notes = [
        f"The second phase: appendix B.2 needs ‖u*‖ = O(λ^(1/3)) and lets it end at T = λ / (3 ‖u*‖ η L). At "
        f"L = 6, ‖u*‖ is {at_6:.0f} where λ^(1/3) is {boundary:.2f}, and T is {horizon:.2g} steps, before "
        f"t_0 = {T0}: as stated it is empty.",
    ]
    return Report(checks, notes)


def theorem_constants(name: str, even_pairs: Run, chain: Run) -> list[Check]:
    """The constant of theorem 4.5, and theorems 5.1–5.3 for the chain of thought.

    Args:
        name: of the reproduction.
        even_pairs: the reference run.
        chain: parity by chain of thought, regularized.
    """
    checks = []
    for theorem, what, run in (("4.5", "even pairs", even_pairs), ("5.3", "parity-cot", chain)):
        t, data = run.trajectory, run.data
        start = t.models[T0]
        direction = max_margin(start.features(data), data.labels)
        steps = np.arange(T0, NUM_STEPS + 1)
        scale = data.max_length * float(direction @ direction) / (STEP_SIZE * np.sqrt(steps))
        checks.append(
            Check(
                name,
                f"{what}: largest loss · η √t / (L ‖u*‖²), t ≥ t_0 (theorem {theorem}: O(1))",
                float((t.losses[steps] / scale).max()),
            )
        )
        if run is chain:
            last = t.models[NUM_STEPS]
            drift = float(np.linalg.norm(last.attention - start.attention))
            lead = _lead(start.scores(data), data.labels, data.lengths)
            checks += [
                Check(name, f"{what}: least lead of attention at t_0 (theorem 5.1)", lead),
                Check(name, f"{what}: norm of u* of t_0", float(np.linalg.norm(direction))),
                Check(name, f"{what}: norm of W − W(t_0) at t = {NUM_STEPS:,} (theorem 5.2: O(1))", drift),
                Check(
                    name,
                    f"{what}: cos(u, u* of t_0) at t = {NUM_STEPS:,} (theorem 5.2: to 1)",
                    cosine(t.heads[NUM_STEPS], direction),
                ),
            ]
    return checks


def _lead(scores: FloatArray, labels: IntArray, lengths: IntArray) -> float:
    """The least over sequences of how far the favored token's attention is above 1/L."""
    return float(
        min(
            (scores[position] - 1 / lengths)[(lengths >= 2) & (labels == label)].min()
            for position, label in ((0, 1), (1, -1))
        )
    )


def _exponent(values: FloatArray) -> float:
    return float(np.polyfit(np.log(_LENGTHS), np.log(values), 1)[0])
