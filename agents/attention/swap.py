"""Multi-head linear attention with a fixed-point layer, which at its stationary point is Blum–Mansour."""

from __future__ import annotations

from typing import Literal, NamedTuple, Self, get_args

import torch
from torch import Tensor, nn

from regret_envs.agents.attention.fixed_point import (
    power_iteration,
    spanning_trees,
    stationary_distribution,
    tree_distribution,
)
from regret_envs.agents.attention.model import AttentionModel, HorizonFactor, one_of, sums_before
from regret_envs.arrays import FloatArray

Form = Literal["full", "block"]
FixedPoint = Literal["implicit", "unrolled", "tree"]


class _State(NamedTuple):
    """The heads' logits (num_runs, heads, d), the factor on them, and the policy of the round."""

    logits: Tensor
    factor: Tensor | float
    policy: Tensor


class SwapAttention(AttentionModel):
    """d heads of linear attention on the block inputs, and the stationary distribution of what they propose.

    Head j maps X_s = vec(π_s ℓ_sᵀ) (row-major: block j is π_s(j) ℓ_s) to
    p_{j,t+1} = softmax( c Σ_{s≤t} (V⁽ʲ⁾ X_s + v_c⁽ʲ⁾)(1 + a⁽ʲ⁾ᵀ X_s) ), and π = Pπ with
    P = (p_1 | … | p_d). Where V⁽ʲ⁾ X is −k times block j and the rest is 0, it is Blum–Mansour over
    Hedge(k).

    Args:
        num_actions: d, the number of heads too.
        form: "full": every head sees all blocks, V⁽ʲ⁾ of shape (d, d²), a round costs O(d⁴). "block": it
            sees its own, V⁽ʲ⁾ of shape (d, d), O(d³).
        logit_scale: c. Training in block form shows blocks at full scale, where play supplies
            π_t(j) ℓ_t, about 1/d of it: such a model is deployed with c = d. Else 1.
        fixed_point: the gradient of the fixed-point layer: "implicit"; "unrolled" through
            `num_iterations` of power iteration, which leaves its largest residual in `residual`; or
            "tree", by the Markov chain tree theorem, up to d = 6.
        num_iterations: of power iteration.
        reference_horizon: as in `LinearAttention`.
        init_scale: standard deviation of the random initial parameters.

    Attributes:
        residual: the largest ‖Pπ − π‖₁ of the last unrolled fixed point; 0 with implicit gradients.
    """

    reference = "regret-trained multi-head attention with a fixed-point layer"
    guarantee = "Blum–Mansour's, at the stationary point"

    def __init__(
        self,
        num_actions: int,
        *,
        form: Form = "full",
        logit_scale: float = 1.0,
        fixed_point: FixedPoint = "implicit",
        num_iterations: int = 200,
        reference_horizon: int | None = None,
        init_scale: float = 0.1,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        one_of("form", form, ("full", "block"))
        one_of("fixed_point", fixed_point, get_args(FixedPoint))
        self.num_actions, self.form, self.logit_scale = num_actions, form, logit_scale
        self.fixed_point, self.num_iterations = fixed_point, num_iterations
        self.residual = 0.0
        if fixed_point == "tree":
            spanning_trees(num_actions)  # raises where there are too many
        d, seen = num_actions, num_actions**2 if form == "full" else num_actions

        def parameter(*shape: int) -> nn.Parameter:
            return nn.Parameter(init_scale * torch.randn(shape, generator=generator))

        self.value, self.value_bias, self.score = parameter(d, d, seen), parameter(d, d), parameter(d, seen)
        self.horizon_factor = HorizonFactor(reference_horizon)

    @classmethod
    def from_step_size(cls, step_size: float, num_actions: int, *, form: Form = "full") -> Self:
        """The theoretical point in float64: plays exactly as BlumMansour(Hedge(step_size))."""
        model = cls(num_actions, form=form).double()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.zero_()
            for own in model._own_blocks():
                own -= step_size * torch.eye(num_actions, dtype=torch.float64)
        return model

    def _own_blocks(self) -> list[Tensor]:
        """V⁽ʲ⁾ restricted to block j, (d, d) a head; views."""
        if self.form == "block":
            return list(self.value)
        d = self.num_actions
        return [self.value[j, :, j * d : (j + 1) * d] for j in range(d)]

    def step_size(self) -> float:
        """The effective deployed k: the mean over heads of the fit of −k(I − 11ᵀ/d) to their own blocks."""
        d = self.num_actions
        own = torch.stack(self._own_blocks()).detach().double()
        fits = (own.mean((1, 2)) * d - own.diagonal(dim1=1, dim2=2).sum(1)) / max(d - 1, 1)
        return self.logit_scale * float(fits.mean())

    def _terms(self, blocks: Tensor) -> Tensor:
        """(V⁽ʲ⁾ X + v_c⁽ʲ⁾)(1 + a⁽ʲ⁾ᵀ X) of blocks (..., heads, d), the same shape."""
        if self.form == "full":
            flat = blocks.flatten(-2)
            values = (flat @ self.value.flatten(0, 1).T).view(blocks.shape)
            scores = flat @ self.score.T
        else:
            values = torch.einsum("jik,...jk->...ji", self.value, blocks)
            scores = (blocks * self.score).sum(-1)
        return (values + self.value_bias) * (1 + scores).unsqueeze(-1)

    def block_proposals(self, blocks: Tensor) -> Tensor:
        """What the heads propose when shown independent blocks in place of π_t(j) ℓ_t, at scale 1.

        Args:
            blocks: x, shape (num_runs, horizon, heads, num_actions).

        Returns:
            p, the same shape; one pass over the rounds, no fixed point.
        """
        factor = self.horizon_factor(blocks.shape[1])
        return torch.softmax(sums_before(self._terms(blocks)) * factor, -1)

    def forward(self, losses: Tensor) -> Tensor:
        """Policies of all rounds, (num_runs, horizon, num_actions) to the same shape, round by round."""
        state = self.begin(len(losses), losses.shape[1])
        policies = [state.policy]
        for t in range(losses.shape[1] - 1):
            state = self.step(state, losses[:, t])
            policies.append(state.policy)
        return torch.stack(policies, 1)

    def begin(self, num_runs: int, horizon: int | None) -> _State:
        """Zero logits, the uniform policy."""
        d = self.num_actions
        factor = self.logit_scale * self.horizon_factor(horizon)
        return _State(self.value.new_zeros(num_runs, d, d), factor, self.value.new_full((num_runs, d), 1 / d))

    def policy(self, state: _State) -> Tensor:
        """The stationary distribution of what the heads propose."""
        return state.policy

    def step(self, state: _State, losses: Tensor) -> _State:
        """Show head j its block π_t(j) ℓ_t."""
        blocks = state.policy.unsqueeze(-1) * losses.unsqueeze(-2)
        logits = state.logits + self._terms(blocks)
        transitions = torch.softmax(logits * state.factor, -1).mT
        if self.fixed_point == "implicit" or not torch.is_grad_enabled():
            policy = stationary_distribution(transitions)
        elif self.fixed_point == "tree":
            policy = tree_distribution(transitions)
        else:
            policy, residual = power_iteration(transitions, self.num_iterations)
            self.residual = float(residual.max())
        return _State(logits, state.factor, policy)

    def act(self) -> FloatArray:
        """As in the base class; the policy is kept until its losses come."""
        self.remember(self._state.policy)
        return super().act()

    def observe(self, losses: FloatArray) -> None:
        """As in the base class; the losses belong to the first policy kept."""
        self._state = self._state._replace(policy=self.recall())
        super().observe(losses)

    def __repr__(self) -> str:
        return f"SwapAttention(num_actions={self.num_actions}, form={self.form!r})"
