"""How a one-layer Transformer learns even pairs and parity: what holds of the published account.

Huang, Liang and Yang, "How Transformers Learn Regular Language Recognition: A Theoretical Study on
Training Dynamics and Implicit Bias", 2025. By their account training has two phases: until t_0 the
attention grows and makes the data separable, then it stays and the head turns to the max-margin
direction.

All is deterministic full-batch gradient descent in float64, except the rows with a standard error. The seed
prints rates and no measurements; measurements of an independent implementation are named as such.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.reproduce.checks import Check, Options, Reference, Report, write_curves
from regret_envs.rooms.regular_languages import languages, scaling
from regret_envs.rooms.regular_languages.runs import (
    NUM_SEEDS,
    NUM_STEPS,
    STEP_SIZE,
    STREAM_ROUNDS,
    T0,
    TEMPERATURE,
    Run,
    Streams,
    cosine,
    curves,
    spaced,
    stream_losses,
    train_run,
)
from regret_envs.rooms.regular_languages.training import max_margin, train, train_head
from regret_envs.rooms.regular_languages.transformer import (
    OneLayerTransformer,
    chain_of_thought,
    even_pairs_set,
    parity_chain_set,
)

NAME = "regular-languages"
_HEAD_STEPS, _CHAIN_STEPS, _ESCAPE_STEPS = 300_000, 5_000, 20_000


def run(options: Options) -> Report:
    """The whole reproduction. Nothing is stored, so `quick` and `fresh` change nothing."""
    options.say(f"even pairs, {NUM_STEPS:,} steps")
    reference = train_run("even-pairs", even_pairs_set(), also_keep=(250, 600, 1_000))
    options.say("even pairs at other temperatures, and by plain gradient descent")
    others = [
        train_run("even-pairs-lambda-10", even_pairs_set(), temperature=10.0),
        train_run("even-pairs-lambda-18", even_pairs_set(), temperature=18.0),
        train_run("even-pairs-lambda-36", even_pairs_set(), temperature=36.0),  # L², as the theorems ask
        train_run("even-pairs-plain", even_pairs_set(), attention_steps=0),
    ]
    options.say("parity by chain of thought, with and without the regularizer")
    chain = train_run("parity-cot", parity_chain_set(), also_keep=range(_CHAIN_STEPS + 1))
    reports = [
        _gradient(),
        _phase_1(reference),
        _phase_2(reference),
        _max_margin(reference),
        _truncated_chain(reference),
        _chain(chain),
        _saddle(),
        _separable_and_right(reference),
        _other_settings([reference, *others]),
        scaling.by_length(NAME),
        Report(scaling.theorem_constants(NAME, reference, chain)),
    ]
    options.say("one sequence after another: the streaming agents")
    streams = stream_losses(reference.trajectory.models[1_000])
    reports.append(_streaming(streams))
    runs = [reference, *others, chain]
    _write(options, {each.name: curves(each) for each in runs}, streams)
    return Report(
        [check for report in reports for check in report.checks],
        [note for report in reports for note in report.notes],
    )


def _write(options: Options, by_run: dict[str, dict[str, FloatArray]], streams: Streams) -> None:
    for name, columns in by_run.items():
        write_curves(options.out / f"{name}.csv", columns)
    try:
        from regret_envs.rooms.regular_languages import figures as figures
    except ModuleNotFoundError as error:
        options.say(f'{error.name} is not installed, so nothing is drawn: pip install "regret-envs[plot]"')
        return
    for name, columns in by_run.items():
        figures.draw_run(options.out / f"{name}.png", name, columns)
    figures.draw_streams(options.out / "streaming.png", streams)


def _gradient() -> Report:
    """The gradient against central differences at a random point, and the first step."""
    data = even_pairs_set()
    rng = np.random.default_rng(0)
    model = OneLayerTransformer(temperature=TEMPERATURE)
    model.head[:] = rng.standard_normal(model.head.shape)
    model.attention[:] = rng.standard_normal(model.attention.shape)
    h = 1e-6
    errors, sizes = [], []
    for parameters, gradient in zip((model.head, model.attention), model.gradient(data)[1:], strict=True):
        sizes.append(np.abs(gradient).max())
        for i in np.ndindex(parameters.shape):
            there, losses = parameters[i], []
            for step in (h, -h):
                parameters[i] = there + step
                losses.append(data.weights @ np.logaddexp(0, -data.labels * model.outputs(data)))
            parameters[i] = there
            errors.append(abs(gradient[i] - (losses[0] - losses[1]) / (2 * h)))
    error = float(max(errors) / max(sizes))
    first = OneLayerTransformer(temperature=TEMPERATURE)
    train(first, data, num_steps=1, step_size=STEP_SIZE)
    expected = np.r_[STEP_SIZE / 4, STEP_SIZE / 4, np.zeros(10)]
    off = max(np.abs(first.head - expected).max(), np.abs(first.attention).max())
    return Report(
        [
            Check(
                NAME, "gradient against finite differences, relative error", error, exact=0.0, tolerance=1e-6
            ),
            Check(
                NAME,
                "after step 1, distance from u(first token) = η/4, all else 0",
                off,
                exact=0.0,
                tolerance=1e-12,
            ),
        ]
    )


def _phase_1(reference: Run) -> Report:
    t, data = reference.trajectory, reference.data
    swap = np.arange(2 * data.max_length) ^ 1
    asymmetry = max(
        max(np.abs(m.head - m.head[swap]).max(), np.abs(m.attention - m.attention[swap][:, swap]).max())
        for m in t.models.values()
    )
    early = np.arange(3, 31)
    first = _slope(np.log(early), np.log(t.heads[early, 0]))
    second = _slope(np.log(early), np.log(-t.heads[early, 2]))
    # Above the uniform score on the first token of positives and on the second token of negatives.
    scores, longer = t.models[T0].scores(data), data.lengths >= 2
    lead_1, lead_2 = (
        (scores[position] - 1 / data.lengths)[longer & (data.labels == label)].min()
        for position, label in ((0, 1), (1, -1))
    )
    return Report(
        [
            Check(NAME, "asymmetry under a ↔ b in u and W", asymmetry, exact=0.0, tolerance=1e-12),
            Check(NAME, "growth exponent of u_1, t = 3..30", first),
            Check(NAME, "growth exponent of −u_2, t = 3..30", second),
            *(
                Check(
                    NAME,
                    f"at t_0, least φ_{i} − 1/L on {sign}, L ≥ 2",
                    lead,
                    at_least=1e-12,
                    reason="arXiv 2505.00926, theorem 4.1: attention favors it, by more than rounding",
                )
                for i, sign, lead in ((1, "positives", lead_1), (2, "negatives", lead_2))
            ),
        ]
    )


def _phase_2(reference: Run) -> Report:
    t = reference.trajectory
    measured = {100: "3.6507", 600: "1.1023", 1_000: "0.3430", 3_000: "0.0504", 100_000: "0.00071"}
    losses = [
        Check(
            NAME,
            f"loss at t = {step:,}",
            t.losses[step],
            independent=Reference(loss, "prototype"),
            lower_is_better=True,
        )
        for step, loss in measured.items()
        if step <= NUM_STEPS
    ]
    exponent = _loss_exponent(reference)
    steps = spaced(1_000, 20_000)
    log_t, norms = np.log(steps), np.linalg.norm(t.heads[steps], axis=1)
    r_squared = float(np.corrcoef(log_t, norms)[0, 1] ** 2)
    return Report(
        [
            *losses,
            Check(NAME, "step from which on all 126 are right", _or_nan(t.first_step_right)),
            Check(
                NAME,
                "loss exponent, t = 1e4..1e5",
                exponent,
                published=Reference("-1.000", "arXiv 2505.00926, abstract"),
                at_most=-0.5,
                reason="arXiv 2505.00926, theorem 4.5: O(1/√t)",
            ),
            Check(NAME, "norm of u against ln t, 1e3..2e4, slope", _slope(log_t, norms)),
            Check(NAME, "norm of u against ln t, 1e3..2e4, R²", r_squared),
        ],
        [
            "The rate: the abstract says that the loss falls like 1/t, the theorem bounds it by 1/√t; "
            f"measured, it falls like t^{exponent:.2f}."
        ],
    )


def _max_margin(reference: Run) -> Report:
    """The implicit bias of the head where the attention does stay as it is at t_0, and where it does not."""
    data, model = reference.data, reference.trajectory.models[T0]
    features = model.features(data)
    direction = max_margin(features, data.labels)
    head = train_head(features, data.labels, data.weights, model.head, num_steps=_HEAD_STEPS, step_size=20.0)
    frozen = cosine(head, direction)
    both = cosine(reference.trajectory.heads[NUM_STEPS], direction)
    return Report(
        [
            Check(NAME, "attention frozen at t_0, 3e5 steps of 20: cos(u, u*)", frozen),
            Check(NAME, "both layers trained, t = 1e5: cos(u, u* of t_0)", both),
        ]
    )


def _truncated_chain(reference: Run) -> Report:
    checks = []
    chance: dict[str, Any] = {"independent": Reference("0.5", "prototype")}
    for step, expected in ((100, chance), (250, {"exact": 1.0})):
        model = reference.trajectory.models[step]
        for length in range(2, 7):
            tokens = languages.sequences(length)
            right = float(np.mean(chain_of_thought(model, tokens) == languages.parity(tokens)))
            quantity = f"truncated chain of thought, t = {step}, L = {length}: accuracy"
            checks.append(Check(NAME, quantity, right, **expected))
    return Report(checks)


def _chain(chain: Run) -> Report:
    t, tokens = chain.trajectory, languages.sequences(4)
    parity = languages.parity(tokens)
    wrong = [
        step
        for step in range(_CHAIN_STEPS + 1)
        if not t.all_right[step] or (chain_of_thought(t.models[step], tokens, truncate=False) != parity).any()
    ]
    step = wrong[-1] + 1 if wrong[-1] < _CHAIN_STEPS else math.nan
    return Report([Check(NAME, "parity-cot: step from which on all fit, parity 16/16", step)])


def _saddle() -> Report:
    """The chain of thought without its regularizer: from zero, and from small random starts."""
    data = parity_chain_set(regularized=False)
    model = OneLayerTransformer(data.max_length, temperature=TEMPERATURE)
    losses = train(model, data, num_steps=_CHAIN_STEPS, step_size=STEP_SIZE).losses
    change = float(np.abs(losses - losses[0]).max())
    gradient = max(np.abs(part).max() for part in model.gradient(data)[1:])
    escapes = []
    for seed in range(NUM_SEEDS):
        rng = np.random.default_rng(seed)
        model = OneLayerTransformer(data.max_length, temperature=TEMPERATURE)
        model.head[:] = 0.01 * rng.standard_normal(model.head.shape)
        model.attention[:] = 0.01 * rng.standard_normal(model.attention.shape)
        halved = train(model, data, num_steps=_ESCAPE_STEPS, step_size=STEP_SIZE).losses < losses[0] / 2
        escapes.append(float(np.argmax(halved)) if halved.any() else math.nan)
    name = "chain of thought alone"
    return Report(
        [
            Check(NAME, f"{name}, from 0: change of loss in {_CHAIN_STEPS:,} steps", change, exact=0.0),
            Check(NAME, f"{name}, from 0: largest entry of the gradient", gradient, exact=0.0),
            Check.of(NAME, f"{name}, from N(0, 0.01²): steps to half the loss", escapes),
        ],
        [
            "Without the regularizer the chain of thought is stuck because zero is a saddle: from "
            f"N(0, 0.01²) the loss is halved after {np.mean(escapes):,.0f} steps."
        ],
    )


def _separable_and_right(reference: Run) -> Report:
    """Whether attention stays after t_0, and what separability means there."""
    t, data = reference.trajectory, reference.data
    model = t.models[T0]
    norm = float(np.linalg.norm(model.attention))
    drift = float(np.linalg.norm(t.models[NUM_STEPS].attention - model.attention))
    margin = float(1 / np.linalg.norm(max_margin(model.features(data), data.labels)))
    accuracy = float(np.mean(data.labels * model.outputs(data) > 0))
    negatives = (data.lengths == 3) & (data.labels < 0)
    at_t0, at_600 = (
        float(np.mean(t.models[step].scores(data)[:, negatives].argmax(0) == 1)) for step in (T0, 600)
    )
    on_second = "L = 3, share of negatives with most attention on token 2"
    return Report(
        [
            Check(NAME, "norm of W at t_0", norm, independent=Reference("0.990", "prototype")),
            Check(NAME, "norm of W − W(t_0) at t = 1e5 (theorem: O(1))", drift),
            Check(NAME, "margin of the features at t_0", margin),
            Check(NAME, "accuracy at t_0", accuracy, independent=Reference("0.508", "prototype")),
            Check(NAME, f"{on_second}, t_0", at_t0),
            Check(NAME, f"{on_second}, t = 600", at_600),
        ],
        [
            f"Attention after t_0: published as stable; W moves by {drift:.3g} until t = 1e5, from a norm of "
            f"{norm:.2g} at t_0.",
            f"Separable is not yet right: at t_0 the features have a margin of {margin:.2g}, and "
            f"{accuracy:.0%} of the answers are right.",
            f"Attention on the second token: at L = 3 the largest in {at_t0:.0%} of the negatives at t_0, "
            f"and in {at_600:.0%} at t = 600.",
        ],
    )


def _other_settings(runs: Sequence[Run]) -> Report:
    checks = []
    for each in runs:
        t = each.trajectory
        checks += [
            Check(NAME, f"{each.name}: loss at t = 1e5", t.losses[NUM_STEPS]),
            Check(NAME, f"{each.name}: loss exponent, t = 1e4..1e5", _loss_exponent(each)),
            Check(NAME, f"{each.name}: step from which on all are right", _or_nan(t.first_step_right)),
        ]
    with_schedule, plain = runs[0].trajectory.losses[NUM_STEPS], runs[-1].trajectory.losses[NUM_STEPS]
    note = (
        "The schedule of two phases: the loss at t = 1e5 is "
        f"{with_schedule:.3g} with it and {plain:.3g} with plain gradient descent."
    )
    return Report(checks, [note])


def _streaming(streams: Streams) -> Report:
    """Labels are a function of the sequence: cumulative loss is regret to the best predictor in hindsight."""
    return Report(
        [
            Check.of(NAME, f"{env}, {agent}: regret in {STREAM_ROUNDS:,} rounds", losses.sum(1))
            for env, by_agent in streams.items()
            for agent, losses in by_agent.items()
        ]
    )


def _loss_exponent(each: Run) -> float:
    steps = spaced(10_000, NUM_STEPS)
    return _slope(np.log(steps), np.log(each.trajectory.losses[steps]))


def _slope(x: FloatArray, y: FloatArray) -> float:
    return float(np.polyfit(x, y, 1)[0])


def _or_nan(step: int | None) -> float:
    return math.nan if step is None else float(step)
