"""Online policy evaluation: agents against their definitions, and regret against certainty equivalence."""

import pickle

import numpy as np
import pytest

from regret_envs.rooms.policy_evaluation.markov import boyan_chains
from regret_envs.rooms.policy_evaluation.problems import predict, value_regret
from regret_envs.rooms.policy_evaluation.softmax_td import SoftmaxTransformer
from regret_envs.rooms.policy_evaluation.value_agents import LSTD, TD0, InContextTransformer, ZeroValue

CONSTRUCTED = InContextTransformer(SoftmaxTransformer.construct(5, num_layers=10))
AGENTS = [ZeroValue(), TD0(), LSTD(), CONSTRUCTED]


def trajectories(num_runs=6, *, n=40, seed=0, **settings):
    rng = np.random.default_rng(seed)
    return boyan_chains(num_runs, rng=rng, **{"discount": 0.6, **settings}).sample(n, rng=rng)


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: type(agent).__name__)
class TestConformance:
    def test_runs_do_not_mix_and_reset_starts_anew(self, agent):
        trajectory = trajectories()
        together = predict(agent, trajectory)
        np.testing.assert_array_equal(predict(agent, trajectory), together)
        process = trajectory.process
        for run in (0, 5):
            rows = slice(run, run + 1)
            alone = type(process)(
                process.transitions[rows], process.rewards[rows], process.features[rows], process.discount
            )
            estimates = predict(agent, type(trajectory)(alone, trajectory.states[rows]))
            np.testing.assert_allclose(estimates[0], together[run], atol=1e-9)

    def test_estimates_use_the_past_alone(self, agent):
        trajectory = trajectories()
        shorter = type(trajectory)(trajectory.process, trajectory.states[:, :21])
        np.testing.assert_allclose(predict(agent, shorter), predict(agent, trajectory)[:, :20], atol=1e-12)

    def test_it_begins_at_zero_and_is_picklable(self, agent):
        copy = pickle.loads(pickle.dumps(agent))
        assert (predict(copy, trajectories())[:, 0] == 0).all()

    def test_a_discount_of_1_is_an_error(self, agent):
        with pytest.raises(ValueError, match="discount must lie in"):
            agent.reset(5, discount=1.0, num_runs=1)


def test_td0_is_its_definition():
    trajectory = trajectories(2, n=30)
    estimates = predict(TD0(step_size=0.3), trajectory)
    for run in range(2):
        x, r = trajectory.context.features[run], trajectory.context.rewards[run]
        w = np.zeros(5)
        for k in range(29):
            w = w + 0.3 * (r[k] + 0.6 * w @ x[k + 1] - w @ x[k]) * x[k]
            np.testing.assert_allclose(estimates[run, k + 1], w @ x[k + 1], atol=1e-13)


def test_lstd_with_one_hot_features_is_certainty_equivalence_and_has_no_regret():
    trajectory = trajectories(30, n=60, features="one_hot")
    estimates = predict(LSTD(ridge=1e-10), trajectory)
    np.testing.assert_allclose(estimates, trajectory.online_certainty_equivalence[:, :-1], atol=1e-7)
    np.testing.assert_allclose(value_regret(estimates, trajectory), 0.0, atol=1e-5)


def test_the_transformer_in_context_is_its_layers_on_the_prefix():
    trajectory = trajectories(3, n=20)
    estimates = predict(CONSTRUCTED, trajectory)
    for k in (1, 7, 19):
        prefix = type(trajectory)(trajectory.process, trajectory.states[:, : k + 1]).context
        layers = CONSTRUCTED.transformer.layer_values(prefix, discount=0.6)
        np.testing.assert_allclose(estimates[:, k], layers[-1, :, k], atol=1e-12)


def test_regret_is_the_excess_squared_error():
    trajectory = trajectories(3, n=10)
    values, ce = trajectory.values[:, :-1], trajectory.online_certainty_equivalence[:, :-1]
    np.testing.assert_allclose(value_regret(ce, trajectory), 0.0)
    np.testing.assert_allclose(value_regret(values, trajectory), -((ce - values) ** 2).sum(1))
    np.testing.assert_allclose(
        value_regret(np.zeros((3, 10)), trajectory), (values**2 - (ce - values) ** 2).sum(1)
    )


def test_agents_are_ranked_as_theory_has_it():
    trajectory = trajectories(200, n=60, features="one_hot")
    zero, td, lstd, transformer = (value_regret(predict(a, trajectory), trajectory).mean() for a in AGENTS)
    assert zero > td > transformer
    assert transformer < 0.1 * zero and abs(lstd) < 1e-3


def test_wrong_agents_are_errors():
    with pytest.raises(ValueError, match="step_size"):
        TD0(step_size=-1.0)
    with pytest.raises(ValueError, match="ridge must be positive"):
        LSTD(ridge=0.0)
    with pytest.raises(ValueError, match="reads 5 features a state, got 3"):
        predict(CONSTRUCTED, trajectories(num_features=3))

    class Diverged(ZeroValue):
        def values(self, features):
            return np.full(features.shape[:2], np.nan)

    with pytest.raises(ValueError, match=r"at step 0, .*Diverged.* estimated"):
        predict(Diverged(), trajectories())
