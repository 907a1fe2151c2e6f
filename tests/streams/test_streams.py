"""The laws of the streams, and that a run's losses depend on the seed and the run alone."""

import numpy as np
import pytest

from regret_envs import streams
from regret_envs.names import UnknownNameError
from regret_envs.seeding import RunSeeds
from regret_envs.testing import check_world
from regret_envs.worlds import Stream

# One or more instances of every registered stream that can be made without a file or a market.
EXAMPLES: list[Stream] = [
    streams.Gaussian(4, scale=2.0),
    streams.BiasedGaussian(3),
    streams.BiasedGaussian(2, bias_scale=1.0, bias_law="uniform", noise_scale=0.1),
    streams.DriftingMean(3, drift_scale=0.3),
    streams.Bernoulli(5, gap=0.3),
    streams.SwitchingBest(4, phase_length=7),
    streams.SwitchingBest(1, phase_length=2),
    streams.Rademacher(3),
    streams.Alternating(3),
    streams.PiecewiseStationary(4, num_switches=5),
    streams.Seasonal(3, period=40),
    streams.StochasticallyConstrained(4),
    streams.SwapLowerBound(6, group_size=3),
    streams.Reversal(0.4),
    streams.MarkovModulated(4),
    streams.Garch(3),
    streams.Chirps(3),
    streams.LateNeedle(4),
    streams.Duplicated(5),
    streams.OneTerrible(4),
    streams.MisleadingLeader(4, noise=0.3),
]
# Their law is one over the whole horizon.
OF_THE_HORIZON = (
    streams.PiecewiseStationary,
    streams.SwapLowerBound,
    streams.Reversal,
    streams.Chirps,
    streams.LateNeedle,
)
# Noisy losses come near the ends of their range alone, or have none.
UNBOUNDED = (streams.MisleadingLeader, streams.Garch, streams.Chirps, streams.Duplicated)
BOUNDED = [s for s in EXAMPLES[4:] if s.num_actions > 1 and not isinstance(s, UNBOUNDED)]


def losses_of(stream, *, horizon, num_runs=1, first_run=0, seed=0, rounds=None):
    """Shape (rounds, num_runs, d): the losses of an episode's first rounds (all by default)."""
    seeds = RunSeeds(seed, num_runs, first_run)
    episode = stream.start(num_agents=1, horizon=horizon, seeds=seeds)
    policies = [np.full((num_runs, stream.num_actions), 1 / stream.num_actions)]
    return np.stack([episode.step(policies)[0].copy() for _ in range(rounds or horizon)])


def test_examples_cover_the_registry():
    made = {type(stream) for stream in EXAMPLES}
    missing = {name for name, maker in streams.STREAMS.items() if maker not in made}
    assert missing <= {"recorded", "prices", "adaptive", "best_response"}


@pytest.mark.parametrize("stream", EXAMPLES, ids=repr)
class TestConformance:
    def test_conforms(self, stream):
        assert {f.status for f in check_world(stream, num_agents=2)} == {"ok"}

    def test_a_run_is_the_same_in_a_batch_of_1_and_of_1000(self, stream):
        batch = losses_of(stream, horizon=20, num_runs=1000, seed=5)
        for run in (0, 1, 617, 999):
            alone = losses_of(stream, horizon=20, first_run=run, seed=5)
            np.testing.assert_array_equal(alone[:, 0], batch[:, run])

    def test_a_longer_horizon_only_adds_rounds(self, stream):
        if isinstance(stream, OF_THE_HORIZON):
            pytest.skip("the law is one over the whole horizon")
        short = losses_of(stream, horizon=30, num_runs=3)
        long = losses_of(stream, horizon=2000, num_runs=3, rounds=30)
        np.testing.assert_array_equal(short, long)

    def test_repr_makes_the_stream_again(self, stream):
        assert eval(repr(stream), vars(streams)) == stream


@pytest.mark.parametrize("stream", BOUNDED, ids=repr)
def test_loss_scale_is_the_range_of_bounded_losses(stream):
    losses = losses_of(stream, horizon=300, num_runs=20)
    assert losses.max() - losses.min() == stream.loss_scale


def test_loss_scale_is_the_deviation_of_the_noise_within_a_run():
    for stream in EXAMPLES[:3]:
        losses = losses_of(stream, horizon=500, num_runs=40)
        deviation = np.sqrt(losses.var(0, ddof=1).mean())
        np.testing.assert_allclose(deviation, stream.loss_scale, rtol=5 / np.sqrt(2 * losses.size))


def test_seeds_and_runs_differ():
    losses = losses_of(streams.Gaussian(2), horizon=3, num_runs=4)
    assert len(np.unique(losses)) == losses.size
    assert not np.intersect1d(losses, losses_of(streams.Gaussian(2), horizon=3, num_runs=4, seed=1)).size


@pytest.mark.parametrize("law", ["gaussian", "uniform"])
def test_biased_gaussian_has_the_stated_bias(law):
    stream = streams.BiasedGaussian(3, bias_scale=0.5, bias_law=law, noise_scale=0.0)
    bias = losses_of(stream, horizon=1, num_runs=4000)[0]
    # The variance of a sample's variance is at most 2 σ⁴ / n for both laws.
    np.testing.assert_allclose(bias.var(), 0.25, atol=5 * 0.25 * np.sqrt(2 / bias.size))
    assert abs(bias.mean()) < 5 * 0.5 / np.sqrt(bias.size)
    if law == "uniform":
        assert np.abs(bias).max() <= np.sqrt(3) * 0.5


def test_drifting_mean_walks():
    stream = streams.DriftingMean(2, drift_scale=0.3, noise_scale=0.0)
    losses = losses_of(stream, horizon=300, num_runs=500)
    steps = np.diff(losses, axis=0)
    np.testing.assert_allclose(steps.std(), 0.3, rtol=5 / np.sqrt(2 * steps.size))
    np.testing.assert_allclose(losses[-1].std(), 0.3 * np.sqrt(300), rtol=5 / np.sqrt(2 * 1000))
    noisy = losses_of(streams.DriftingMean(2, drift_scale=0.0, noise_scale=2.0), horizon=300, num_runs=50)
    np.testing.assert_allclose(noisy.std(), 2.0, rtol=5 / np.sqrt(2 * noisy.size))


def test_bernoulli_has_one_better_action_a_run():
    stream = streams.Bernoulli(4, mean=0.6, gap=0.4)
    means = losses_of(stream, horizon=1000, num_runs=200).mean(0)
    best = means.argmin(1)
    np.testing.assert_allclose(means.min(1), 0.2, atol=5.5 * np.sqrt(0.2 * 0.8 / 1000))
    others = means[np.arange(4) != best[:, None]]
    np.testing.assert_allclose(others, 0.6, atol=5.5 * np.sqrt(0.6 * 0.4 / 1000))
    counts = np.bincount(best, minlength=4)
    assert (np.abs(counts - 50) < 5 * np.sqrt(200 * 0.25 * 0.75)).all()


def test_switching_best_changes_the_best_action_every_phase():
    stream = streams.SwitchingBest(3, phase_length=50, mean=1.0, gap=1.0)
    losses = losses_of(stream, horizon=500, num_runs=100)
    # With these probabilities the best action of the phase never errs and the others always do.
    assert (losses.sum(2) == 2).all()
    best = losses.argmin(2).reshape(10, 50, 100)
    assert (best == best[:, :1]).all()
    assert (np.diff(best[:, 0], axis=0) != 0).all()
    assert (np.bincount(best[:, 0].ravel(), minlength=3) > 1000 / 3 - 5 * np.sqrt(1000)).all()


@pytest.mark.parametrize("d", [2, 3, 7])
def test_alternating_makes_follow_the_leader_linear(d):
    horizon = 60
    losses = losses_of(streams.Alternating(d), horizon=horizon)[:, 0]
    cumulative = np.cumsum(losses, axis=0)
    follower = 1 / d + sum(losses[t][cumulative[t - 1].argmin()] for t in range(1, horizon))
    assert follower == pytest.approx(1 / d + horizon - 1)
    assert cumulative[-1].min() == horizon // d


def test_rademacher_regret_is_that_of_the_lower_bound():
    losses = losses_of(streams.Rademacher(2), horizon=1, num_runs=4000)
    assert set(np.unique(losses)) == {-1.0, 1.0}
    assert abs(losses.mean()) < 5 / np.sqrt(losses.size)
    # Two actions: E[max_a −Σ ℓ(a)] → sqrt(T / π), with a standard deviation below sqrt(T).
    totals = losses_of(streams.Rademacher(2), horizon=100, num_runs=2000).sum(0)
    assert abs((-totals).max(1).mean() - np.sqrt(100 / np.pi)) < 5 * 10 / np.sqrt(2000) + 0.1


@pytest.mark.parametrize(
    ("name", "bad", "message"),
    [
        ("gaussian", {"num_actions": 0}, "num_actions must be at least 1, got 0"),
        ("gaussian", {"scale": -1.0}, "scale must be finite and not negative, got -1.0"),
        ("biased_gaussian", {"bias_law": "cauchy"}, "bias_law must be 'gaussian' or 'uniform', got 'cauchy'"),
        ("biased_gaussian", {"bias_scale": np.nan}, "bias_scale must be finite"),
        ("biased_gaussian", {"noise_scale": np.inf}, "noise_scale must be finite"),
        ("drifting", {"drift_scale": -0.1}, "drift_scale must be finite and not negative"),
        ("bernoulli", {"mean": 1.2}, "must be probabilities, gap ≥ 0; got mean 1.2, gap 0.1"),
        ("bernoulli", {"mean": 0.05}, "must be probabilities"),
        ("bernoulli", {"gap": -0.2}, "must be probabilities"),
        ("bernoulli", {"mean": np.nan}, "must be probabilities"),
        ("switching", {"phase_length": 0}, "phase_length must be at least 1, got 0"),
        ("switching", {"gap": 0.6}, "must be probabilities"),
        ("rademacher", {"num_actions": 0}, "num_actions must be at least 1"),
        ("alternating", {"num_actions": 0}, "num_actions must be at least 1"),
    ],
)
def test_bad_settings(name, bad, message):
    with pytest.raises(ValueError, match=message):
        streams.make(name, **bad)


def test_a_scale_must_be_a_number():
    for bad in ("0.5", True, [1.0], None):
        with pytest.raises(TypeError, match="scale must be a number, got "):
            streams.Gaussian(scale=bad)
    assert streams.Gaussian(scale=np.float32(2)).loss_scale == 2


def test_a_stream_that_draws_losses_of_the_wrong_shape_is_named():
    class Wrong(streams.Gaussian):
        def draw(self, rng, state, t, num_rounds):
            return super().draw(rng, state, t, num_rounds)[0]

    with pytest.raises(ValueError, match=r"Wrong\(.*\) drew losses of shape \(3,\): .* is \(5, 3\)"):
        losses_of(Wrong(3), horizon=5)


def test_make_knows_names_and_settings():
    assert streams.make("bernoulli", num_actions=10, gap=0.05) == streams.Bernoulli(10, gap=0.05)
    with pytest.raises(UnknownNameError, match="unknown stream 'gausian': did you mean 'gaussian'"):
        streams.make("gausian")
    with pytest.raises(TypeError, match="scalee"):
        streams.make("gaussian", scalee=1.0)
    with pytest.raises(TypeError, match="must be an integer"):
        streams.make("gaussian", num_actions=2.5)


class TestIrregular:
    def test_a_hidden_state_lasts_as_long_as_it_should(self):
        # The covariance of errors k rounds apart is that of the states' means, (2 stay − 1)^k.
        losses = losses_of(streams.MarkovModulated(40, num_states=2, stay=0.9), horizon=3000, num_runs=20)
        centered = losses - losses.mean(0)
        near, far = ((centered[k:] * centered[:-k]).mean() for k in (1, 5))
        assert far / near == pytest.approx(0.8**4, abs=0.05)
        one_state = losses_of(streams.MarkovModulated(3, stay=1.0), horizon=4000, num_runs=30)
        halves = one_state[:2000].mean(0) - one_state[2000:].mean(0)
        assert np.abs(halves).max() < 5 * np.sqrt(0.5 / 2000)

    def test_volatility_clusters_around_one(self):
        losses = losses_of(
            streams.Garch(4, reaction=0.1, persistence=0.8, mean_scale=0.0), horizon=3000, num_runs=20
        )
        squares = losses**2
        assert squares.mean() == pytest.approx(1.0, abs=0.05)
        deviations = squares - squares.mean(0)
        # The lag-1 autocorrelation of the squares of a GARCH(1, 1): α (1 − β (α + β)) / (1 − β (2 α + β)).
        expected = 0.1 * (1 - 0.8 * 0.9) / (1 - 0.8 * 1.0)
        found = (deviations[1:] * deviations[:-1]).mean() / (deviations**2).mean()
        assert found == pytest.approx(expected, abs=0.04)
        assert np.abs((losses[1:] * losses[:-1]).mean()) < 5 / np.sqrt(losses.size)

    def test_chirps_swing_as_often_as_they_should(self):
        stream = streams.Chirps(2, swings=8, amplitude=1.0)
        means = losses_of(stream, horizon=4000, num_runs=200).mean(1)
        assert (np.diff(np.sign(means[:, 0][np.abs(means[:, 0]) > 0.3])) != 0).sum() == 15
        np.testing.assert_allclose(means[:, 0], -means[:, 1], atol=0.6)

    def test_the_needle_comes_late(self):
        losses = losses_of(streams.LateNeedle(5, arrival=0.5, gap=0.4), horizon=400, num_runs=50)
        before, after = losses[:200].mean(0), losses[200:].mean(0)
        assert np.abs(before - 0.5).max() < 5 * np.sqrt(0.25 / 200)
        assert np.abs(np.sort(after, axis=1)[:, 0] - 0.1).max() < 0.15
        assert (after < 0.3).sum() == 50

    def test_copies_are_exact(self):
        losses = losses_of(streams.Duplicated(7), horizon=50, num_runs=3)
        assert all(np.array_equal(losses[..., a], losses[..., 0]) for a in range(4))
        assert len(np.unique(losses[0, 0])) == 4

    def test_the_terrible_action_always_loses(self):
        losses = losses_of(streams.OneTerrible(5, terrible=9.0, gap=0.3), horizon=500, num_runs=4)
        assert ((losses == 9.0).all(0).sum(-1) == 1).all()
        assert set(np.unique(losses)) == {0.0, 1.0, 9.0}
        assert np.abs(np.sort(losses.mean(0), axis=1)[:, 0] - 0.2).max() < 5 * np.sqrt(0.16 / 500)

    @pytest.mark.parametrize(
        ("name", "settings"),
        [
            ("markov_modulated", {"stay": 1.5}),
            ("markov_modulated", {"num_states": 1}),
            ("garch", {"reaction": 0.5, "persistence": 0.5}),
            ("chirps", {"amplitude": -1.0}),
            ("late_needle", {"arrival": 2.0}),
            ("late_needle", {"gap": 0.7}),
            ("duplicated", {"mean_scale": float("nan")}),
            ("one_terrible", {"num_actions": 2}),
        ],
    )
    def test_settings_out_of_range(self, name, settings):
        with pytest.raises(ValueError, match=next(iter(settings)).split("_")[-1]):
            streams.make(name, **settings)
