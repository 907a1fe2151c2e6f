"""Differentiable play: gradients against finite differences, and the examples."""

import importlib.util
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from regret_envs import agents, games, simulate
from regret_envs import jax as rj
from regret_envs.games.stackelberg import stackelberg

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def difference(function, x, size=1e-5):
    return (function(x + size) - function(x - size)) / (2 * size)


KEY = jax.random.key(0)
GAME = games.random_game((3, 4), seed=3)
FUNCTIONS = {
    "hedge": lambda k: (rj.regret(rj.gaussian(3), rj.hedge(k), horizon=20, num_runs=64, key=KEY) ** 2).mean(),
    "stream": lambda s: rj.regret(rj.drifting(3, drift_scale=s), rj.hedge(0.2), horizon=20, key=KEY).sum(),
    "blum-mansour": lambda k: rj.regret(
        GAME, [rj.blum_mansour(rj.hedge(k)), rj.hedge(0.2)], horizon=30, key=KEY, kind="swap"
    )[0].sum(),
    "optimistic": lambda k: rj.regret(GAME, [rj.optimistic_hedge(k), rj.hedge(0.2)], horizon=30, key=KEY)[
        0
    ].sum(),
    "gradient descent": lambda k: rj.regret(
        rj.gaussian(3), rj.online_gradient_descent(k), horizon=20, key=KEY
    ).sum(),
    "attention": lambda k: rj.regret(
        rj.gaussian(3), rj.swap_attention(rj.swap_attention_point(k, 3)), horizon=20, key=KEY, kind="swap"
    ).sum(),
    "starting losses": lambda s: rj.regret(
        GAME, rj.hedge(0.2), horizon=30, key=KEY, starting_loss_scale=s, kind="internal"
    ).sum(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_finite_differences(name):
    function = jax.jit(FUNCTIONS[name])
    for x in (0.1, 0.3):
        np.testing.assert_allclose(
            jax.jit(jax.grad(function))(x), difference(function, x), rtol=1e-5, atol=1e-7
        )


def test_the_gradient_of_sharp_chains_is_finite_in_float32():
    """Entries of 1e-30 have no square in float32; the derivative of a quotient must not form one."""

    @jax.jit
    def policy(logits):
        return rj.stationary_distribution(jax.nn.softmax(logits, 0))[0]

    slope_of = jax.jit(jax.grad(policy))

    rng = np.random.default_rng(0)
    for d in (3, 6):
        for scale in (1.0, 20.0, 60.0):
            logits = scale * rng.standard_normal((d, d))
            assert np.isfinite(slope_of(jnp.asarray(logits, jnp.float32))).all()
            index, bump = (1, 2), np.zeros((d, d))
            bump[index] = 1e-5
            slope = (policy(jnp.asarray(logits + bump)) - policy(jnp.asarray(logits - bump))) / 2e-5
            np.testing.assert_allclose(slope_of(jnp.asarray(logits))[index], slope, rtol=1e-4, atol=1e-9)


def test_rollouts_are_the_play_of_numpy():
    run = rj.rollout(GAME, [rj.adahedge(), rj.hedge(0.2)], horizon=50, key=KEY)
    play = simulate(GAME, [agents.AdaHedge(), agents.Hedge(0.2)], horizon=50, record=("policies", "losses"))
    for n in range(2):
        np.testing.assert_allclose(run.policies[n], play.policies[n][:, 0], atol=1e-9)
        np.testing.assert_allclose(run.losses[n], play.losses[n][:, 0], atol=1e-9)
    for kind in ("external", "swap", "internal"):
        found = rj.regret(GAME, [rj.adahedge(), rj.hedge(0.2)], horizon=50, key=KEY, kind=kind)
        np.testing.assert_allclose(found, play.regret(kind), atol=1e-9)


def test_gradient_descent_finds_k_star():
    """k*(3, 20), known as 0.4495 ± 0.0027 by other code and other sequences."""
    found, error = example("jax_k_star").estimate()
    assert error < 0.02
    assert abs(found - 0.4495) < 3 * np.hypot(error, 0.0027)


def test_a_leader_extracts_from_hedge_and_not_from_blum_mansour():
    leader = example("jax_leader")
    value = stackelberg(leader.GAME.losses).value
    plan, found = leader.best(rj.hedge(), num_starts=2)
    _, known = leader.best_plan(leader.GAME, agents.Hedge(), horizon=leader.HORIZON)
    assert known > value + 0.5 and found - value >= 0.8 * (known - value)
    # What the plan pays in NumPy's engine, against the agent.
    phases = np.repeat(plan, leader.HORIZON // leader.NUM_PHASES, 0)

    class Planned(agents.Agent):
        def reset(self, num_actions, *, horizon, num_runs, rng):
            self._t = 0

        def act(self):
            self._t += 1
            return phases[self._t - 1][None]

        def observe(self, losses):
            pass

    play = simulate(leader.GAME, [Planned(), agents.Hedge()], horizon=leader.HORIZON)
    assert -np.trace(play.play_losses[0][0]) / leader.HORIZON == pytest.approx(found, abs=1e-6)
    assert leader.best(rj.blum_mansour(), num_starts=2)[1] <= value + 0.02


def test_ppo_in_one_program_beats_uniform_play_on_a_biased_stream(monkeypatch):
    ppo = example("jax_ppo")
    monkeypatch.setattr(ppo, "NUM_ENVS", 256)
    with jax.enable_x64(False):
        parameters, rewards = ppo.train(ppo.play_stream, jax.random.key(0), 30)
    assert rewards[-5:].mean() > rewards[:5].mean() + 0.2
    world, horizon = ppo.streams.BiasedGaussian(3, **ppo.BIAS), ppo.HORIZON
    regrets = [
        simulate(world, agent, horizon=horizon, num_runs=500, seed=1).regret()[0]
        for agent in (ppo.agent(parameters, "ppo"), agents.Uniform())
    ]
    assert (regrets[1] - regrets[0]).mean() > 5 * (regrets[1] - regrets[0]).std() / np.sqrt(500)
    with jax.enable_x64(False):
        _, rewards = ppo.train(ppo.play_rps, jax.random.key(0), 2)
    assert np.abs(rewards).max() < 0.05  # self-play of a symmetric zero-sum game
