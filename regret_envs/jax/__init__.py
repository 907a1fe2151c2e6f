"""The suite in JAX: rules, worlds, `simulate` and environments, compiled and differentiable.

Needs the extra `jax`. Importing it sets no flag of JAX; float64 needs
`jax.config.update("jax_enable_x64", True)`, called before anything else.

The first call for a pair of rules compiles for a second. JAX keeps compiled programs between processes where
it is told to: `jax.config.update("jax_compilation_cache_dir", folder)`, and
`jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)` for programs that compile fast.
"""

try:
    import jax as _jax  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f'{error.name} is not installed: pip install "regret-envs[jax]"', name=error.name
    ) from error

from regret_envs.jax.attention import (
    Attention,
    linear_attention,
    linear_attention_point,
    swap_attention,
    swap_attention_point,
)
from regret_envs.jax.bandits import exp3, tsallis_inf
from regret_envs.jax.engine import simulate
from regret_envs.jax.environments import EnvParams, RepeatedGame, SinglePlay
from regret_envs.jax.learning import Rollout, regret, replay, rollout, stream_losses
from regret_envs.jax.matching import (
    internal_regret_matching,
    predictive_regret_matching_plus,
    regret_matching,
    regret_matching_plus,
)
from regret_envs.jax.numbers import NoFormError
from regret_envs.jax.rule import Rule
from regret_envs.jax.rules import (
    adahedge,
    fixed_share,
    follow_the_leader,
    hedge,
    online_gradient_descent,
    optimistic_hedge,
    uniform,
)
from regret_envs.jax.stationary import stationary_distribution
from regret_envs.jax.swap import blum_mansour
from regret_envs.jax.translate import from_agent, make
from regret_envs.jax.worlds import (
    Stream,
    as_stream,
    bernoulli,
    biased_gaussian,
    drifting,
    gaussian,
    recorded,
    switching,
)

__all__ = [
    "Attention",
    "EnvParams",
    "NoFormError",
    "RepeatedGame",
    "Rollout",
    "Rule",
    "SinglePlay",
    "Stream",
    "adahedge",
    "as_stream",
    "bernoulli",
    "biased_gaussian",
    "blum_mansour",
    "drifting",
    "exp3",
    "fixed_share",
    "follow_the_leader",
    "from_agent",
    "gaussian",
    "hedge",
    "internal_regret_matching",
    "linear_attention",
    "linear_attention_point",
    "make",
    "online_gradient_descent",
    "optimistic_hedge",
    "predictive_regret_matching_plus",
    "recorded",
    "regret",
    "regret_matching",
    "regret_matching_plus",
    "replay",
    "rollout",
    "simulate",
    "stationary_distribution",
    "stream_losses",
    "swap_attention",
    "swap_attention_point",
    "switching",
    "tsallis_inf",
    "uniform",
]
