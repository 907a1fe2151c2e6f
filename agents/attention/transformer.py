"""A causal softmax Transformer that plays with a key–value cache."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from regret_envs.agents.attention.model import AttentionModel, one_of

Normalization = Literal["none", "pre", "post"]
Positions = Literal["none", "learned"]


class _State(NamedTuple):
    """Keys and values of every layer so far, the rounds seen, and the policy of the round."""

    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]
    t: int
    horizon: int
    policy: Tensor


class _Block(nn.Module):
    """x + attention, then x + MLP; layer normalization before each ("pre"), or of each sum ("post")."""

    def __init__(self, width: int, heads: int, mlp_ratio: int, normalization: Normalization) -> None:
        super().__init__()
        self.heads, self.post = heads, normalization == "post"
        norm = (lambda _: nn.Identity()) if normalization == "none" else nn.LayerNorm
        self.norm_attention, self.norm_mlp = norm(width), norm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = None
        if mlp_ratio:
            hidden = mlp_ratio * width
            self.mlp = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))

    def split(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Query, key and value of every head, each (num_runs, heads, rounds, width / heads)."""
        num_runs, rounds, _ = x.shape
        packed = self.query_key_value(x if self.post else self.norm_attention(x))
        q, k, v = packed.view(num_runs, rounds, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        return q, k, v

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        """What follows the attention, (num_runs, rounds, width)."""
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        if self.post:
            x = self.norm_attention(x)
            return x if self.mlp is None else self.norm_mlp(x + self.mlp(x))
        return x if self.mlp is None else x + self.mlp(self.norm_mlp(x))


class Transformer(AttentionModel):
    """Causal softmax Transformer over the losses, the first token being a learned vector.

    π_{t+1} = softmax(W x_t + b) with x_t the last layer's output at the token of ℓ_t. A key–value cache
    makes a round of play O(t) instead of a pass over the whole prefix.

    Args:
        num_actions: d.
        horizon: the longest game it can play.
        layers: L.
        heads: H, attention heads a layer.
        width: size of the residual stream, a multiple of `heads`.
        mlp_ratio: hidden units of the MLP, as a multiple of `width`; 0 for attention alone.
        normalization: "pre", layer normalization before attention, MLP and read-out; "post", after every
            sum of a branch and its input (Vaswani et al. 2017); or "none". `regret-envs reproduce
            training-paths` compares them.
        positions: "none" (causality and the first token tell the rounds apart), or "learned".
        horizon_input: log(T / horizon) times a learned vector is added to every token.
    """

    reference = "Vaswani et al. 2017, trained with regret loss"
    guarantee = "none"

    def __init__(
        self,
        num_actions: int,
        *,
        horizon: int,
        layers: int = 2,
        heads: int = 4,
        width: int = 32,
        mlp_ratio: int = 4,
        normalization: Normalization = "pre",
        positions: Positions = "none",
        horizon_input: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        one_of("normalization", normalization, ("none", "pre", "post"))
        one_of("positions", positions, ("none", "learned"))
        if layers < 1 or heads < 1 or width % heads:
            raise ValueError(
                f"layers and heads must be at least 1 and width a multiple of heads, got layers={layers}, "
                f"heads={heads}, width={width}"
            )
        self.num_actions, self.horizon = num_actions, horizon
        self.layers, self.heads, self.width = layers, heads, width
        self.mlp_ratio, self.normalization, self.positions = mlp_ratio, normalization, positions
        self.first = nn.Parameter(torch.empty(width))
        self.embedding = nn.Linear(num_actions, width)
        self.position = nn.Parameter(torch.empty(horizon, width)) if positions == "learned" else None
        self.horizon_vector = nn.Parameter(torch.empty(width)) if horizon_input else None
        self.blocks = nn.ModuleList(_Block(width, heads, mlp_ratio, normalization) for _ in range(layers))
        self.norm = nn.LayerNorm(width) if normalization == "pre" else nn.Identity()
        self.read_out = nn.Linear(width, num_actions)
        self._initialize(generator)

    def _initialize(self, generator: torch.Generator | None) -> None:
        """N(0, 1/fan_in) weights and zero biases; each branch's last layer divided by √(2L)."""
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if parameter.ndim == 2 and name != "position":
                    parameter.normal_(0, parameter.shape[1] ** -0.5, generator=generator)
                elif name in ("first", "position", "horizon_vector"):
                    parameter.normal_(0, 0.5, generator=generator)
                elif name.endswith("bias"):
                    parameter.zero_()
            for block in self.blocks:
                assert isinstance(block, _Block)
                block.out.weight /= math.sqrt(2 * self.layers)
                if block.mlp is not None:
                    last = block.mlp[-1]
                    assert isinstance(last, nn.Linear)
                    last.weight /= math.sqrt(2 * self.layers)

    def unsupported(self, num_actions: int, *, horizon: int | None) -> str | None:
        """Neither another number of actions nor a longer horizon can be played."""
        reason = super().unsupported(num_actions, horizon=horizon)
        if reason is None and horizon is not None and horizon > self.horizon:
            reason = f"{self!r} was made for a horizon of at most {self.horizon}, asked for {horizon}"
        return reason

    def _add_place(self, tokens: Tensor, start: int, horizon: int) -> Tensor:
        if self.position is not None:
            # A starting loss makes one more token than rounds; it takes the last place once more.
            places = torch.arange(start, start + tokens.shape[1], device=tokens.device)
            tokens = tokens + self.position[places.clamp_max(self.horizon - 1)]
        if self.horizon_vector is not None:
            tokens = tokens + self.horizon_vector * math.log(horizon / self.horizon)
        return tokens

    def forward(self, losses: Tensor) -> Tensor:
        """Policies of all rounds, (num_runs, horizon, num_actions) to the same shape."""
        num_runs, horizon, _ = losses.shape
        first = self.first.expand(num_runs, 1, -1)
        x = self._add_place(torch.cat([first, self.embedding(losses[:, :-1])], 1), 0, horizon)
        for block in self.blocks:
            assert isinstance(block, _Block)
            x = block.finish(x, functional.scaled_dot_product_attention(*block.split(x), is_causal=True))
        return torch.softmax(self.read_out(self.norm(x)), -1)

    def attention(self, losses: Tensor) -> Tensor:
        """How much every token attends to itself and those before, in every layer and head.

        Args:
            losses: shape (num_runs, horizon, num_actions).

        Returns:
            Shape (layers, num_runs, heads, horizon, horizon); rows sum to 1. Token t is that of ℓ_{t−1}, the
            first one the learned vector.
        """
        num_runs, horizon, _ = losses.shape
        first = self.first.expand(num_runs, 1, -1)
        x = self._add_place(torch.cat([first, self.embedding(losses[:, :-1])], 1), 0, horizon)
        future = torch.ones(horizon, horizon, dtype=torch.bool, device=x.device).triu(1)
        layers = []
        for block in self.blocks:
            assert isinstance(block, _Block)
            q, k, v = block.split(x)
            scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(future, -math.inf)
            layers.append(torch.softmax(scores, -1))
            x = block.finish(x, layers[-1] @ v)
        return torch.stack(layers)

    def begin(self, num_runs: int, horizon: int | None) -> _State:
        """Play the first token."""
        horizon = self.horizon if horizon is None else horizon
        # With gradients the cache grows by concatenation; without, it is written in place.
        rounds = 0 if torch.is_grad_enabled() else horizon + 1
        shape = (num_runs, self.heads, rounds, self.width // self.heads)
        keys = tuple(self.first.new_empty(shape) for _ in range(self.layers))
        values = tuple(torch.empty_like(k) for k in keys)
        start = _State(keys, values, 0, horizon, self.first.new_empty(num_runs, self.num_actions))
        return self._advance(start, self.first.expand(num_runs, 1, -1))

    def policy(self, state: _State) -> Tensor:
        """The policy that the last token gave.

        Raises:
            ValueError: if all rounds are played.
        """
        if state.t > state.horizon + 1:
            raise ValueError(f"{self!r} has played its {state.horizon} rounds; reset it to play again")
        return state.policy

    def step(self, state: _State, losses: Tensor) -> _State:
        """Append the token of the round's losses."""
        if state.t > state.horizon:  # the last round's losses make no policy
            return state._replace(t=state.t + 1)
        return self._advance(state, self.embedding(losses).unsqueeze(1))

    def _advance(self, state: _State, token: Tensor) -> _State:
        x, t = self._add_place(token, state.t, state.horizon), state.t
        keys, values = [], []
        for block, old_keys, old_values in zip(self.blocks, state.keys, state.values, strict=True):
            assert isinstance(block, _Block)
            q, k, v = block.split(x)
            keys.append(_append(old_keys, k, t))
            values.append(_append(old_values, v, t))
            scores = (q @ keys[-1][:, :, : t + 1].mT) / math.sqrt(q.shape[-1])
            x = block.finish(x, torch.softmax(scores, -1) @ values[-1][:, :, : t + 1])
        policy = torch.softmax(self.read_out(self.norm(x[:, 0])), -1)
        return _State(tuple(keys), tuple(values), t + 1, state.horizon, policy)

    def __repr__(self) -> str:
        return (
            f"Transformer(num_actions={self.num_actions}, horizon={self.horizon}, layers={self.layers}, "
            f"heads={self.heads}, width={self.width})"
        )


def _append(cache: Tensor, new: Tensor, t: int) -> Tensor:
    if torch.is_grad_enabled():
        return torch.cat([cache, new], 2)
    cache[:, :, t : t + 1] = new
    return cache
