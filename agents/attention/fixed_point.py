"""The stationary distribution π = Pπ as a differentiable layer."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor


class _Stationary(torch.autograd.Function):
    """Elimination forward, implicit differentiation backward."""

    @staticmethod
    def forward(ctx: Any, transitions: Tensor) -> Tensor:
        pi = _eliminate(transitions)
        ctx.save_for_backward(transitions, pi)
        return pi

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        transitions, pi = (x.double() for x in ctx.saved_tensors)
        grad64 = grad.double()
        # (I − P)ᵀ from the off-diagonals only, so that nothing is lost where P is near the identity;
        # + 1πᵀ makes it invertible and picks the solution with πᵀy = 0.
        off = transitions - torch.diag_embed(transitions.diagonal(dim1=-2, dim2=-1))
        system = torch.diag_embed(off.sum(-2)) - off.mT + pi.unsqueeze(-2)
        right = grad64 - (grad64 * pi).sum(-1, keepdim=True)
        y = torch.linalg.solve(system, right.unsqueeze(-1))
        # Moving mass from the diagonal to P[j, i] changes the loss by (y_j − y_i) π_i.
        return ((y - y.mT) * pi.unsqueeze(-2)).to(grad.dtype)


def _eliminate(transitions: Tensor) -> Tensor:
    """Grassmann–Taksar–Heyman elimination; see `regret_envs.agents.swap.stationary`."""
    floor = 1e-300 if transitions.dtype == torch.float64 else 1e-30
    num_actions = transitions.shape[-1]
    # Batch last, as a copy: every operation below then runs over contiguous memory.
    p = transitions.movedim((-2, -1), (0, 1)).clamp_min(floor).contiguous()
    for n in range(num_actions - 1, 0, -1):
        p[n, :n] /= p[:n, n].sum(0)
        p[:n, :n] += p[:n, n].unsqueeze(1) * p[n, :n].unsqueeze(0)
    pi = torch.ones_like(p[0])
    for n in range(1, num_actions):
        pi[n] = (p[n, :n] * pi[:n]).sum(0)
    return (pi / pi.sum(0)).movedim(0, -1)


def stationary_distribution(transitions: Tensor) -> Tensor:
    """π = Pπ of column-stochastic matrices, right to the last digits, with implicit gradients.

    Forward: Grassmann–Taksar–Heyman elimination from the off-diagonals, floored at 1e-300 (float64)
    or 1e-30 (float32). Backward: with (I − P)ᵀ y = g − (gᵀπ) 1 for the incoming gradient g, the
    gradient is ∂/∂P[j, i] = (y_j − y_i) π_i, where the diagonal is what the column leaves over.

    Args:
        transitions: shape (..., num_actions, num_actions), P[..., j, i] from i to j.

    Returns:
        Shape (..., num_actions).
    """
    pi: Tensor = _Stationary.apply(transitions)  # type: ignore[no-untyped-call]
    return pi


_LARGEST_TREE = 6


@functools.cache
def spanning_trees(num_states: int) -> Tensor:
    """Every spanning tree of the complete graph, directed to a root: d^(d−1) of them.

    Returns:
        Integers of shape (trees, num_states): where each state leads to; the root leads to itself.

    Raises:
        ValueError: beyond 6 states, where there are more than 7,776 trees.
    """
    if not 1 <= num_states <= _LARGEST_TREE:
        raise ValueError(f"trees are enumerated for 1 to {_LARGEST_TREE} states, got {num_states}")
    parents = torch.cartesian_prod(*[torch.arange(num_states)] * num_states).view(-1, num_states)
    reached = parents
    for _ in range(num_states):
        reached = torch.gather(parents, 1, reached)
    roots = parents == torch.arange(num_states)
    # One state leads to itself, and every path ends in it.
    return parents[(roots.sum(1) == 1) & (reached == roots.int().argmax(1, keepdim=True)).all(1)]


def tree_distribution(transitions: Tensor) -> Tensor:
    """π = Pπ by the Markov chain tree theorem: π_i ∝ Σ over trees to i of Π P[parent(j), j].

    A sum of products: no fixed point has to be found or differentiated, at the price of d^(d−1) terms.
    Leighton and Rivest 1983; in learning, Anagnostides et al. 2023.

    Args:
        transitions: shape (..., num_actions, num_actions), P[..., j, i] from i to j.

    Returns:
        Shape (..., num_actions).

    Raises:
        ValueError: beyond 6 actions.
    """
    d = transitions.shape[-1]
    trees = spanning_trees(d).to(transitions.device)
    states = torch.arange(d, device=transitions.device)
    roots = trees == states
    edges = transitions[..., trees, states].masked_fill(roots, 1.0)
    weights = edges.prod(-1) @ roots.to(transitions)
    return weights / weights.sum(-1, keepdim=True)


def power_iteration(transitions: Tensor, num_iterations: int) -> tuple[Tensor, Tensor]:
    """π ← Pπ from the uniform distribution; backpropagation goes through every iteration.

    The error shrinks by the second eigenvalue's modulus an iteration, so nearly reducible chains
    need millions of them: look at the residual.

    Args:
        transitions: shape (..., num_actions, num_actions), columns summing to 1.
        num_iterations: how many times P is applied.

    Returns:
        π of shape (..., num_actions), and the residual ‖Pπ − π‖₁ of shape (...), detached.
    """
    pi = torch.full_like(transitions[..., 0], 1 / transitions.shape[-1])
    for _ in range(num_iterations):
        pi = (transitions @ pi.unsqueeze(-1)).squeeze(-1)
    with torch.no_grad():
        residual = ((transitions @ pi.unsqueeze(-1)).squeeze(-1) - pi).abs().sum(-1)
    return pi, residual
