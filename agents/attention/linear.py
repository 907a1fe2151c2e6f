"""Single-layer linear self-attention, which at its stationary point is Hedge."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, Self

import torch
from torch import Tensor, nn

from regret_envs.agents.attention.model import AttentionModel, HorizonFactor, one_of, sums_before

Form = Literal["reduced", "full"]
Operator = Literal["softmax", "identity"]
Domain = Literal["simplex", "ball"]


class Reduced(NamedTuple):
    """The reduced parameters: Σ_i (value ℓ_i + value_bias)(score_bias + scoreᵀℓ_i)."""

    value: Tensor
    value_bias: Tensor
    score: Tensor
    score_bias: Tensor


class LinearAttention(AttentionModel):
    """Linear self-attention over the losses so far, with an operator that makes a policy of it.

    Reduced form: π_{t+1} = Operator( Σ_{i≤t} (V ℓ_i + v_c)(1 + aᵀℓ_i) ), with V of shape (d, d) and
    a, v_c of shape (d,). Full form: Σ_{i≤t} (V ℓ_i + v_c) ⟨K ℓ_i + k_c, Q 1 + q_c⟩, of the same power
    (`reduced` maps it). At V = −kI, a = 0 and v_c = v·1 the softmax model is Hedge with step size k.
    The sum is kept from round to round: a training pass over T rounds costs O(T d²), a round of play O(d²).

    Args:
        num_actions: d.
        form: "reduced" or "full".
        operator: "softmax", or "identity" with a Euclidean projection in eval mode only, so that
            the training objective never sees it (the earlier work's model).
        domain: what "identity" projects onto: the "simplex", or the unit ℓ₂ "ball" (whose points are
            not mixed strategies: use `forward`, not `simulate`).
        reference_horizon: T_0, or None. The logits are multiplied by (T / T_0)^exponent with a learned
            exponent, so that one model serves every horizon.
        init_scale: standard deviation of the random initial parameters.
    """

    reference = "regret-trained single-layer self-attention"
    guarantee = "Hedge's, at the stationary point"

    def __init__(
        self,
        num_actions: int,
        *,
        form: Form = "reduced",
        operator: Operator = "softmax",
        domain: Domain = "simplex",
        reference_horizon: int | None = None,
        init_scale: float = 0.1,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        one_of("form", form, ("reduced", "full"))
        one_of("operator", operator, ("softmax", "identity"))
        one_of("domain", domain, ("simplex", "ball"))
        self.num_actions = num_actions
        self.form, self.operator, self.domain = form, operator, domain

        def parameter(*shape: int) -> nn.Parameter:
            return nn.Parameter(init_scale * torch.randn(shape, generator=generator))

        d = num_actions
        self.value, self.value_bias = parameter(d, d), parameter(d)
        if form == "reduced":
            self.score = parameter(d)
        else:
            self.key, self.query = parameter(d, d), parameter(d, d)
            # The score starts near 1, as in the reduced form: k_c·(Q 1 + q_c) ≈ 1.
            self.key_bias = nn.Parameter(parameter(d) + 1 / math.sqrt(d))
            self.query_bias = nn.Parameter(parameter(d) + 1 / math.sqrt(d))
        self.horizon_factor = HorizonFactor(reference_horizon)

    @classmethod
    def from_step_size(cls, step_size: float, num_actions: int) -> Self:
        """The theoretical point V = −kI, a = 0, v_c = 0 in float64: plays exactly as Hedge(step_size)."""
        model = cls(num_actions).double()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.zero_()
            model.value.sub_(step_size * torch.eye(num_actions, dtype=torch.float64))
        return model

    def reduced(self) -> Reduced:
        """The parameters in reduced form: in the full form the score is k_c·u + (Kᵀu)·ℓ, u = Q 1 + q_c."""
        if self.form == "reduced":
            one = torch.ones((), dtype=self.value.dtype, device=self.value.device)
            return Reduced(self.value, self.value_bias, self.score, one)
        query = self.query.sum(1) + self.query_bias
        return Reduced(self.value, self.value_bias, self.key.T @ query, self.key_bias @ query)

    def step_size(self) -> float:
        """The effective k: the least-squares fit of −k(I − 11ᵀ/d) to V with its columns centered.

        Softmax does not see a vector 1cᵀ added to V, so only the centered V counts.
        """
        value, _, _, score_bias = self.reduced()
        scaled = (value * score_bias).detach().double()
        return float(scaled.mean() * self.num_actions - scaled.trace()) / max(self.num_actions - 1, 1)

    def _terms(self, losses: Tensor) -> Tensor:
        """(V ℓ + v_c)(1 + aᵀℓ) of losses (..., d)."""
        value, value_bias, score, score_bias = self.reduced()
        return (losses @ value.T + value_bias) * (losses @ score + score_bias).unsqueeze(-1)

    def _operate(self, logits: Tensor) -> Tensor:
        if self.operator == "softmax":
            return torch.softmax(logits, -1)
        if self.training:
            return logits
        return project_simplex(logits) if self.domain == "simplex" else project_ball(logits)

    def forward(self, losses: Tensor) -> Tensor:
        """Policies of all rounds, (num_runs, horizon, num_actions) to the same shape."""
        factor = self.horizon_factor(losses.shape[1])
        return self._operate(sums_before(self._terms(losses)) * factor)

    def begin(self, num_runs: int, horizon: int | None) -> tuple[Tensor, Tensor | float]:
        """Zero logits, and the factor that the horizon gives them."""
        factor = self.horizon_factor(horizon)
        return self.value.new_zeros(num_runs, self.num_actions), factor

    def policy(self, state: tuple[Tensor, Tensor | float]) -> Tensor:
        """Operator(logits)."""
        return self._operate(state[0] * state[1])

    def step(self, state: tuple[Tensor, Tensor | float], losses: Tensor) -> tuple[Tensor, Tensor | float]:
        """Add the round's term."""
        return state[0] + self._terms(losses), state[1]

    def __repr__(self) -> str:
        return (
            f"LinearAttention(num_actions={self.num_actions}, form={self.form!r}, operator={self.operator!r})"
        )


def project_simplex(points: Tensor) -> Tensor:
    """Euclidean projection onto the simplex along the last axis (Duchi et al. 2008)."""
    ordered = points.sort(-1, descending=True).values
    count = torch.arange(1, points.shape[-1] + 1, dtype=points.dtype, device=points.device)
    # The threshold that each number of positive entries would give; the right one is the largest.
    threshold = ((ordered.cumsum(-1) - 1) / count).max(-1, keepdim=True).values
    return (points - threshold).clamp_min(0)


def project_ball(points: Tensor) -> Tensor:
    """Euclidean projection onto the unit ℓ₂ ball along the last axis."""
    return points / points.norm(dim=-1, keepdim=True).clamp_min(1)
