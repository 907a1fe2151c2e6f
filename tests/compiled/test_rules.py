"""Every rule plays as the NumPy agent of its name."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from regret_envs import agents, games, simulate
from regret_envs import jax as rj
from regret_envs.agents.external.optimistic_ftrl import tsallis_policy
from regret_envs.jax.bandits import half_tsallis
from regret_envs.jax.rules import project_to_simplex
from regret_envs.simplex import project_to_simplex as numpy_projection

SPECS = [
    "uniform",
    "ftl",
    "hedge",
    "hedge[step_size=0.2]",
    "hedge-anytime",
    "optimistic-hedge",
    "optimistic-hedge[step_size=anytime]",
    "adahedge",
    "ogd",
    "ogd[step_size=anytime]",
    "regret-matching",
    "rm+",
    "predictive-rm+",
    "internal-rm",
    "fixed-share",
    "fixed-share[num_switches=0]",
    "blum-mansour",
    "blum-mansour[copies=hedge-anytime]",
    "blum-mansour[copies=rm+]",
    "blum-mansour[copies=ogd]",
    "blum-mansour[copies=adahedge]",
    "blum-mansour[copies=blum-mansour]",
]
BANDITS = ["exp3", "exp3[step_size=anytime]", "tsallis-inf", "blum-mansour[copies=exp3]"]
ATTENTION = [
    "linear-attention[step_size=0.3]",
    "swap-attention[step_size=0.9]",
    "linear-attention-trained",
    "swap-attention-trained",
]
HORIZON = 200


def policies_of(play, player):
    """The policies of every round, (rounds, num_runs, d), from the mean policies kept after each."""
    sums = np.stack([play.at(t).mean_policies[player] * t for t in range(1, play.t + 1)])
    return np.diff(sums, axis=0, prepend=np.zeros_like(sums[:1]))


@pytest.mark.parametrize("num_actions", [(3, 4), (2, 3, 4)])
@pytest.mark.parametrize("spec", SPECS)
def test_rules_play_as_agents_in_random_games(spec, num_actions):
    world = games.RandomGames(num_actions)
    rounds = range(1, HORIZON + 1)
    opponents = ["hedge[step_size=0.1]"] * (len(num_actions) - 1)
    # The rule in another seat for every number of players, since seats differ in actions.
    specs = [spec, *opponents] if len(num_actions) == 2 else [*opponents, spec]
    keywords = dict(horizon=HORIZON, num_runs=25, seed=7, starting_loss_scale=0.5, rounds=rounds)
    ours = rj.simulate(world, [rj.make(s) for s in specs], **keywords)
    theirs = simulate(world, [agents.make(s) for s in specs], **keywords)
    for player in range(len(num_actions)):
        np.testing.assert_allclose(policies_of(ours, player), policies_of(theirs, player), atol=1e-9)
        np.testing.assert_allclose(ours.play_losses[player], theirs.play_losses[player], atol=1e-9)
    for kind in ("cce", "ce", "swap"):
        np.testing.assert_allclose(
            getattr(ours.gaps(), kind).max, getattr(theirs.gaps(), kind).max, atol=1e-9
        )
    np.testing.assert_allclose(ours.nash_conv(), theirs.nash_conv(), atol=1e-9)


def played_by_agent(spec, losses, horizon):
    """Policies (rounds, num_streams, d) of the agent that is shown losses (num_streams, rounds, d)."""
    agent = agents.make(spec)
    agent.reset(losses.shape[2], horizon=horizon, num_runs=len(losses), rng=np.random.default_rng(0))
    policies = []
    for t in range(losses.shape[1]):
        policies.append(np.array(agent.act()))
        agent.observe(losses[:, t])
    return np.stack(policies)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("spec", SPECS + BANDITS)
def test_rules_play_as_agents_on_streams(spec, known):
    rng = np.random.default_rng(3)
    losses = rng.standard_normal((20, HORIZON, 5)) + 0.3 * rng.standard_normal((20, 1, 5))
    if spec in BANDITS:
        losses = np.where(rng.random(losses.shape) < 0.2, 5 * np.abs(losses), 0.0)
    horizon = HORIZON if known else None
    rule = rj.make(spec)
    ours = jax.jit(jax.vmap(lambda x: rj.replay(rule, x, horizon=horizon)))(losses)
    np.testing.assert_allclose(ours.swapaxes(0, 1), played_by_agent(spec, losses, horizon), atol=1e-9)


@pytest.mark.parametrize("spec", ATTENTION)
def test_attention_plays_as_the_models(spec):
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    losses = np.random.default_rng(3).standard_normal((20, 20, 3))
    rule = rj.make(spec)
    ours = jax.jit(jax.vmap(lambda x: rj.replay(rule, x, horizon=20)))(losses)
    np.testing.assert_allclose(ours.swapaxes(0, 1), played_by_agent(spec, losses, 20), atol=1e-9)


def test_attention_of_every_form_plays_as_the_model():
    torch = pytest.importorskip("torch")
    from regret_envs.agents.attention.linear import LinearAttention
    from regret_envs.agents.attention.swap import SwapAttention

    generator = torch.Generator().manual_seed(0)
    models = [
        LinearAttention(4, form="full", reference_horizon=10, generator=generator),
        SwapAttention(4, form="block", logit_scale=4.0, generator=generator),
        SwapAttention(4, reference_horizon=10, generator=generator),
    ]
    losses = np.random.default_rng(1).standard_normal((30, 4))
    for model in models:
        model = model.double()
        if model.horizon_factor.exponent is not None:
            torch.nn.init.constant_(model.horizon_factor.exponent, 0.3)
        ours = rj.replay(rj.from_agent(model), losses, horizon=30)
        model.reset(4, horizon=30, num_runs=1, rng=np.random.default_rng(0))
        for policy, loss in zip(ours, losses, strict=True):
            np.testing.assert_allclose(model.act()[0], policy, atol=1e-9)
            model.observe(loss[None])


def test_attention_at_its_point_is_hedge_and_blum_mansour():
    losses = np.random.default_rng(2).standard_normal((50, 4))
    for attention, rule in (
        (rj.linear_attention(rj.linear_attention_point(0.3, 4)), rj.hedge(0.3)),
        (rj.swap_attention(rj.swap_attention_point(0.9, 4)), rj.blum_mansour(rj.hedge(0.9))),
    ):
        np.testing.assert_allclose(rj.replay(attention, losses), rj.replay(rule, losses), atol=1e-12)


def chains():
    """Column-stochastic matrices on which solvers lose digits: near the identity, sharp, cycles."""
    rng = np.random.default_rng(0)
    for d in (2, 3, 7, 20):
        off = rng.random((d, d))
        yield off / off.sum(0)
        slow = np.eye(d) + 1e-12 * off
        yield slow / slow.sum(0)
        sharp = np.exp(30 * rng.standard_normal((d, d)))
        yield sharp / sharp.sum(0)
        cycle = np.roll(np.eye(d), 1, 0) + 1e-9 * off
        yield cycle / cycle.sum(0)


def test_stationary_distribution_is_that_of_the_numpy_elimination():
    from regret_envs.agents.swap.stationary import stationary_distribution

    for chain in chains():
        expected = stationary_distribution(chain[..., None])[:, 0]
        found = jax.jit(rj.stationary_distribution)(jnp.asarray(chain))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_unrolled_and_looped_eliminations_are_one():
    from regret_envs.jax import stationary

    p = jnp.asarray(np.random.default_rng(1).dirichlet(np.ones(9), (9, 5)).transpose(2, 0, 1))
    np.testing.assert_allclose(jax.jit(stationary._unrolled)(p), jax.jit(stationary._looped)(p), rtol=1e-13)


@pytest.mark.parametrize("num_actions", [2, 5, 40])
def test_projection_and_tsallis_policy_are_those_of_numpy(num_actions):
    points = 3 * np.random.default_rng(num_actions).standard_normal((num_actions, 30))
    points[:, 0] = 0.0  # all alike
    points[:, 1] = np.repeat([1.0, -1.0], [1, num_actions - 1])
    np.testing.assert_allclose(project_to_simplex(jnp.asarray(points)), numpy_projection(points), atol=1e-13)
    np.testing.assert_allclose(half_tsallis(jnp.asarray(points)), tsallis_policy(points), atol=1e-12)


@pytest.mark.parametrize("spec", SPECS + BANDITS)
def test_batched_rules_are_their_vmapped_selves(spec):
    """What a rule makes of arrays with trailing runs is what `vmap` makes of one run."""
    rule = rj.make(spec)
    assert rule.batched
    losses = np.random.default_rng(0).random((30, 4, 6))
    state = jax.tree.map(lambda x: jnp.repeat(x[..., None], 6, -1), rule.init(4, 30))

    def play(policy, update):
        def one_round(state, loss):
            return update(state, loss, policy(state)), policy(state)

        return jax.jit(lambda: jax.lax.scan(one_round, state, losses)[1])()

    mapped = play(jax.vmap(rule.policy, -1, -1), jax.vmap(rule.update, -1, -1))
    np.testing.assert_allclose(play(rule.policy, rule.update), mapped, atol=1e-12)


def test_agents_without_a_rule_are_refused_by_name():
    with pytest.raises(rj.NoFormError, match=r"Squint.*there are AdaHedge"):
        rj.make("squint")

    class Mine(agents.Hedge):
        pass

    with pytest.raises(rj.NoFormError):
        rj.from_agent(Mine())


def test_rules_share_compiled_functions_across_steps():
    assert rj.hedge(0.1).policy is rj.hedge(0.2).policy
    assert rj.blum_mansour(rj.hedge(0.1)).update is rj.blum_mansour(rj.hedge(0.2)).update


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: rj.hedge(-0.1), ValueError, "step_size"),
        (lambda: rj.hedge(float("nan")), ValueError, "step_size"),
        (lambda: rj.hedge("sometimes"), ValueError, "sometimes"),
        (lambda: rj.exp3(loss_range=0.0), ValueError, "loss_range"),
        (lambda: rj.fixed_share(-1), ValueError, "num_switches"),
        (lambda: rj.blum_mansour(0.1), TypeError, "hedge"),
        (lambda: rj.linear_attention(rj.linear_attention_point(0.1, 4)), ValueError, "value has shape"),
    ],
)
def test_bad_settings_are_refused(make, error, match):
    with pytest.raises(error, match=match):
        make().init(3, 10)


@pytest.mark.parametrize("spec", SPECS + BANDITS)
def test_one_action_is_refused(spec):
    with pytest.raises(ValueError, match="at least 2"):
        rj.make(spec).init(1, 10)
