"""Figure 1: k*(d, T), how it scales, that it is the only one, and that the whole gradient vanishes there."""

from __future__ import annotations

import numpy as np
import torch

from regret_envs.agents.attention.k_star import Hindsight, KStar, compute_k_star, k_star
from regret_envs.agents.attention.linear import LinearAttention
from regret_envs.agents.attention.objectives import regret_loss
from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.reproduce.checks import Check, Options, Reference, Report, write_curves
from regret_envs.benchmarks.reproduce.drawing import COLORS, legend_below, log_axes, panels, save

_ACTIONS = (2, 3, 5, 10, 20)
_HORIZONS = (10, 20, 40, 80, 160, 320)
_D, _T = 3, 20
_CAPTION = """
The step size k*(d, T) at which the regret loss of one softmax head is stationary. (a) k* by horizon for
d = 2, 3, 5, 10 and 20 actions, bars: ± one standard error; dotted: slope −1/2, that of theorem 1 of
arXiv 2607.23333. (b) The multi-head objective at d = 3, T = 20 by step size; dotted: k* of a single
head. (c) k* √T, which tends to a constant; colors as in (a).
"""


def run(options: Options) -> Report:
    """The grid of k*, its slopes, signs of L′, the multi-head objective, and the full gradient."""
    grid: dict[tuple[int, int], KStar] = {}
    for d in _ACTIONS:
        options.say(f"k* at d = {d}")
        for horizon in _HORIZONS:
            table = k_star(d, horizon)
            grid[d, horizon] = table if options.quick else compute_k_star(d, horizon, seed=1)
    checks = [_slope(d, grid) for d in _ACTIONS]
    single = sum(_changes_sign_once(d, t, float(k)) for (d, t), k in grid.items())
    checks.append(
        Check(
            "fig1",
            f"problems of {len(grid)} where L' < 0 below k* and > 0 above",
            single,
            exact=len(grid),
        )
    )
    k = k_star(_D, _T)
    checks.append(
        Check(
            "fig1",
            f"k*({_D}, {_T})",
            k,
            standard_error=k.standard_error,
            independent=Reference("0.4495 ± 0.0027", "prototype"),
        )
    )
    steps = np.linspace(0.4, 1.8, 15) * k
    options.say("the multi-head objective, in chunks")
    values, slopes = multi_head_curve(steps, chunks=40 if options.quick else 200)
    minimizer, error = multi_head_minimizer(steps, slopes)
    checks.append(
        Check(
            "fig1",
            f"minimizer of the multi-head objective, d = {_D}, T = {_T}",
            minimizer,
            standard_error=float(np.hypot(error, k.standard_error)),
            exact=float(k),
        )
    )
    options.say("the full gradient")
    chunks = 50 if options.quick else 200
    at, beyond = (np.abs(gradient_z_scores(scale * k, chunks)).max() for scale in (1, 2))
    checks += [
        Check(
            "fig1",
            "largest |z| of the 15 partial derivatives at (−k*I, 0, v·1)",
            at,
            at_most=4.0,
            reason="theorem 1: all vanish, and 15 normals exceed 4 once in a thousand times",
        ),
        Check(
            "fig1",
            "the same at 2k*",
            beyond,
            at_least=10.0,
            reason="the test must see that 2k* is not stationary",
        ),
        *_local_minimum(float(k)),
    ]
    _draw(options, grid, steps, values.mean(0))
    notes = [
        "The dimensions and horizons of the grid are ours.",
        "L'(k) is estimated by Stein's lemma from single rounds (Hindsight), on common random numbers; "
        + ("the shipped table is used." if options.quick else "computed anew, not from the shipped table."),
    ]
    return Report(checks, notes)


def _slope(d: int, grid: dict[tuple[int, int], KStar]) -> Check:
    """The log–log slope in T by weighted least squares; −1/2 is the limit."""
    x = np.log(_HORIZONS)
    y = np.log([grid[d, t] for t in _HORIZONS])
    errors = np.array([grid[d, t].standard_error / grid[d, t] for t in _HORIZONS])
    weights = 1 / errors**2
    centered = x - np.average(x, weights=weights)
    slope = (weights * centered * y).sum() / (weights * centered**2).sum()
    error = 1 / np.sqrt((weights * centered**2).sum())
    name = f"slope of log k* in log T, d = {d}"
    return Check(
        "fig1",
        name,
        slope,
        standard_error=error,
        published=Reference("-0.500", "arXiv 2607.23333, theorem 1, up to logarithms"),
    )


def _changes_sign_once(d: int, horizon: int, k: float) -> bool:
    """Whether L′ < 0 on all of 0.02 k* … 0.9 k* and > 0 on all of 1.1 k* … 30 k*."""
    draw = Hindsight.sample(d, horizon, 1 << 14, np.random.default_rng([d, horizon]))
    below = all(draw.derivative(c * k).mean() < 0 for c in np.geomspace(0.02, 0.9, 12))
    return below and all(draw.derivative(c * k).mean() > 0 for c in np.geomspace(1.1, 30, 12))


def multi_head_curve(
    steps: FloatArray, *, chunks: int, sequences: int = 500, seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """E[(Σ_j R_j)²] of d heads with step k on independent blocks, and its derivative in k.

    Plain Monte Carlo over whole sequences, in chunks: all at once would take 20 GB. As E[Σ_t ⟨p_t, x_t⟩]
    and the comparator do not depend on k, what is averaged is the squared regret with the comparator's
    mean taken off, which has less noise.

    Args:
        steps: k, shape (steps,).
        chunks: independent chunks.
        sequences: in a chunk.
        seed: of the sequences, the same for every step.

    Returns:
        Values and derivatives, arrays (chunks, steps).
    """
    values, slopes = np.empty((2, chunks, len(steps)))
    for chunk, rng in enumerate(np.random.default_rng(seed).spawn(chunks)):
        blocks = rng.standard_normal((sequences, _D, _T, _D))
        before = blocks.cumsum(2) - blocks
        best = blocks.sum(2).min(-1).sum(1)
        for i, step in enumerate(steps):
            weights = np.exp(-step * before)
            policies = weights / weights.sum(-1, keepdims=True)
            changes = policies * ((policies * before).sum(-1, keepdims=True) - before)
            played, change = ((p * blocks).sum((1, 2, 3)) for p in (policies, changes))
            off = played - (best - best.mean())
            values[chunk, i] = (off**2).mean() + best.mean() ** 2
            slopes[chunk, i] = 2 * (off * change).mean()
    return values, slopes


def multi_head_minimizer(steps: FloatArray, slopes: FloatArray) -> tuple[float, float]:
    """Where the mean derivative is zero, and the standard error of that; arguments as above."""
    mean = slopes.mean(0)
    root = float(np.interp(0.0, mean, steps))
    near = int(np.abs(steps - root).argmin())
    noise = slopes[:, near].std(ddof=1) / np.sqrt(len(slopes))
    return root, float(noise / np.gradient(mean, steps)[near])


def gradient_z_scores(step_size: float, chunks: int, *, shift: float = 0.3) -> FloatArray:
    """z-scores of ∂E[R²] in (V, v_c, a) at (−kI, v·1, 0), over independent chunks of 1,000 sequences.

    Args:
        step_size: k.
        chunks: their number.
        shift: v.

    Returns:
        Shape (d² + 2d,).
    """
    model = LinearAttention.from_step_size(step_size, _D)
    with torch.no_grad():
        model.value_bias.add_(shift)
    gradients = []
    for rng in np.random.default_rng(3).spawn(chunks):
        losses = torch.from_numpy(rng.standard_normal((1000, _T, _D)))
        loss = regret_loss(model(losses), losses)
        parts = torch.autograd.grad(loss, [model.value, model.value_bias, model.score])
        gradients.append(torch.cat([part.flatten() for part in parts]).numpy())
    array = np.array(gradients)
    errors = array.std(0, ddof=1) / np.sqrt(chunks)
    # Softmax is blind to v_c along 1: there the derivative is 0 up to rounding.
    scores: FloatArray = array.mean(0) / np.maximum(errors, 1e-9)
    return scores


def _local_minimum(k: float) -> list[Check]:
    """L(c k*) − L(k*) > 0 on either side, on the same random numbers."""
    draw = Hindsight.sample(_D, _T, 1 << 17, np.random.default_rng(4))
    checks = []
    for factor in (0.8, 1.25):
        rise = draw.objective(factor * k) - draw.objective(k)
        error = float(rise.std() / np.sqrt(len(rise)))
        checks.append(
            Check(
                "fig1",
                f"L({factor:g} k*) − L(k*)",
                float(rise.mean()),
                standard_error=error,
                at_least=4 * error,
                reason="arXiv 2607.23333, 3.1: k* is a local minimizer, by 4 errors",
            )
        )
    return checks


def _draw(
    options: Options, grid: dict[tuple[int, int], KStar], steps: FloatArray, values: FloatArray
) -> None:
    figure, (left, middle, right) = panels(3)
    for i, d in enumerate(_ACTIONS):
        curve = np.array([grid[d, t] for t in _HORIZONS])
        errors = [grid[d, t].standard_error for t in _HORIZONS]
        left.errorbar(
            _HORIZONS, curve, yerr=errors, marker="o", markersize=3, color=COLORS[i], label=f"d = {d}"
        )
        right.plot(_HORIZONS, curve * np.sqrt(_HORIZONS), marker="o", markersize=3, color=COLORS[i])
    reference = np.array(_HORIZONS, dtype=float)
    left.plot(reference, 1.5 / np.sqrt(reference), "k:", label="slope −1/2")
    log_axes(left, x=_HORIZONS)
    left.set(xlabel="horizon T", ylabel="k*(d, T)")
    legend_below(left)
    middle.plot(steps, values, color=COLORS[1])
    middle.axvline(grid[_D, _T], color="k", linestyle=":", label="single-head k*")
    middle.set(xlabel="step size k", ylabel="multi-head objective")
    legend_below(middle, 1)
    log_axes(right, x=_HORIZONS, y=False)
    right.set(xlabel="horizon T", ylabel="k* √T")
    save(figure, options.out / "fig1.png", _CAPTION)
    write_curves(
        options.out / "fig1.csv",
        {
            "num_actions": [d for d, _ in grid],
            "horizon": [t for _, t in grid],
            "k_star": [float(k) for k in grid.values()],
            "standard_error": [k.standard_error for k in grid.values()],
        },
    )
    write_curves(options.out / "fig1_multi_head.csv", {"k": steps, "objective": values})
