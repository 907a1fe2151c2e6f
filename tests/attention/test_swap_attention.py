# ruff: noqa: E402
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings
from hypothesis import strategies as st

from regret_envs import simulate
from regret_envs.agents import BlumMansour, Hedge
from regret_envs.agents.attention.swap import SwapAttention
from regret_envs.feedback import Bandit, Delayed
from regret_envs.games import NormalFormGame, random_payoffs
from regret_envs.streams import Gaussian


def model_of(form="full", d=3, seed=0, **settings):
    return SwapAttention(
        d, form=form, init_scale=0.4, generator=torch.Generator().manual_seed(seed), **settings
    ).double()


def losses_of(num_runs=3, horizon=6, d=3, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((num_runs, horizon, d)))


def literal_policies(model, losses):
    """The definition for the full form, head by head; the fixed point by a linear solve."""
    d = model.num_actions
    policies = torch.zeros_like(losses)
    for run, sequence in enumerate(losses):
        seen = []
        for t, loss in enumerate(sequence):
            columns = []
            for j in range(d):
                logits = torch.zeros(d, dtype=torch.float64)
                for x in seen:
                    logits += (model.value[j] @ x + model.value_bias[j]) * (1 + model.score[j] @ x)
                columns.append(torch.softmax(model.logit_scale * logits, 0))
            p = torch.stack(columns, 1)
            system = torch.cat(
                [(p - torch.eye(d, dtype=torch.float64))[:-1], torch.ones(1, d, dtype=torch.float64)]
            )
            pi = torch.linalg.solve(system, torch.eye(d, dtype=torch.float64)[-1])
            policies[run, t] = pi
            seen.append(torch.outer(pi, loss).flatten())
    return policies


def test_the_forward_pass_is_the_definition():
    model, losses = model_of(logit_scale=2.5), losses_of()
    assert torch.allclose(model(losses), literal_policies(model, losses), atol=1e-11)


def test_the_block_form_is_the_full_form_that_sees_its_own_block():
    block, full = model_of("block"), model_of("full")
    with torch.no_grad():
        full.value.zero_()
        full.score.zero_()
        for j, own in enumerate(full._own_blocks()):
            own.copy_(block.value[j])
            full.score[j, 3 * j : 3 * j + 3] = block.score[j]
        full.value_bias.copy_(block.value_bias)
    losses = losses_of()
    assert torch.allclose(block(losses), full(losses), atol=1e-12)
    blocks = torch.randn(2, 5, 3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(block.block_proposals(blocks), full.block_proposals(blocks), atol=1e-12)
    assert block.step_size() == pytest.approx(full.step_size())


@pytest.mark.parametrize("form", ["full", "block"])
@pytest.mark.parametrize(("d", "step_size"), [(2, 0.5), (3, 1.3), (5, 2.0)])
def test_the_theoretical_point_plays_as_blum_mansour_on_streams(form, d, step_size):
    settings = dict(horizon=100, num_runs=6, seed=3, record="policies")
    ours = simulate(Gaussian(d), SwapAttention.from_step_size(step_size, d, form=form), **settings)
    classical = simulate(Gaussian(d), BlumMansour(Hedge(step_size=step_size)), **settings)
    assert np.abs(ours.policies[0] - classical.policies[0]).max() < 1e-12


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), step_size=st.floats(0.05, 3))
def test_the_theoretical_point_plays_as_blum_mansour_in_random_games(seed, step_size):
    sizes = (2, 3, 4)
    game = NormalFormGame(random_payoffs(sizes, rng=np.random.default_rng(seed)))
    play = [
        simulate(
            game, agents, horizon=40, num_runs=3, seed=seed, starting_loss_scale=1.0, record="policies"
        ).policies
        for agents in (
            [SwapAttention.from_step_size(step_size, d) for d in sizes],
            [BlumMansour(Hedge(step_size=step_size)) for _ in sizes],
        )
    ]
    for ours, classical in zip(*play, strict=True):
        assert np.abs(ours - classical).max() < 1e-12


def test_the_published_classical_row_of_weighted_rps():
    from regret_envs.games import weighted_rps

    step_size = 3 * np.sqrt(2 * np.log(3) / 20)
    agents = [SwapAttention.from_step_size(step_size, 3) for _ in range(2)]
    gaps = simulate(weighted_rps(), agents, horizon=20).gaps()
    assert gaps.ce.max[0] == pytest.approx(0.0617213, abs=1e-7)
    assert gaps.swap.max[0] == pytest.approx(0.1040524, abs=1e-7)


def test_the_logit_scale_multiplies_what_was_trained():
    trained = model_of(logit_scale=3.0)
    plain = model_of()
    with torch.no_grad():
        plain.value *= 3
        plain.value_bias *= 3
    losses = losses_of()
    assert torch.allclose(trained(losses), plain(losses), atol=1e-12)
    assert trained.step_size() == pytest.approx(plain.step_size())
    # Training in block form is at full scale: there the factor plays no part.
    blocks = torch.randn(2, 5, 3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    assert torch.equal(trained.block_proposals(blocks), model_of().block_proposals(blocks))


def test_block_proposals_are_each_head_on_its_own_rounds():
    model = SwapAttention.from_step_size(0.7, 3)
    blocks = torch.randn(2, 6, 3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    proposals = model.block_proposals(blocks)
    for t in range(6):
        expected = torch.softmax(-0.7 * blocks[:, :t].sum(1), -1)
        assert torch.allclose(proposals[:, t], expected, atol=1e-12)


def test_round_by_round_is_the_forward_pass_and_picklable():
    model, losses = model_of("block", logit_scale=3.0), losses_of(num_runs=4)
    policies = model(losses).detach().numpy()
    model.reset(3, horizon=6, num_runs=4, rng=np.random.default_rng(0))
    for t in range(6):
        assert np.allclose(model.act(), policies[:, t], atol=1e-12)
        model.observe(losses[:, t].numpy())
        model = pickle.loads(pickle.dumps(model))
    assert not model._state.policy.requires_grad


def test_both_gradients_of_the_recurrent_form_agree_and_the_residual_is_told():
    losses = losses_of()
    gradients = []
    for fixed_point in ("implicit", "unrolled"):
        model = model_of(fixed_point=fixed_point, num_iterations=2000)
        (model(losses) * losses).sum().backward()
        gradients.append(model.value.grad)
    assert torch.allclose(*gradients, rtol=1e-6, atol=1e-10)
    assert 0 <= model.residual < 1e-12
    short = model_of(fixed_point="unrolled", num_iterations=2)
    short(losses)
    assert short.residual > 1e-4


def test_the_gradient_of_the_recurrent_form_is_that_of_finite_differences():
    model, losses = model_of("block"), losses_of()
    (model(losses) * losses).sum().backward()
    for index in [(0, 0, 0), (1, 2, 0), (2, 1, 1)]:
        values = []
        for sign in (1, -1):
            with torch.no_grad():
                model.value[index] += sign * 1e-5
                values.append(float((model(losses) * losses).sum()))
                model.value[index] -= sign * 1e-5
        assert float(model.value.grad[index]) == pytest.approx(
            (values[0] - values[1]) / 2e-5, rel=1e-6, abs=1e-8
        )


@pytest.mark.parametrize("layers", [Delayed(3), [Bandit(), Delayed(2, jitter=3)]], ids=repr)
def test_delayed_play_is_that_of_blum_mansour(layers):
    played = {"horizon": 40, "num_runs": 3, "feedback": layers, "record": "policies"}
    ours = simulate(Gaussian(3), SwapAttention.from_step_size(0.3, 3), **played)
    theirs = simulate(Gaussian(3), BlumMansour(Hedge(step_size=0.3)), **played)
    np.testing.assert_allclose(ours.policies[0], theirs.policies[0], atol=1e-12)
