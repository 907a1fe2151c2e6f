"""Gradient descent through 20 rounds of Hedge: the step that makes E[R²] least, k*(3, 20) ≈ 0.4495.

python jax_k_star.py
"""

import jax
import jax.numpy as jnp

from regret_envs import jax as rj

NUM_ACTIONS, HORIZON, NUM_RUNS = 3, 20, 4096


def mean_squared_regret(step_size: jax.Array, key: jax.Array) -> jax.Array:
    """E[R_T²] of Hedge over Gaussian losses, which play does not change: the variance of the regret."""
    rule, world = rj.hedge(step_size), rj.gaussian(NUM_ACTIONS)
    return (rj.regret(world, rule, horizon=HORIZON, num_runs=NUM_RUNS, key=key) ** 2).mean()


@jax.jit
def descend(key: jax.Array, start: float = 0.2, rate: float = 0.1, steps: int = 40) -> jax.Array:
    """The step size that gradient descent ends at, on one set of sequences."""

    def step(_: int, step_size: jax.Array) -> jax.Array:
        return step_size - rate * jax.grad(mean_squared_regret)(step_size, key)

    return jax.lax.fori_loop(0, steps, step, jnp.asarray(start))


def estimate(num_sets: int = 8, seed: int = 0) -> tuple[float, float]:
    """The mean over independent sets of sequences, and its standard error."""
    found = jnp.stack([descend(key) for key in jax.random.split(jax.random.key(seed), num_sets)])
    return float(found.mean()), float(found.std(ddof=1) / num_sets**0.5)


if __name__ == "__main__":
    print("k*({}, {}) = {:.4f} ± {:.4f}".format(NUM_ACTIONS, HORIZON, *estimate()))
