"""Attention models trained with regret loss, as modules to train and as agents to play (needs torch).

`linear`, `swap` and `transformer` hold the models, `objectives` the losses, `training` the loop,
`checkpoint` what is kept of it, `k_star` the theoretical step size, and `builtin` the agents that
the registry names.
"""

from regret_envs.agents.attention.linear import LinearAttention
from regret_envs.agents.attention.swap import SwapAttention
from regret_envs.agents.attention.transformer import Transformer

__all__ = ["LinearAttention", "SwapAttention", "Transformer"]
