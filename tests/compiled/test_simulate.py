"""`simulate`, compiled: the same play as NumPy's, its sums, its errors."""

import os
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from regret_envs import agents, feedback, games, simulate, streams
from regret_envs import jax as rj
from regret_envs.jax import kernel
from regret_envs.play import PolicyError


def hedge(step=0.1):
    return agents.Hedge(step), rj.hedge(step)


def assert_same(ours, theirs, atol=1e-9):
    assert (ours.t, ours.num_players, ours.num_runs) == (theirs.t, theirs.num_players, theirs.num_runs)
    assert ours.outstanding == theirs.outstanding
    for name in ("play_losses", "mean_policies"):
        for here, there in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            assert here.dtype == np.float64 and here.shape == there.shape
            np.testing.assert_allclose(here, there, atol=atol)


@pytest.mark.parametrize("num_runs", [1, 2, 9])
@pytest.mark.parametrize(
    "world",
    [
        games.random_game((3, 4), seed=1),
        games.random_game((2, 3, 4), seed=2),
        games.random_game((2, 2, 3, 2), seed=3),
        games.random_game((3,), seed=4),
        games.RandomGames((3, 2)),
        games.RandomGames((2, 3, 2), law="gaussian"),
        streams.prices("nyse_o", loss_scale=0.05, window=250),
        streams.prices("djia", loss_scale=0.05, block_length=30),
        streams.Recorded(np.random.default_rng(0).random((150, 4))),
    ],
    ids=repr,
)
def test_play_is_that_of_numpy(world, num_runs):
    num_players = world.num_players if hasattr(world, "num_players") else 1
    pairs = [hedge() for _ in range(num_players)]
    keywords = dict(horizon=150, num_runs=num_runs, seed=3, first_run=2, starting_loss_scale=1.0)
    theirs = simulate(world, [agent for agent, _ in pairs], **keywords, rounds=[1, 64, 100])
    ours = rj.simulate(world, [rule for _, rule in pairs], **keywords, rounds=[1, 64, 100])
    assert_same(ours, theirs)
    for t in (1, 64, 100):
        assert_same(ours.at(t), theirs.at(t))


@pytest.mark.parametrize("delay", [0, 1, 5, 200])
@pytest.mark.parametrize(
    "spec", ["hedge", "adahedge", "ogd", "rm+", "predictive-rm+", "internal-rm", "blum-mansour"]
)
def test_delayed_play_is_that_of_numpy(spec, delay):
    world = games.random_game((3, 4), seed=1)
    keywords = dict(
        horizon=100, num_runs=3, seed=3, starting_loss_scale=1.0, feedback=feedback.Delayed(delay)
    )
    theirs = simulate(world, [agents.make(spec), agents.Hedge(0.1)], **keywords)
    assert_same(rj.simulate(world, [rj.make(spec), rj.hedge(0.1)], **keywords), theirs)


def test_bandit_play_has_numpys_law():
    world, num_runs = games.weighted_rps(), 3000
    layers = [feedback.Bandit(loss_offset=-1.0), feedback.Delayed(2)]
    keywords = dict(horizon=120, num_runs=num_runs, feedback=layers)
    theirs = simulate(world, [agents.Exp3(loss_range=2), agents.TsallisINF(loss_range=2)], **keywords)
    ours = rj.simulate(world, [rj.exp3(loss_range=2), rj.tsallis_inf(loss_range=2)], **keywords)
    for kind in ("external", "swap"):
        for here, there in ((ours, theirs), (ours.realized, theirs.realized)):
            a, b = here.regret(kind), there.regret(kind)
            error = np.sqrt((a.var(1) + b.var(1)) / num_runs)
            assert (np.abs(a.mean(1) - b.mean(1)) < 5 * error).all()
    assert ours.realized.mean_policies[0].sum() == pytest.approx(num_runs)


def test_the_range_is_set_from_the_world():
    """In games whose losses leave [0, 1], as if offset and range were written down; in environments too."""
    world = games.prisoners_dilemma()  # losses in [−5, 0]
    keywords = dict(horizon=100, num_runs=4, seed=3)
    for rule in (rj.exp3, rj.tsallis_inf, lambda **given: rj.blum_mansour(rj.exp3(**given))):
        found, given = (
            rj.simulate(world, [rj.hedge(0.1), rule(**r)], feedback=layer, **keywords)
            for r, layer in (
                ({}, feedback.Bandit()),
                ({"loss_range": 5.0}, feedback.Bandit(loss_offset=-5.0)),
            )
        )
        np.testing.assert_array_equal(found.mean_policies[1], given.mean_policies[1])
        assert not np.array_equal(found.mean_policies[1], np.full((4, 2), 0.5))


def test_drawn_actions_follow_the_policy():
    """A fixed policy: the realized play is a multinomial sample of it, and the estimates are unbiased."""
    policy = np.array([0.6, 0.3, 0.1])
    fixed = rj.uniform()._replace(init=lambda d, horizon: jnp.asarray(policy), takes="any")
    losses = np.tile([1.0, -1.0, 0.5], (500, 1))
    play = rj.simulate(rj.recorded(losses), fixed, horizon=500, num_runs=64, feedback=feedback.Bandit())
    np.testing.assert_allclose(play.mean_policies[0], np.tile(policy, (64, 1)), rtol=1e-12)
    share = play.realized.mean_policies[0].mean(0)
    assert (np.abs(share - policy) < 5 * np.sqrt(policy * (1 - policy) / (500 * 64))).all()


@pytest.mark.parametrize(
    "world",
    [
        streams.Gaussian(3, scale=2.0),
        streams.BiasedGaussian(3),
        streams.DriftingMean(4, drift_scale=0.1),
        streams.Bernoulli(5, gap=0.2),
        streams.SwitchingBest(4, phase_length=30),
        streams.SwitchingBest(2, phase_length=1, gap=0.5),
    ],
    ids=repr,
)
def test_streams_have_the_laws_of_numpys(world):
    num_runs, horizon = 2000, 150
    losses = jax.jit(jax.vmap(lambda key: rj.stream_losses(world, horizon, key)))
    ours = np.asarray(losses(jax.random.split(jax.random.key(0), num_runs)))
    assert ours.shape == (num_runs, horizon, world.num_actions)
    play = simulate(world, agents.Uniform(), horizon=horizon, num_runs=num_runs, record="losses", seed=5)
    theirs = play.losses[0].swapaxes(0, 1)
    # Moments within runs and over them: means, second moments, the sums' spread, correlations.
    for moment in (
        lambda x: x.mean((1, 2)),
        lambda x: (x**2).mean((1, 2)),
        lambda x: x.sum(1).min(1),
        lambda x: x.sum(1).max(1),
        lambda x: (x[:, 1:] * x[:, :-1]).mean((1, 2)),
        lambda x: (x[..., 0] * x[..., 1]).mean(1),
        lambda x: np.abs(x[:, -1] - x[:, 0]).mean(1),
    ):
        a, b = moment(ours), moment(theirs)
        assert abs(a.mean() - b.mean()) < 5 * np.sqrt((a.var() + b.var()) / num_runs) + 1e-12
    agent, rule = hedge(0.2)
    a = simulate(world, agent, horizon=horizon, num_runs=num_runs, seed=1).regret()
    b = rj.simulate(world, rule, horizon=horizon, num_runs=num_runs, seed=1).regret()
    assert abs(a.mean() - b.mean()) < 5 * np.sqrt((a.var() + b.var()) / num_runs)


@pytest.mark.parametrize("layers", [(), feedback.Bandit()])
def test_a_run_meets_the_same_in_whatever_batch_and_with_whatever_stops(layers):
    world = streams.SwitchingBest(4, phase_length=30)
    rule = rj.tsallis_inf() if layers else rj.hedge(0.2)
    keywords = dict(horizon=200, seed=9, feedback=layers)
    many = rj.simulate(world, rule, num_runs=7, **keywords)
    few = rj.simulate(world, rule, num_runs=2, first_run=3, rounds=[1, 63, 65, 130], **keywords)
    np.testing.assert_allclose(few.play_losses[0], many.play_losses[0][3:5], atol=1e-9)
    one = rj.simulate(world, rule, num_runs=1, first_run=3, **keywords)
    np.testing.assert_allclose(one.play_losses[0], many.play_losses[0][3:4], atol=1e-9)
    other = rj.simulate(world, rule, num_runs=7, **(keywords | {"seed": 10}))
    assert np.abs(other.play_losses[0] - many.play_losses[0]).max() > 1e-3


def test_two_rules_face_the_same_stream():
    play = rj.simulate(rj.gaussian(3), [rj.uniform(), rj.uniform()], horizon=50, num_runs=4)
    np.testing.assert_array_equal(*play.play_losses)


def test_the_horizon_may_be_unknown():
    world = games.weighted_rps()
    keywords = dict(horizon=100, starting_loss_scale=1.0, horizon_known=False)
    theirs = simulate(world, [agents.Hedge(), agents.BlumMansour()], **keywords)
    assert_same(rj.simulate(world, [rj.hedge(), rj.blum_mansour()], **keywords), theirs)


def test_rules_of_ones_own_are_mapped_over_runs():
    """An epsilon-greedy leader, written for one run and compared with a plain loop."""

    def init(num_actions, horizon):
        return jnp.zeros(num_actions)

    def policy(state):
        d = len(state)
        return jnp.zeros(d).at[jnp.argmin(state)].set(0.9) + 0.1 / d

    rule = rj.Rule(init, policy, lambda state, losses, pi: state + losses, name="greedy")
    game = games.random_game((3, 4), seed=1)
    play = rj.simulate(game, [rule, rj.hedge(0.1)], horizon=50, num_runs=5, starting_loss_scale=1.0)
    normals = [
        [rng.standard_normal(d) for rng in simulate_seeds(5).starting_losses(n)] for n, d in enumerate((3, 4))
    ]
    for run in range(5):
        sums, total = [normals[0][run].copy(), normals[1][run].copy()], np.zeros((3, 3))
        for _ in range(50):
            p = 0.9 * np.eye(3)[sums[0].argmin()] + 0.1 / 3
            q = np.exp(-0.1 * (sums[1] - sums[1].min()))
            q /= q.sum()
            losses = game.losses[0] @ q, p @ game.losses[1]
            total += np.outer(p, losses[0])
            sums = [s + loss for s, loss in zip(sums, losses, strict=True)]
        np.testing.assert_allclose(play.play_losses[0][run], total, atol=1e-9)


def simulate_seeds(num_runs):
    from regret_envs.seeding import RunSeeds

    return RunSeeds(0, num_runs)


# -- float32 and its sums


class Wave:
    """A rule whose policies depend on the round alone, so that their float64 sums are known."""

    rule = rj.Rule(
        lambda d, horizon: (jnp.zeros(d), jnp.int32(0)),
        lambda state: jax.nn.softmax(
            jnp.sin(0.37 * state[1] + jnp.arange(len(state[0]))).astype(state[0].dtype)
        ),
        lambda state, losses, policy: (state[0], state[1] + 1),
        name="wave",
    )


def test_sums_of_float32_do_not_drift():
    """3 · 10⁶ rounds of one game in float32 against float64 sums of the same float32 policies."""
    horizon = 3_000_000
    game = games.random_game((3, 4), seed=8)
    play = rj.simulate(game, [Wave.rule, Wave.rule], horizon=horizon, dtype="float32")
    tables = [jnp.asarray(np.moveaxis(a, n, 0), jnp.float32) for n, a in enumerate(game.losses)]

    def policies(t):
        return [jax.nn.softmax(jnp.sin(0.37 * t + jnp.arange(d)).astype(jnp.float32)) for d in (3, 4)]

    def one_round(t, sums):
        (p, q), (exact, plain) = policies(t.astype(jnp.int32)), sums
        loss = tables[0] @ q
        return exact + jnp.outer(p.astype(jnp.float64), loss.astype(jnp.float64)), plain + jnp.outer(p, loss)

    zero = (jnp.zeros((3, 3)), jnp.zeros((3, 3), jnp.float32))
    exact, plain = jax.jit(lambda: jax.lax.fori_loop(0, horizon, one_round, zero))()
    scale = np.abs(exact).max()
    assert np.abs(play.play_losses[0][0] - exact).max() < 1e-5 * scale
    # What plain float32 sums would have come to.
    assert np.abs(plain - exact).max() > 1e-4 * scale
    np.testing.assert_allclose(play.mean_policies[0].sum(), 1.0, atol=1e-6)


def test_memory_does_not_grow_with_the_horizon():
    """The compiled program does not know the horizon: one program serves all of them."""
    game = games.weighted_rps()
    rj.simulate(game, rj.hedge(0.1), horizon=10)
    compiled = kernel.advance._cache_size()
    rj.simulate(game, rj.hedge(0.3), horizon=1000)
    assert kernel.advance._cache_size() == compiled


def test_float32_play_is_near_float64_play():
    game = games.random_game((3, 4), seed=1)
    keywords = dict(horizon=300, num_runs=4, starting_loss_scale=1.0)
    rough = rj.simulate(game, [rj.hedge(0.1)] * 2, dtype="float32", **keywords)
    fine = rj.simulate(game, [rj.hedge(0.1)] * 2, dtype="float64", **keywords)
    assert 0 < np.abs(rough.regret() - fine.regret()).max() < 1e-2


# -- errors


def test_a_policy_off_the_simplex_is_named_with_its_first_round():
    def policy(state):
        return jnp.where(state[1] == 37, 1.001, 1.0) * jnp.full(3, 1 / 3)

    bad = Wave.rule._replace(policy=policy, name="leaky")
    for num_runs in (1, 4):
        with pytest.raises(PolicyError, match=r"leaky \(player 1\).*round 38, run 0.*sum 1\.001"):
            rj.simulate(games.weighted_rps(), [rj.hedge(0.1), bad], horizon=100, num_runs=num_runs)
    negative = Wave.rule._replace(
        policy=lambda state: jnp.where(state[1] < 5, 1 / 3, jnp.array([1.5, -0.5, 0.0]))
    )
    with pytest.raises(PolicyError, match=r"round 6.*minimum -0\.5"):
        rj.simulate(games.weighted_rps(), [negative, rj.hedge(0.1)], horizon=100)
    nan = Wave.rule._replace(policy=lambda state: jnp.where(state[1] < 5, 1 / 3, jnp.full(3, jnp.nan)))
    with pytest.raises(PolicyError, match=r"round 6.*nan"):
        rj.simulate(games.weighted_rps(), [nan, rj.hedge(0.1)], horizon=100, dtype="float32")


RPS = games.weighted_rps()


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: rj.simulate(RPS, rj.hedge(), horizon=0), ValueError, "horizon must be at least 1"),
        (lambda: rj.simulate(RPS, rj.hedge(), horizon=2.5), TypeError, "horizon must be an integer"),
        (lambda: rj.simulate(RPS, rj.hedge(), horizon=2**31), ValueError, "below 2147483647"),
        (lambda: rj.simulate(RPS, rj.hedge(), horizon=5, num_runs=0), ValueError, "num_runs"),
        (lambda: rj.simulate(RPS, rj.hedge(), horizon=5, seed=-1), ValueError, "seed"),
        (lambda: rj.simulate(RPS, rj.hedge(), horizon=5, rounds=[6]), ValueError, "round 6"),
        (lambda: rj.simulate(RPS, rj.hedge(), horizon=5, dtype="int32"), ValueError, "float32"),
        (lambda: rj.simulate(RPS, rj.hedge(), horizon=5, dtype="single-ish"), ValueError, "float32"),
        (lambda: rj.simulate(RPS, [rj.hedge()], horizon=5), ValueError, "2 players"),
        (lambda: rj.simulate(RPS, [], horizon=5), ValueError, "at least one"),
        (lambda: rj.simulate(RPS, [rj.hedge(), agents.Hedge()], horizon=5), TypeError, "player 1.*make"),
        (lambda: rj.simulate("rps", rj.hedge(), horizon=5), TypeError, "world"),
        (lambda: rj.simulate(streams.Rademacher(), rj.hedge(), horizon=5), ValueError, "no JAX form"),
        (lambda: rj.simulate(games.make("blotto"), rj.hedge(), horizon=5), ValueError, "normal_form"),
        (lambda: rj.simulate(rj.gaussian(1), rj.hedge(), horizon=5), ValueError, "at least 2"),
        (
            lambda: rj.simulate(games.random_game((3, 1)), rj.hedge(0.1), horizon=5),
            ValueError,
            r"player 1\).*at least 2",
        ),
        (
            lambda: rj.simulate(RPS, rj.hedge(1e-60), horizon=5, dtype="float32"),
            ValueError,
            "underflows float32",
        ),
        (
            lambda: rj.simulate(RPS, rj.hedge(1e60), horizon=5, dtype="float32"),
            ValueError,
            "overflows float32",
        ),
        (lambda: rj.simulate(RPS, rj.exp3(), horizon=5), ValueError, "needs bandit feedback"),
        (
            lambda: rj.simulate(RPS, rj.hedge(), horizon=5, feedback=feedback.Noisy()),
            ValueError,
            "no JAX form",
        ),
        (
            lambda: rj.simulate(RPS, rj.hedge(), horizon=5, feedback=feedback.Delayed(jitter=1)),
            ValueError,
            "jitter",
        ),
        (
            lambda: rj.simulate(
                RPS, rj.blum_mansour(rj.regret_matching()), horizon=5, feedback=feedback.Delayed(2)
            ),
            ValueError,
            "own round",
        ),
        (lambda: rj.simulate(rj.recorded(np.ones((4, 3))), rj.hedge(), horizon=5), ValueError, "4 rounds"),
        (lambda: rj.recorded(np.ones(4)), ValueError, "shape"),
        (lambda: rj.recorded([[1.0, np.nan]]), ValueError, "row 0, column 1"),
        (lambda: rj.gaussian(3, scale=-1.0), ValueError, "scale"),
        (lambda: rj.bernoulli(3, mean=0.1, gap=0.2), ValueError, "probabilities"),
        (lambda: rj.switching(3, phase_length=0), ValueError, "phase_length"),
        (lambda: rj.regret(rj.gaussian(3), rj.hedge(), horizon=5, key=0), TypeError, r"jax\.random\.key"),
        (
            lambda: rj.regret(rj.gaussian(3), rj.hedge(), horizon=5, key=jax.random.split(jax.random.key(0))),
            TypeError,
            "one key",
        ),
        (
            lambda: rj.regret(rj.gaussian(3), rj.hedge(), horizon=5, key=jax.random.key(0), kind="swapp"),
            ValueError,
            "swap",
        ),
        (
            lambda: rj.rollout(games.RandomGames((2, 2)), rj.hedge(), horizon=5, key=jax.random.key(0)),
            ValueError,
            "one by one",
        ),
    ],
)
def test_bad_input_is_refused(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_payoffs_that_float32_cannot_hold_are_refused():
    for scale in (1e39, 1e37):  # an entry, and the sum of the rounds
        game = games.weighted_rps(scale=scale)
        with pytest.raises(ValueError, match=r"player 0.*overflows float32"):
            rj.simulate(game, rj.hedge(0.1), horizon=1000, dtype="float32")
        rj.simulate(game, rj.hedge(0.1), horizon=1000, dtype="float64")


def test_rules_whose_functions_do_not_fit_are_refused():
    wide = Wave.rule._replace(policy=lambda state: jnp.full(4, 0.25))
    with pytest.raises(PolicyError, match=r"\(3,\)"):
        rj.simulate(RPS, wide, horizon=5)
    growing = Wave.rule._replace(update=lambda state, losses, pi: (state[0], state[1] + 0.5))
    with pytest.raises(ValueError, match="update changes"):
        rj.simulate(RPS, growing, horizon=5)
    # A policy of another type is brought to the asked one, as the losses are.
    double = Wave.rule._replace(policy=lambda state: jnp.full(3, 1 / 3, jnp.float64))
    rj.simulate(RPS, double, horizon=5, dtype="float32")


# -- processes of their own


def python(code, **environment):
    """What a fresh interpreter prints; JAX's settings are those of the environment alone."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "XLA_"))}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_sets_no_flag_and_float64_says_what_it_needs():
    printed = python(
        """
        import jax
        before = dict(jax.config.values)
        from regret_envs import games, jax as rj
        assert dict(jax.config.values) == before
        play = rj.simulate(games.weighted_rps(), rj.hedge(0.1), horizon=10)
        assert dict(jax.config.values) == before
        for what in (
            lambda: rj.simulate(games.weighted_rps(), rj.hedge(0.1), horizon=10, dtype="float64"),
            lambda: rj.hedge(1e-60).init(3, 10),
        ):
            try:
                what()
            except ValueError as error:
                print(error)
        """
    )
    assert "jax_enable_x64" in printed and "underflows float32" in printed


def test_without_jax_the_extra_is_named():
    printed = python(
        """
        import sys
        sys.modules["jax"] = None
        import regret_envs, regret_envs.agents, regret_envs.benchmarks
        try:
            import regret_envs.jax
        except ImportError as error:
            print(error)
        """
    )
    assert 'pip install "regret-envs[jax]"' in printed


def test_nothing_else_imports_jax():
    printed = python(
        """
        import sys
        import regret_envs, regret_envs.agents, regret_envs.benchmarks.cli.main
        import regret_envs.benchmarks.running.runner
        print("jax" in sys.modules)
        """
    )
    assert printed.strip() == "False"


def test_runs_on_several_devices_are_the_same_runs():
    code = """
        import jax, numpy as np
        jax.config.update("jax_enable_x64", True)
        from regret_envs import feedback, games, streams, jax as rj
        from regret_envs.jax import engine as module
        print(len(jax.devices()), end=" ")
        out = []
        for world, rules, layers in (
            (games.weighted_rps(), [rj.hedge(0.1), rj.blum_mansour(rj.hedge(0.1))], ()),
            (games.RandomGames((2, 3)), [rj.hedge(0.1), rj.regret_matching_plus()], feedback.Delayed(3)),
            (streams.SwitchingBest(4), [rj.tsallis_inf()], feedback.Bandit()),
            (streams.Recorded(np.random.default_rng(0).random((80, 3))), [rj.adahedge()], ()),
        ):
            for num_runs in (6, 8, 1):
                keywords = dict(horizon=80, num_runs=num_runs, feedback=layers, rounds=[7])
                play = rj.simulate(world, rules, starting_loss_scale=1.0, **keywords)
                out += [play.regret("swap").ravel(), play.at(7).regret().ravel()]
        mesh = module.devices_for(8)
        print(1 if mesh is None else mesh.size)
        print(np.concatenate(out).tolist())
        """
    one = python(code)
    four = python(code, XLA_FLAGS="--xla_force_host_platform_device_count=4")
    assert one.split("\n")[0] == "1 1" and four.split("\n")[0] == "4 4"
    values = [np.array(eval(text.split("\n")[1])) for text in (one, four)]
    np.testing.assert_allclose(*values, atol=1e-10)
