"""Regret as a training objective: E[h(R_T)] over loss sequences, differentiable.

Park et al., "Do LLM Agents Have Regret?", ICLR 2025 (regret loss); the swap-regret loss is that of
regret-trained multi-head attention. The regrets equal those of `regret_envs.metrics`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from regret_envs.names import lookup

TRANSFORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "square": torch.square,
    "positive-square": lambda regret: regret.clamp_min(0).square(),
    "exponential": torch.exp,
}


def external_regret(policies: Tensor, losses: Tensor) -> Tensor:
    """R_T = Σ_t ⟨ℓ_t, π_t⟩ − min_a Σ_t ℓ_t(a); tensors (num_runs, horizon, num_actions) to (num_runs,)."""
    return (policies * losses).sum((-2, -1)) - losses.sum(-2).amin(-1)


def ball_regret(points: Tensor, losses: Tensor) -> Tensor:
    """Σ_t ⟨ℓ_t, x_t⟩ + ‖Σ_t ℓ_t‖₂, the regret against the best fixed point of the unit ℓ₂ ball."""
    return (points * losses).sum((-2, -1)) + losses.sum(-2).norm(dim=-1)


def swap_regret(policies: Tensor, losses: Tensor) -> Tensor:
    """Σ_i (M[i, i] − min_j M[i, j]) of the play–loss matrix M; shapes as in `external_regret`."""
    play_loss = policies.mT @ losses
    return play_loss.diagonal(dim1=-2, dim2=-1).sum(-1) - play_loss.amin(-1).sum(-1)


def block_regret(proposals: Tensor, blocks: Tensor) -> Tensor:
    """Σ_j (Σ_t ⟨p_{j,t}, x_{j,t}⟩ − min_a Σ_t x_{j,t}(a)), the heads' external regrets summed.

    Args:
        proposals: p, shape (num_runs, horizon, heads, num_actions).
        blocks: x, the same shape.

    Returns:
        Shape (num_runs,).
    """
    return (proposals * blocks).sum((-3, -2, -1)) - blocks.sum(-3).amin(-1).sum(-1)


def aggregate(regrets: Tensor, h: str = "square", *, worst_of: int = 1, temperature: float = 1.0) -> Tensor:
    """The mean of h(R), or Park et al.'s surrogate of the worst of N sequences.

    The surrogate weighs N sequences by softmax(R / temperature): the mean as the temperature grows,
    the maximum as it goes to 0.

    Args:
        regrets: shape (num_runs,).
        h: "square", "positive-square" (max(x, 0)²) or "exponential".
        worst_of: N, a divisor of num_runs; 1 is the plain mean.
        temperature: positive, in units of loss.

    Returns:
        A scalar.

    Raises:
        UnknownNameError: for another h.
        ValueError: if N does not divide num_runs or the temperature is not positive.
    """
    transformed = lookup("h", h, TRANSFORMS)(regrets)
    if worst_of == 1:
        return transformed.mean()
    if worst_of < 1 or len(regrets) % worst_of:
        raise ValueError(f"worst_of must divide the {len(regrets)} sequences, got {worst_of}")
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    weights = torch.softmax(regrets.view(-1, worst_of) / temperature, -1)
    return (weights * transformed.view(-1, worst_of)).sum(-1).mean()


def regret_loss(
    policies: Tensor, losses: Tensor, h: str = "square", *, worst_of: int = 1, temperature: float = 1.0
) -> Tensor:
    """E[h(R_T)], R_T the external regret; arguments as in `external_regret` and `aggregate`."""
    return aggregate(external_regret(policies, losses), h, worst_of=worst_of, temperature=temperature)


def swap_regret_loss(
    policies: Tensor, losses: Tensor, h: str = "square", *, worst_of: int = 1, temperature: float = 1.0
) -> Tensor:
    """E[h(SR_T)], the swap-regret loss in either of its forms.

    Recurrent form, tensors (num_runs, horizon, num_actions): policies that were played, and their
    losses. Block form, (num_runs, horizon, heads, num_actions): what the heads proposed, and the
    blocks that they were shown in place of π_t(j) ℓ_t.
    """
    regret = swap_regret if policies.ndim == 3 else block_regret
    return aggregate(regret(policies, losses), h, worst_of=worst_of, temperature=temperature)


def hindsight_brier(policies: Tensor, losses: Tensor) -> Tensor:
    """Σ_t (‖π_t − e_{a*}‖² − 1) + (min_a Σ_t ℓ_t(a))², a* the best action in hindsight; (num_runs,).

    For losses ℓ_t ~ N(0, I), independent over rounds, its expectation is E[R_T²]: with S = Σ_t ℓ_t, the
    past-measurable policies give E[(Σ_t ⟨ℓ_t, π_t⟩)²] = E Σ_t ‖π_t‖², and Stein's lemma gives
    E[⟨ℓ_t, π_t⟩ min_a S(a)] = E π_t(a*). So the squared-regret loss is the Brier score of forecasting
    the best action, and its unrestricted minimizer is π_t = P(a* | past). This estimate of the
    expectation, and of its gradient, has a far smaller variance than R_T² itself.

    Args:
        policies: shape (num_runs, horizon, ..., num_actions), heads after the horizon if there are any.
        losses: the same shape.
    """
    total = losses.sum(1)
    best = total.argmin(-1, keepdim=True).unsqueeze(1)
    at_best = policies.gather(-1, best.expand(*policies.shape[:-1], 1)).squeeze(-1)
    brier = (policies.square().sum(-1) - 2 * at_best).flatten(1).sum(1)
    return brier + total.amin(-1).reshape(len(total), -1).sum(1).square()
