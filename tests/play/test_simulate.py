"""simulate: the dynamics against plain loops, seeds, blocks, and what it says of bad input."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from regret_envs import games, metrics, simulate, streams
from regret_envs.agents import Agent, BlumMansour, Hedge, SingleRunAgent
from regret_envs.play import PolicyError


class Faulty(Agent):
    """Plays uniform, and `fault(policies)` in one round."""

    def __init__(self, fault, round_=1):
        self.fault, self.round = fault, round_

    def reset(self, num_actions, *, horizon, num_runs, rng):
        self.policies = np.full((num_runs, num_actions), 1 / num_actions)
        self.t = 0

    def act(self):
        self.t += 1
        return self.fault(self.policies.copy()) if self.t == self.round else self.policies

    def observe(self, losses):
        pass

    def __repr__(self):
        return "Faulty()"


class LastLoss(SingleRunAgent):
    """Puts everything on the action that was best in the last round; draws its first."""

    def reset_run(self, num_actions, *, horizon, rng):
        self.policy = np.eye(num_actions)[rng.integers(num_actions)]

    def act_run(self):
        return self.policy

    def observe_run(self, losses):
        self.policy = np.eye(len(losses))[losses.argmin()]


def test_weighted_rps_closed_forms():
    game = games.weighted_rps()
    play = simulate(game, [BlumMansour(), BlumMansour()], horizon=20, num_runs=1, seed=0)
    assert play.gaps().ce.max == pytest.approx([0.0617213], abs=1e-7)
    assert play.gaps().swap.max == pytest.approx([0.1040524], abs=1e-7)
    assert play.gaps().cce.max == pytest.approx([0.1040524], abs=1e-7)
    assert play.gaps().cce.per_player.shape == (2, 1)
    assert play.gaps().ce.best_deviation.shape == (2, 1, 2)
    play = simulate(game, [Hedge(), Hedge()], horizon=20)
    assert play.gaps().cce.max == pytest.approx([0.1188957], abs=1e-7)
    assert play.gaps().ce.max == pytest.approx([0.0685256], abs=1e-7)
    uniform = simulate(game, [Hedge(step_size=0), Hedge(step_size=0)], horizon=20)
    for gap in (uniform.gaps().cce, uniform.gaps().ce, uniform.gaps().swap):
        assert gap.max == pytest.approx([1 / 9], abs=1e-15)


def test_a_plain_loop_gives_the_same_play():
    rng = np.random.default_rng(0)
    payoffs = [rng.normal(size=(3, 4, 2)) for _ in range(3)]
    steps = [0.7, 0.9, 1.3]
    play = simulate(
        games.NormalFormGame(payoffs),
        [Hedge(step_size=k) for k in steps],
        horizon=50,
        record=("policies", "losses"),
    )
    totals = [np.zeros(d) for d in (3, 4, 2)]
    matrices = [np.zeros((d, d)) for d in (3, 4, 2)]
    for t in range(50):
        policies = [
            np.exp(-k * total) / np.exp(-k * total).sum() for k, total in zip(steps, totals, strict=True)
        ]
        losses = [
            -np.einsum("abc,b,c->a", payoffs[0], policies[1], policies[2]),
            -np.einsum("abc,a,c->b", payoffs[1], policies[0], policies[2]),
            -np.einsum("abc,a,b->c", payoffs[2], policies[0], policies[1]),
        ]
        for n in range(3):
            np.testing.assert_allclose(play.policies[n][t, 0], policies[n], atol=1e-12)
            np.testing.assert_allclose(play.losses[n][t, 0], losses[n], atol=1e-12)
            totals[n] += losses[n]
            matrices[n] += np.outer(policies[n], losses[n])
    for n in range(3):
        np.testing.assert_allclose(play.play_losses[n][0], matrices[n], atol=1e-11)


def test_biased_gaussian_regret_of_uniform_play_has_the_published_mean():
    stream = streams.BiasedGaussian(num_actions=3, bias_scale=0.35)
    regret = simulate(stream, Hedge(step_size=0), horizon=20, num_runs=20_000, seed=1).regret()[0]
    standard_error = regret.std(ddof=1) / np.sqrt(len(regret))
    assert abs(regret.mean() - 7.03) < 5 * standard_error + 0.005


def test_same_seed_same_bits_and_other_seed_other_bits():
    def regret(seed):
        return simulate(streams.Gaussian(4), LastLoss(), horizon=30, num_runs=5, seed=seed).regret()

    np.testing.assert_array_equal(regret(3), regret(3))
    assert not np.array_equal(regret(3), regret(4))


@pytest.mark.parametrize("world", [streams.BiasedGaussian(3), games.RandomGames((3, 2), law="gaussian")])
def test_a_run_faces_the_same_losses_in_any_batch(world):
    agents = lambda: [Hedge() for _ in range(1 if isinstance(world, streams.Stream) else 2)]  # noqa: E731
    settings = {"horizon": 40, "starting_loss_scale": 1.0, "seed": 9, "record": "losses"}
    batch = simulate(world, agents(), num_runs=1000, **settings)
    for run in (0, 1, 617, 999):
        alone = simulate(world, agents(), num_runs=1, first_run=run, **settings)
        np.testing.assert_allclose(alone.regret()[:, 0], batch.regret()[:, run], atol=1e-10)
        if isinstance(world, streams.Stream):
            np.testing.assert_array_equal(alone.losses[0][:, 0], batch.losses[0][:, run])


def test_earlier_rounds_are_those_of_a_shorter_game():
    game = games.random_game((3, 2), seed=4)
    agents = lambda: [Hedge(step_size=0.5), BlumMansour(Hedge(step_size=0.5))]  # noqa: E731
    play = simulate(game, agents(), horizon=700, rounds=[1, 10, 300], starting_loss_scale=1)
    assert play.at(700) is play
    for t in (1, 10, 300):
        short = simulate(game, agents(), horizon=t, starting_loss_scale=1)
        np.testing.assert_allclose(play.at(t).regret(), short.regret(), atol=1e-12)
        np.testing.assert_allclose(play.at(t).nash_conv(), short.nash_conv(), atol=1e-12)
        np.testing.assert_allclose(play.at(t).mean_policies[0], short.mean_policies[0], atol=1e-12)
    with pytest.raises(KeyError, match=r"round 11 was not recorded; there are \[1, 10, 300, 700\]"):
        play.at(11)


def test_recorded_play_has_the_stated_shapes_and_sums_to_the_matrix():
    play = simulate(
        games.random_game((3, 2)), [Hedge(), Hedge()], horizon=300, num_runs=7, record=["policies", "losses"]
    )
    for n, d in enumerate((3, 2)):
        assert play.policies[n].shape == play.losses[n].shape == (300, 7, d)
        matrix = metrics.play_loss_matrix(play.policies[n], play.losses[n])
        np.testing.assert_allclose(play.play_losses[n], matrix, atol=1e-12)
        np.testing.assert_allclose(play.mean_policies[n], play.policies[n].mean(0), atol=1e-14)
    assert simulate(games.shapley(), [Hedge(), Hedge()], horizon=2).policies is None


def test_starting_losses_break_the_tie_and_stay_out_of_the_metrics():
    def gap(scale):
        return (
            simulate(games.shapley(), [Hedge(), Hedge()], horizon=50, starting_loss_scale=scale).gaps().ce.max
        )

    # Uniform play is an equilibrium; what rounding makes of it is not a gap.
    assert abs(gap(0.0)) < 1e-12
    assert gap(1.0) > 0.001
    # Losses of one round only: regret counts that round, not the one before it.
    play = simulate(games.shapley(), [Hedge(), Hedge()], horizon=1, starting_loss_scale=1, record="losses")
    np.testing.assert_allclose(play.play_losses[0].sum((1, 2)), play.losses[0].sum((0, 2)), atol=1e-14)


def test_nash_conv_of_average_play_is_zero_where_the_average_is_an_equilibrium():
    play = simulate(games.jordan(), [Hedge(step_size=0) for _ in range(3)], horizon=3)
    np.testing.assert_allclose(play.nash_conv(), 0, atol=1e-15)
    with pytest.raises(ValueError, match="stream"):
        simulate(streams.Gaussian(), Hedge(), horizon=3).nash_conv()


def test_several_agents_face_the_same_stream():
    play = simulate(streams.Gaussian(3), [Hedge(), BlumMansour()], horizon=20, record="losses")
    np.testing.assert_array_equal(play.losses[0], play.losses[1])


def test_an_agent_may_keep_or_change_what_it_is_shown_without_harm():
    class Vandal(Hedge):
        def observe(self, losses):
            super().observe(losses)
            if losses.flags.writeable:
                losses[:] = 0

    game = games.random_game((3, 2))
    honest = simulate(game, [Hedge(), Hedge()], horizon=30, starting_loss_scale=1)
    vandal = simulate(game, [Vandal(), Vandal()], horizon=30, starting_loss_scale=1)
    np.testing.assert_array_equal(honest.regret(), vandal.regret())


def test_one_action_one_round_one_run_and_many_players():
    play = simulate(games.random_game((1, 1)), [Hedge(), BlumMansour()], horizon=1)
    np.testing.assert_array_equal(play.gaps().swap.max, [0])
    play = simulate(streams.Gaussian(1), BlumMansour(), horizon=3, num_runs=2)
    np.testing.assert_allclose(play.regret("swap"), 0, atol=1e-15)
    play = simulate(streams.Gaussian(1000), Hedge(), horizon=3)
    assert play.play_losses[0].shape == (1, 1000, 1000)
    players = [Hedge() for _ in range(12)]
    assert simulate(games.random_game((2,) * 12), players, horizon=3).regret().shape == (12, 1)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda p: p * np.nan, "round 3, row 0"),
        (lambda p: p * 1.01, "round 3, row 0.*sum 1.01"),
        (
            lambda p: np.where(np.arange(len(p))[:, None] == 2, [[1.5, -0.5, 0]], p),
            "round 3, row 2.*minimum -0.5",
        ),
        (lambda p: p[0], r"shape \(3,\) in round 3"),
        (lambda p: p[:, :2], r"shape \(4, 2\) in round 3"),
        (lambda p: None, r"shape \(\) in round 3"),
        (lambda p: [[1.0], [0.5, 0.5], [1.0], [1.0]], r"no array in round 3: .*inhomogeneous"),
        (lambda p: p + 0.1j, "in round 3, of type complex128"),
        (lambda p: p.astype(str), "in round 3, of type <U32"),
    ],
)
def test_a_bad_policy_is_named(fault, message):
    with pytest.raises(PolicyError, match=message) as error:
        simulate(streams.Gaussian(3), Faulty(fault, 3), horizon=20, num_runs=4)
    assert "Faulty() (player 0)" in str(error.value)


def test_an_exception_carries_its_round_and_an_earlier_bad_policy_comes_first():
    def fail(policies):
        raise RuntimeError("my own fault")

    with pytest.raises(RuntimeError, match="my own fault") as error:
        simulate(streams.Gaussian(3), Faulty(fail, 300), horizon=400)
    assert error.value.__notes__ == ["raised in round 300 of play by Faulty()"]

    class Fragile(Faulty):
        def observe(self, losses):
            if self.t == 4:
                raise RuntimeError("a consequence")

    with pytest.raises(PolicyError, match="round 2"):
        simulate(streams.Gaussian(3), Fragile(lambda p: p * 2, 2), horizon=20)


def test_changing_read_only_losses_says_what_to_do():
    class Changes(Faulty):
        def observe(self, losses):
            losses -= losses.min()

        __repr__ = Agent.__repr__

    with pytest.raises(ValueError, match="read-only") as error:
        simulate(streams.Gaussian(3), Changes(lambda p: p, 5), horizon=20)
    assert error.value.__notes__ == [
        "raised in round 1 of play by Changes()",
        "the losses that an agent is shown are read-only: change a copy of them",
    ]


def test_losses_that_are_not_finite_are_the_worlds_fault():
    class Broken(streams.Gaussian):
        def draw(self, rng, state, t, num_rounds):
            losses = super().draw(rng, state, t, num_rounds)
            losses[3, 1] = np.nan
            return losses

    with pytest.raises(FloatingPointError, match="round 4, row 0"):
        simulate(Broken(3), Faulty(lambda p: p), horizon=10, num_runs=2)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"horizon": 0}, ValueError, "horizon must be at least 1, got 0"),
        ({"horizon": 2.5}, TypeError, "horizon must be an integer, got 2.5"),
        ({"num_runs": 0}, ValueError, "num_runs must be at least 1, got 0"),
        ({"seed": -1}, ValueError, "seed must be at least 0"),
        ({"rounds": [6]}, ValueError, "round 6 .* horizon is 5"),
        ({"rounds": [0]}, ValueError, "at least 1"),
        ({"record": "policy"}, ValueError, "did you mean 'policies'"),
        ({"starting_loss_scale": -1.0}, ValueError, "starting_loss_scale"),
    ],
)
def test_bad_settings(settings, error, message):
    with pytest.raises(error, match=message):
        simulate(streams.Gaussian(3), Hedge(), **{"horizon": 5, **settings})


def test_seats():
    with pytest.raises(ValueError, match="2 players, got 1 agents"):
        simulate(games.shapley(), [Hedge()], horizon=5)
    agent = Hedge()
    with pytest.raises(ValueError, match="same agent object"):
        simulate(games.shapley(), [agent, agent], horizon=5)
    with pytest.raises(ValueError, match="at least one agent, got none"):
        simulate(streams.Gaussian(), [], horizon=5)
    for none, named in [
        (Hedge, "class"),
        ("hedge", "'hedge'"),
        (None, "None"),
        ((Hedge() for _ in "ab"), "gen"),
    ]:
        with pytest.raises(TypeError, match=f"{named}.* is not an agent, .*such as Hedge"):
            simulate(games.shapley(), none, horizon=5)
    with pytest.raises(TypeError, match=r"'hedge' \(player 1\) is not an agent"):
        simulate(games.shapley(), [Hedge(), "hedge"], horizon=5)
    for no_world in (streams.Gaussian, "gaussian", np.ones((5, 3)), Hedge()):
        with pytest.raises(TypeError, match=r"world must be a stream or a game"):
            simulate(no_world, Hedge(), horizon=5)


def test_policies_may_be_of_any_real_type():
    pure = np.eye(3)[[0, 1, 2, 0]]
    for given in (pure.tolist(), np.asfortranarray(pure), *map(pure.astype, (np.float32, int, bool))):
        agent = Faulty(lambda p, given=given: given)
        play = simulate(streams.Gaussian(3), agent, horizon=1, num_runs=4, record="policies")
        np.testing.assert_array_equal(play.policies[0][0], pure)
        assert play.policies[0].dtype == np.float64


def test_unknown_regret():
    with pytest.raises(ValueError, match="did you mean 'external'"):
        simulate(streams.Gaussian(), Hedge(), horizon=2).regret("externl")


def test_a_single_run_agent_is_copied_for_every_run():
    play = simulate(streams.Gaussian(3), LastLoss(), horizon=10, num_runs=50, record=["policies", "losses"])
    policies, losses = play.policies[0], play.losses[0]
    np.testing.assert_array_equal(policies[1:].argmax(-1), losses[:-1].argmin(-1))
    assert len(set(policies[0].argmax(-1))) == 3, "every run draws from a generator of its own"


def test_play_and_episodes_pickle():
    play = simulate(games.shapley(), [Hedge(), Hedge()], horizon=5, rounds=[2], starting_loss_scale=1)
    again = pickle.loads(pickle.dumps(play))
    np.testing.assert_array_equal(again.at(2).regret(), play.at(2).regret())


def test_reprs_are_a_line_without_arrays():
    play = simulate(games.weighted_rps(), [Hedge(), Hedge()], horizon=20, num_runs=2, rounds=[5])
    assert repr(play) == "<Play: 20 rounds, 2 players, 2 runs, seed 0>"
    assert repr(play.gaps()) == (
        "<EquilibriumGaps, maximum over players, mean over 2 runs: cce 0.1189, ce 0.068526, swap 0.1189>"
    )


def test_progress_reports_the_rounds_played():
    seen = []
    simulate(streams.Gaussian(), Hedge(), horizon=1000, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1000
    assert len(seen) > 2


class Raised(streams.Bernoulli):
    """Losses beside a level that hides them, or that are larger than the world says."""

    def __init__(self, level, factor=1.0):
        super().__init__(3)
        self.level, self.factor = level, factor
        self.bounds = None

    def draw(self, rng, state, t, num_rounds):
        return self.level + self.factor * super().draw(rng, state, t, num_rounds)


@pytest.mark.parametrize(
    "world",
    [
        Raised(1e15),
        Raised(-1e12),
        Raised(0.0, 1e300),
        games.NormalFormGame([np.eye(2) + 1e15, 1e15 - np.eye(2)]),
    ],
)
def test_losses_whose_differences_are_lost_in_rounding_are_refused(world):
    with pytest.raises(ValueError, match="too large beside their range of 1: regret would be rounding"):
        simulate(world, Hedge(), horizon=20)


def test_losses_at_a_level_that_does_not_matter():
    raised, plain = (simulate(world, Hedge(), horizon=20).regret() for world in (Raised(1e6), Raised(0.0)))
    np.testing.assert_allclose(raised, plain, rtol=1e-8)
    large = 1e250 * np.random.default_rng(0).random((20, 3))
    assert simulate(streams.Recorded(large), Hedge(), horizon=20).regret().min() > 0
    assert simulate(streams.Recorded(np.full((20, 3), 1e15)), Hedge(), horizon=20).regret().max() <= 1
