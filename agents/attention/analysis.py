"""How near a policy is to Hedge: fitted step sizes, and the probability mass between two policies."""

from __future__ import annotations

import torch
from torch import Tensor

from regret_envs.agents.attention.model import sums_before


def hedge_policies(losses: Tensor, step_size: float) -> Tensor:
    """softmax(−k Σ_{s<t} ℓ_s) of all rounds, shape (num_runs, horizon, num_actions)."""
    return torch.softmax(-step_size * sums_before(losses), -1)


def mass_moved(policies: Tensor, others: Tensor) -> float:
    """Mean total variation ½‖π_t − π'_t‖₁ over runs and rounds t ≥ 2, between 0 and 1.

    Round 1 is left out: there every such policy is near uniform.

    Args:
        policies: shape (num_runs, horizon, num_actions).
        others: the same shape.
    """
    return float(0.5 * (policies - others)[:, 1:].abs().sum(-1).mean())


def logit_step_size(policies: Tensor, losses: Tensor) -> float:
    """The k of the least-squares fit of centered log π_t to −k times the centered losses before t.

    Args:
        policies: shape (num_runs, horizon, ..., num_actions).
        losses: the same shape.
    """
    before = sums_before(losses)
    before = before - before.mean(-1, keepdim=True)
    logits = policies.clamp_min(1e-12).log()
    return float(-(logits * before).sum() / before.square().sum())


def fit_step_size(policies: Tensor, losses: Tensor, *, largest: float = 5.0) -> float:
    """The k whose Hedge moves least mass from `policies`, on these sequences.

    Args:
        policies: shape (num_runs, horizon, num_actions).
        losses: the same shape.
        largest: the fit lies in 0 … largest.
    """
    from scipy.optimize import minimize_scalar

    start = min(max(logit_step_size(policies, losses), 1e-3), largest)
    found = minimize_scalar(
        lambda k: mass_moved(policies, hedge_policies(losses, k)),
        bounds=(0.0, min(3 * start, largest)),
        method="bounded",
        options={"xatol": 1e-5},
    )
    return float(found.x)
