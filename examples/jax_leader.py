"""A leader that differentiates through its follower's learning: a plan against Hedge, by gradient ascent.

Against an agent that plays what did well on average, a plan can be worth more than the Stackelberg value;
against one without swap regret it cannot, beyond o(T) (Deng, Schneider and Sivan, NeurIPS 2019).

python jax_leader.py
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from regret_envs import games
from regret_envs import jax as rj
from regret_envs.agents import Agent, BlumMansour, Hedge
from regret_envs.agents.stackelberg_leader import best_plan
from regret_envs.games.stackelberg import stackelberg

HORIZON, NUM_PHASES = 2000, 20
GAME = games.deng_schneider_sivan()


def leader(logits: jax.Array) -> rj.Rule:
    """A rule that plays softmax(logits[i]) in the i-th phase of the horizon, whatever the losses."""

    def init(num_actions: int, horizon: int | None) -> Any:
        return jnp.repeat(jax.nn.softmax(logits), HORIZON // NUM_PHASES, 0), jnp.int32(0)

    def update(state: Any, losses: jax.Array, policy: jax.Array) -> Any:
        return state[0], state[1] + 1

    return rj.Rule(init, lambda state: state[0][state[1]], update, "leader")


def payoff(logits: jax.Array, follower: rj.Rule) -> jax.Array:
    """What the leader gets per round."""
    run = rj.rollout(GAME, [leader(logits), follower], horizon=HORIZON, key=jax.random.key(0))
    return -(run.policies[0] * run.losses[0]).sum(1).mean()


def climb(follower: rj.Rule, key: jax.Array, steps: int = 200, rate: float = 0.3) -> jax.Array:
    """Logits (NUM_PHASES, d) by gradient ascent with Adam's normalization, from random ones."""
    gradient = jax.grad(lambda logits: payoff(logits, follower))

    def step(t: int, carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        logits, mean, square = carry
        g = gradient(logits)
        mean, square = 0.9 * mean + 0.1 * g, 0.99 * square + 0.01 * g**2
        scaled = mean / (1 - 0.9 ** (t + 1)) / (jnp.sqrt(square / (1 - 0.99 ** (t + 1))) + 1e-8)
        return logits + rate * scaled, mean, square

    logits = jax.random.normal(key, (NUM_PHASES, GAME.num_actions[0]))
    return jax.lax.fori_loop(0, steps, step, (logits, jnp.zeros_like(logits), jnp.zeros_like(logits)))[0]


def best(follower: rj.Rule, num_starts: int = 4, seed: int = 0) -> tuple[np.ndarray, float]:
    """The best plan of a few starts, (NUM_PHASES, d), and what it pays the leader a round."""
    keys = jax.random.split(jax.random.key(seed), num_starts)
    logits = jax.jit(jax.vmap(lambda key: climb(follower, key)))(keys)
    payoffs = jax.jit(jax.vmap(lambda plan: payoff(plan, follower)))(logits)
    return np.asarray(jax.nn.softmax(logits[payoffs.argmax()])), float(payoffs.max())


if __name__ == "__main__":
    value = stackelberg(GAME.losses).value
    print(f"Stackelberg value {value:.4f}")
    followers: dict[str, tuple[rj.Rule, Callable[[], Agent]]] = {
        "Hedge": (rj.hedge(), Hedge),
        "Blum–Mansour": (rj.blum_mansour(), BlumMansour),
    }
    for name, (rule, agent) in followers.items():
        _, found = best(rule)
        _, known = best_plan(GAME, agent(), horizon=HORIZON)
        print(f"against {name}: gradient ascent {found:.4f}, best plan of two phases {known:.4f} a round")
