"""Softmax TD in the forward pass: what it equals, where it converges, how fast, and what is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.reproduce.checks import Check, Options, Reference, write_curves
from regret_envs.rooms.policy_evaluation.markov import Context, FeatureLaw, Trajectory, boyan_chains
from regret_envs.rooms.policy_evaluation.softmax_td import (
    SoftmaxTransformer,
    prompt,
    prompt_layers,
    weighted_softmax_td,
)

NAME = "in-context-td"
PROTOTYPE = "prototype"
"""Who measured what the rows call independent; the paper, as we have it, has no numbers."""
SHOWN_LAYERS = 20
_LENGTHS = (25, 50, 100, 200, 400)


def sample(num_runs: int, n: int, *, discount: float, features: FeatureLaw, seed: int = 0) -> Trajectory:
    """A trajectory of n transitions of every one of `num_runs` fresh processes with 5 states."""
    rng = np.random.default_rng(seed)
    return boyan_chains(num_runs, rng=rng, discount=discount, features=features).sample(n, rng=rng)


def layer_errors(transformer: SoftmaxTransformer, trajectory: Trajectory) -> FloatArray:
    """MSVE after every layer, shape (num_layers + 1, num_runs)."""
    return trajectory.process.mean_square_value_error(transformer.state_values(trajectory))


def _all_left(trajectory: Trajectory) -> FloatArray:
    """Which processes had all their states left at least once, so that the operator is invertible; bool."""
    states = np.arange(trajectory.process.num_states)
    return (trajectory.states[:, :-1, None] == states).any(1).all(1)


def _relative(ours: FloatArray, exact: FloatArray) -> FloatArray:
    """The relative difference in sup norm of every run."""
    return np.abs(ours - exact).max(1) / np.abs(exact).max(1)


def equivalences() -> list[Check]:
    """Weighted softmax TD, linear TD and tabular TD, each as a plain loop, against the Transformer."""
    discount, layers = 0.9, 10
    context = sample(20, 50, discount=discount, features="random").context
    constructed = SoftmaxTransformer.construct(5, num_layers=layers)
    loop = weighted_softmax_td(
        context, discount=discount, inverse_temperature=6.0, step_size=1.0, num_steps=layers
    )
    shift = prompt_layers(constructed, prompt(context), discount=discount)[:, -1]
    heads = prompt_layers(constructed, prompt(context), discount=discount, form="two-head")[:, -1]
    linear = SoftmaxTransformer.construct(5, num_layers=layers, inverse_temperature=1.0, step_size=1 / 50)
    identity = prompt_layers(linear, prompt(context), discount=discount, attention="identity")[:, -1]
    once = constructed.layer_values(context, discount=discount)[-1]
    identity_td = _linear_td(context, discount, layers)
    pairs = [
        ("forward pass against a plain loop of weighted softmax TD", shift, loop),
        ("attention computed once against in every layer", once, shift),
        ("two-head form against shift form", heads, shift),
        ("identity attention, α/n, against linear TD", identity, identity_td),
    ]
    checks = [
        Check(NAME, f"{what}: largest relative difference", _relative(a, b).max(), exact=0.0, tolerance=1e-10)
        for what, a, b in pairs
    ]
    # A kernel that is not quite sharp goes another way to the one fixed point that it shares with tabular TD:
    # after 10 layers with γ = 0.5 both have come close to it, and so to each other.
    trajectory = sample(500, 100, discount=0.5, features="one_hot")
    tabular = _tabular_td(trajectory, layers)
    for tau, measured in ((6.0, "1.4e-4"), (12.0, "3.4e-7"), (20.0, "1.1e-10")):
        sharp = SoftmaxTransformer.construct(5, num_layers=layers, inverse_temperature=tau)
        values = sharp.layer_values(trajectory.context, discount=0.5)[1:]
        difference = np.array([_relative(ours, theirs) for ours, theirs in zip(values, tabular, strict=True)])
        what = f"one-hot against count-normalized tabular TD, τ = {tau:g}: relative difference"
        checks += [
            Check.of(
                NAME, f"{what}, mean, 10 layers", difference[-1], independent=Reference(measured, PROTOTYPE)
            ),
            Check(NAME, f"{what}, largest over 1 … 10 layers and 500 processes", difference.max()),
        ]
    return checks


def linear_special_case() -> list[Check]:
    """Softmax attention becomes linear attention where it is flat, on centered features and to order τ².

    Over n tokens softmax(τ s) = (1 + τ (s − mean s)) / n + O(τ²), and the even orders of τ and −τ are equal.
    So (softmax(τ s) − softmax(−τ s)) / 2τ is (s − mean s) / n up to a relative error of O(τ²): two heads of
    opposite sign make a layer of linear TD whose features have their mean over the prompt taken off.
    """
    context = sample(20, 50, discount=0.9, features="random").context
    # Twice as flat is four times as near.
    coarse, fine = (_flat_softmax_error(context, tau, discount=0.9, num_steps=10) for tau in (0.02, 0.01))
    what = "two flat softmax heads, ±τ, against linear TD on centered features"
    return [
        Check(NAME, f"{what}: largest relative difference, τ = 0.01", fine, exact=0.0, tolerance=1e-3),
        Check(NAME, f"{what}: order in τ of that", np.log2(coarse / fine), exact=2.0, tolerance=0.02),
    ]


def _flat_softmax_error(context: Context, tau: float, *, discount: float, num_steps: int) -> float:
    """The largest relative difference in sup norm after `num_steps` layers, both as plain loops."""
    x, rewards = context.features, context.rewards
    scores = x[:, :-1] @ x.transpose(0, 2, 1)
    linear = (scores - scores.mean(1, keepdims=True)) / scores.shape[1]
    weights = [np.exp(sign * tau * scores) for sign in (1, -1)]
    plus, minus = (w / w.sum(1, keepdims=True) for w in weights)
    values = []
    for kernel in ((plus - minus) / (2 * tau), linear):
        v = np.zeros(scores.shape[::2])
        for _ in range(num_steps):
            errors = rewards + discount * v[:, 1:] - v[:, :-1]
            v = v + (errors[:, None] @ kernel)[:, 0]
        values.append(v)
    return float(_relative(*values).max())


def _linear_td(context: Context, discount: float, num_steps: int) -> FloatArray:
    """w ← w + (1/n) Σ_k δ_k x(S_{k−1}), as a plain loop; returns ⟨w, x(S_j)⟩."""
    values = []
    for x, rewards in zip(context.features, context.rewards, strict=True):
        w = np.zeros(x.shape[1])
        for _ in range(num_steps):
            step = np.zeros_like(w)
            for k, reward in enumerate(rewards):
                step += (reward + discount * np.dot(w, x[k + 1]) - np.dot(w, x[k])) * x[k]
            w = w + step / len(rewards)
        values.append(x @ w)
    return np.array(values)


def _tabular_td(trajectory: Trajectory, num_steps: int) -> FloatArray:
    """v(s) ← v(s) + the mean of δ_k over k with S_{k−1} = s, as a plain loop.

    Returns:
        v(S_j) after every step, shape (num_steps, num_runs, n + 1).
    """
    values = np.empty((num_steps, *trajectory.states.shape))
    for run, (states, rewards) in enumerate(zip(trajectory.states, trajectory.context.rewards, strict=True)):
        counts = np.bincount(states[:-1], minlength=trajectory.process.num_states)
        v = np.zeros(len(counts))
        for step in range(num_steps):
            errors = rewards + trajectory.process.discount * v[states[1:]] - v[states[:-1]]
            v = v + np.bincount(states[:-1], errors, len(counts)) / np.maximum(counts, 1)
            values[step, run] = v[states]
    return values


def convergence() -> list[Check]:
    """The fixed point, and the contraction on the way there."""
    trajectory = sample(1000, 100, discount=0.9, features="one_hot")
    left = _all_left(trajectory)
    deep = SoftmaxTransformer.construct(5, num_layers=80, inverse_temperature=9.0)
    distance = _relative(deep.state_values(trajectory)[-1], trajectory.certainty_equivalence)[left]
    what = f"distance to (I − γp̂)⁻¹ r̂, γ = 0.9, τ = 9, 80 layers, {left.sum()} processes"
    checks = [
        Check.of(NAME, f"{what}: mean", distance, independent=Reference("2.1e-4", PROTOTYPE)),
        Check(NAME, f"{what}: largest", distance.max()),
    ]
    held, met = 0, 0
    for discount in (0.3, 0.5, 0.9):
        trajectory = sample(500, 100, discount=discount, features="one_hot", seed=1)
        visits = (trajectory.states[:, :-1, None] == np.arange(5)).sum(1)
        for tau in (3.0, 6.0, 9.0):
            layers = SoftmaxTransformer.construct(5, num_layers=10, inverse_temperature=tau)
            distance = np.abs(layers.state_values(trajectory) - trajectory.certainty_equivalence).max(2)
            others = visits.sum(1, keepdims=True) - visits
            diagonal = visits * np.exp(tau) / (visits * np.exp(tau) + others)
            margin = diagonal.min(1) - (1 + discount) / 2
            bound = (1 - 2 * margin) * distance[:-1] + 1e-12
            meets = margin > 0
            met += int(meets.sum())
            held += int(((distance[1:] <= bound).all(0) & meets).sum())
    what = f"processes that contract by 1 − 2C in every layer, of {met} that meet the condition, α = 1"
    checks.append(Check(NAME, what, held / met, exact=1.0))
    # Without the condition nothing is promised: with random features a state may attend to another one most.
    layers = SoftmaxTransformer.construct(5, num_layers=80)
    for n in (5, 50):
        trajectory = sample(1000, n, discount=0.5, features="random", seed=2)
        zero = trajectory.process.mean_square_value_error(np.zeros_like(trajectory.process.values))
        worse = layer_errors(layers, trajectory)[-1] > zero
        what = f"random features, n = {n}, 80 layers, τ = 6: share of processes worse than zero"
        checks.append(Check.of(NAME, what, worse))
    return checks


@dataclass(frozen=True)
class ErrorFloor:
    """What many layers leave: n sets it, unless the kernel is flat.

    Attributes:
        checks: the rows.
        curves: mean RMSVE after every layer, by name, the control last; each (SHOWN_LAYERS + 1,).
        lengths: n.
        by_group: mean RMSVE after the last layer in groups of processes, (len(lengths), num_groups).
    """

    checks: Sequence[Check]
    curves: Mapping[str, FloatArray]
    lengths: Sequence[int]
    by_group: FloatArray


def error_floor(options: Options) -> ErrorFloor:
    """The floor over n = 25 … 400."""
    groups, size = 10, 100
    deep = SoftmaxTransformer.construct(5, num_layers=SHOWN_LAYERS, inverse_temperature=9.0)
    flat = SoftmaxTransformer.construct(5, num_layers=SHOWN_LAYERS, inverse_temperature=0.0)
    roots = []
    for n in _LENGTHS:
        trajectory = sample(groups * size, n, discount=0.5, features="one_hot", seed=n)
        roots.append(np.sqrt(layer_errors(deep, trajectory)))
    stalled = np.sqrt(layer_errors(flat, trajectory))
    by_group = np.array(roots)[:, -1].reshape(len(_LENGTHS), groups, size).mean(2)
    slopes = np.polyfit(np.log(_LENGTHS), np.log(by_group), 1)[0]
    curves = {f"n = {n}": root.mean(1) for n, root in zip(_LENGTHS, roots, strict=True)}
    curves["τ = 0, n = 400"] = stalled.mean(1)
    write_curves(options.out / "in-context-td-floor.csv", {"layer": np.arange(SHOWN_LAYERS + 1), **curves})
    checks = [
        Check.of(
            NAME,
            f"error floor over n = 25 … 400: slope of log RMSVE, {SHOWN_LAYERS} layers",
            slopes,
            independent=Reference("-0.52", PROTOTYPE),
        ),
        Check.of(
            NAME, "control with τ = 0, n = 400: RMSVE", stalled[-1], independent=Reference("0.373", PROTOTYPE)
        ),
        Check.of(NAME, "control with τ = 0, n = 400: MSVE", stalled[-1] ** 2),
    ]
    return ErrorFloor(checks, curves, _LENGTHS, by_group)


def by_layers() -> list[Check]:
    """MSVE by layers."""
    trajectory = sample(4000, 100, discount=0.5, features="one_hot", seed=2)
    errors = layer_errors(SoftmaxTransformer.construct(5, num_layers=10), trajectory)
    measured = {0: "0.545", 1: "0.107", 3: "0.0075", 5: "0.0024", 10: "0.0022"}
    return [
        Check.of(
            NAME,
            f"MSVE after {layer} layers, one-hot, n = 100, γ = 0.5, τ = 6",
            errors[layer],
            independent=Reference(value, PROTOTYPE),
            lower_is_better=True,
        )
        for layer, value in measured.items()
    ]
