"""The environments with the defaults of version 0, for programs and policies that were made with them.

Version 1 changed two defaults, since learners do better: `action_mode` from "normalize" to "softmax", and
`horizon_ends` from "truncated" to "terminated". Nothing else differs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from regret_envs.envs.aec import SequentialPlay
from regret_envs.envs.parallel import ParallelPlay
from regret_envs.envs.single import SinglePlay
from regret_envs.envs.vector import VectorPlay

DEFAULTS: dict[str, Any] = {"action_mode": "normalize", "horizon_ends": "truncated"}

Forms = tuple[
    Callable[..., ParallelPlay],
    Callable[..., SequentialPlay],
    Callable[..., SinglePlay],
    Callable[..., VectorPlay],
]


def forms(module: ModuleType) -> Forms:
    """`parallel_env`, `env`, `SingleEnv` and `vector_env` of a module of version 1, as in version 0."""

    def parallel_env(**options: Any) -> ParallelPlay:
        made: ParallelPlay = module.parallel_env(**{**DEFAULTS, **options})
        made.metadata["name"] = made.metadata["name"].replace("_v1", "_v0")
        return made

    def env(**options: Any) -> SequentialPlay:
        return SequentialPlay(parallel_env(**options))

    return parallel_env, env, partial(module.SingleEnv, **DEFAULTS), partial(module.vector_env, **DEFAULTS)
