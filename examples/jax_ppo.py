"""PPO wholly inside `jit`, after PureJaxRL: 2,048 environments; then the policies beside the agents.

python jax_ppo.py
regret-envs run --suite paper --agents hedge,uniform,jax_ppo:biased,jax_ppo:rps
"""

import time
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from regret_envs import games, simulate, streams
from regret_envs import jax as rj
from regret_envs.agents import Agent, Hedge, Uniform, from_policy

NUM_ENVS, HORIZON, NUM_ACTIONS = 2048, 20, 3
HIDDEN, EPOCHS, MINIBATCHES, CLIP, GAMMA, LAMBDA, RATE = 32, 4, 4, 0.2, 0.5, 0.9, 3e-3
BIAS = {"bias_scale": 1.0}
FILE = "jax_ppo_{}.npz"
Parameters = dict[str, jax.Array]


class Step(NamedTuple):
    """One step of all environments, or a minibatch of them."""

    observation: jax.Array
    action: jax.Array
    log_prob: jax.Array
    value: jax.Array
    reward: jax.Array


def initial(key: jax.Array) -> Parameters:
    """A policy and a value, each of one hidden layer; the policy's actions are Gaussian."""
    size = 1 + 3 * NUM_ACTIONS
    keys = jax.random.split(key, 4)
    shapes = {"pi1": (size, HIDDEN), "pi2": (HIDDEN, NUM_ACTIONS), "v1": (size, HIDDEN), "v2": (HIDDEN, 1)}
    weights = {
        name: jax.random.normal(k, shape) * (0.01 if name == "pi2" else shape[0] ** -0.5)
        for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }
    return weights | {"log_std": jnp.zeros(NUM_ACTIONS) - 1.0}


def mean_action(parameters: Parameters, observation: Any, lib: Any = jnp) -> Any:
    """The mean of the actions, within [−1, 1]; `lib` is jax.numpy, or numpy for play."""
    return lib.tanh(lib.tanh(observation @ parameters["pi1"]) @ parameters["pi2"])


def log_prob(parameters: Parameters, observation: jax.Array, action: jax.Array) -> jax.Array:
    """Of an action, up to a constant."""
    z = (action - mean_action(parameters, observation)) / jnp.exp(parameters["log_std"])
    return -(0.5 * z**2 + parameters["log_std"]).sum(-1)


def value(parameters: Parameters, observation: jax.Array) -> jax.Array:
    """The expected discounted rewards to come."""
    return (jnp.tanh(observation @ parameters["v1"]) @ parameters["v2"])[..., 0]


def loss(parameters: Parameters, batch: Step, advantage: jax.Array, target: jax.Array) -> jax.Array:
    """PPO's clipped objective, and the value's squared error."""
    ratio = jnp.exp(log_prob(parameters, batch.observation, batch.action) - batch.log_prob)
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    gain = jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * advantage)
    error = value(parameters, batch.observation) - target
    return -gain.mean() + 0.5 * (error**2).mean()


def advantages(steps: Step) -> jax.Array:
    """Generalized advantage estimates of whole episodes, (HORIZON, envs)."""

    def back(carry: Any, step: Step) -> Any:
        following, next_value = carry
        following = step.reward + GAMMA * next_value - step.value + GAMMA * LAMBDA * following
        return (following, step.value), following

    zero = jnp.zeros_like(steps.value[0])
    return jax.lax.scan(back, (zero, zero), steps, reverse=True)[1]


def adam(parameters: Parameters, moments: Any, gradient: Parameters, t: jax.Array) -> tuple[Parameters, Any]:
    """A step of Adam."""
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradient)
    square = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, moments[1], gradient)

    def update(p: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
        return p - RATE * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)

    return jax.tree.map(update, parameters, mean, square), (mean, square)


def play_stream(parameters: Parameters, key: jax.Array) -> Step:
    """An episode in every environment of a biased Gaussian stream, (HORIZON, NUM_ENVS, ...)."""
    env = rj.SinglePlay(rj.biased_gaussian(NUM_ACTIONS, **BIAS), horizon=HORIZON, action_mode="softmax")
    key, reset_key = jax.random.split(key)
    observation, state = jax.vmap(env.reset)(jax.random.split(reset_key, NUM_ENVS))

    def step(carry: Any, key: jax.Array) -> Any:
        observation, state = carry
        action_key, step_key = jax.random.split(key)
        action, acted = act(parameters, observation, action_key)
        after, state, reward, _, _ = jax.vmap(env.step)(jax.random.split(step_key, NUM_ENVS), state, action)
        return (after, state), Step(*acted, reward)

    return jax.lax.scan(step, (observation, state), jax.random.split(key, HORIZON))[1]


def play_rps(parameters: Parameters, key: jax.Array) -> Step:
    """Self-play of weighted rock–paper–scissors in half as many environments: both seats are rows."""
    env = rj.RepeatedGame("weighted_rps", horizon=HORIZON, action_mode="softmax")
    num_games = NUM_ENVS // 2
    key, reset_key = jax.random.split(key)
    observations, state = jax.vmap(env.reset)(jax.random.split(reset_key, num_games))

    def step(carry: Any, key: jax.Array) -> Any:
        observations, state = carry
        action_key, step_key = jax.random.split(key)
        action, acted = act(parameters, jnp.concatenate([observations[a] for a in env.agents]), action_key)
        actions = dict(zip(env.agents, jnp.split(action, env.num_agents), strict=True))
        keys = jax.random.split(step_key, num_games)
        observations, state, rewards, _, _ = jax.vmap(env.step)(keys, state, actions)
        return (observations, state), Step(*acted, jnp.concatenate([rewards[a] for a in env.agents]))

    return jax.lax.scan(step, (observations, state), jax.random.split(key, HORIZON))[1]


def act(parameters: Parameters, observation: jax.Array, key: jax.Array) -> Any:
    """Actions drawn, and what of a step is known before they are played."""
    noise = jax.random.normal(key, (len(observation), NUM_ACTIONS))
    action = mean_action(parameters, observation) + jnp.exp(parameters["log_std"]) * noise
    known = observation, action, log_prob(parameters, observation, action), value(parameters, observation)
    return jnp.clip(action, -1.0, 1.0), known


@partial(jax.jit, static_argnames=("play", "updates"))
def train(play: Any, key: jax.Array, updates: int) -> tuple[Parameters, jax.Array]:
    """The trained parameters, and the mean reward per round of every update."""

    def update(carry: Any, key: jax.Array) -> Any:
        play_key, shuffle_key = jax.random.split(key)
        steps = play(carry[0], play_key)
        advantage = advantages(steps)
        rows = jax.tree.map(
            lambda x: x.reshape(-1, *x.shape[2:]), (steps, advantage, advantage + steps.value)
        )

        def minibatch(carry: Any, batch: Any) -> Any:
            parameters, moments, t = carry
            parameters, moments = adam(parameters, moments, jax.grad(loss)(parameters, *batch), t)
            return (parameters, moments, t + 1), None

        def epoch(carry: Any, key: jax.Array) -> Any:
            order = jax.random.permutation(key, rows[1].shape[0])
            batches = jax.tree.map(lambda x: x[order].reshape(MINIBATCHES, -1, *x.shape[1:]), rows)
            return jax.lax.scan(minibatch, carry, batches)[0], None

        carry = jax.lax.scan(epoch, carry, jax.random.split(shuffle_key, EPOCHS))[0]
        return carry, steps.reward.mean()

    init_key, key = jax.random.split(key)
    parameters = initial(init_key)
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    start = (parameters, (zeros, zeros), jnp.float32(1))
    (parameters, _, _), rewards = jax.lax.scan(update, start, jax.random.split(key, updates))
    return parameters, rewards


def agent(parameters: Any, name: str) -> Agent:
    """The policy as an agent of the suite: its mean actions, in NumPy."""
    weights = {key: np.asarray(array, dtype=np.float64) for key, array in parameters.items()}

    def ppo(observations: np.ndarray) -> np.ndarray:
        return mean_action(weights, observations, np)

    ppo.__name__ = name
    return from_policy(ppo, action_mode="softmax", num_actions=NUM_ACTIONS)


def biased() -> Agent:
    """The agent that the command line above names."""
    return agent(np.load(FILE.format("biased")), "ppo_biased")


def rps() -> Agent:
    """Likewise."""
    return agent(np.load(FILE.format("rps")), "ppo_rps")


if __name__ == "__main__":
    began = time.perf_counter()
    for name, play in (("biased", play_stream), ("rps", play_rps)):
        parameters, rewards = jax.block_until_ready(train(play, jax.random.key(0), 60))
        np.savez(FILE.format(name), **parameters)
        print(f"{name}: reward per round {rewards[0]:.4f} → {rewards[-1]:.4f}")
    print(f"{time.perf_counter() - began:.0f} s, compilation included")
    for player in (biased(), Hedge(), Uniform()):
        play = simulate(streams.BiasedGaussian(3, **BIAS), player, horizon=HORIZON, num_runs=4096, seed=1)
        print(f"{player!r:40} regret per round {play.regret()[0].mean() / HORIZON:.4f}")
    for make in (rps, Hedge, Uniform):
        play = simulate(
            games.weighted_rps(), [make(), make()], horizon=HORIZON, num_runs=256, starting_loss_scale=0.3
        )
        print(f"{make()!r:40} CCE gap {play.gaps().cce.max.mean():.4f}")
