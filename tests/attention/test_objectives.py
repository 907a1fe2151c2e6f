# ruff: noqa: E402
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings
from hypothesis import strategies as st

from regret_envs import metrics
from regret_envs.agents.attention import objectives
from regret_envs.agents.attention.linear import LinearAttention
from regret_envs.agents.attention.swap import SwapAttention
from regret_envs.names import UnknownNameError


def play_of(seed=0, num_runs=5, horizon=6, d=4):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(d), (num_runs, horizon)), rng.standard_normal((num_runs, horizon, d))


def torched(*arrays):
    return [torch.from_numpy(a) for a in arrays]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 5), horizon=st.integers(1, 7))
def test_the_regrets_are_those_of_the_metrics(seed, d, horizon):
    policies, losses = play_of(seed, horizon=horizon, d=d)
    m = metrics.play_loss_matrix(policies.swapaxes(0, 1), losses.swapaxes(0, 1))
    p, x = torched(policies, losses)
    assert np.allclose(objectives.external_regret(p, x), metrics.external_regret(m), atol=1e-12)
    assert np.allclose(objectives.swap_regret(p, x), metrics.swap_regret(m), atol=1e-12)


def test_block_regret_is_the_sum_of_the_heads_external_regrets():
    rng = np.random.default_rng(0)
    p, x = torched(rng.dirichlet(np.ones(3), (5, 6, 4)), rng.standard_normal((5, 6, 4, 3)))
    expected = sum(objectives.external_regret(p[:, :, j], x[:, :, j]) for j in range(4))
    assert torch.allclose(objectives.block_regret(p, x), expected, atol=1e-12)


def test_the_block_form_on_played_blocks_is_the_swap_regret_of_play():
    # With blocks π_t(j) ℓ_t the heads' regrets add up to the swap regret: the identity of the reduction.
    model = SwapAttention(3, init_scale=0.5, generator=torch.Generator().manual_seed(0)).double()
    losses = torch.from_numpy(play_of(d=3)[1])
    policies = model(losses)
    blocks = policies[..., None] * losses[..., None, :]
    proposals = model.block_proposals(blocks)
    assert torch.allclose(
        objectives.block_regret(proposals, blocks), objectives.swap_regret(policies, losses), atol=1e-10
    )
    for h in objectives.TRANSFORMS:
        ours = objectives.swap_regret_loss(proposals, blocks, h)
        assert torch.allclose(ours, objectives.swap_regret_loss(policies, losses, h), atol=1e-8)


def test_ball_regret_is_against_the_best_point_of_the_ball():
    points, losses = torched(*play_of(d=3))
    angle = torch.linspace(0, 2 * np.pi, 200, dtype=torch.float64)
    z = torch.linspace(-1, 1, 201, dtype=torch.float64)[:, None]
    ring = (1 - z**2).sqrt()
    sphere = torch.stack([ring * angle.cos(), ring * angle.sin(), z.expand(201, 200)], -1).reshape(-1, 3)
    best = (losses.sum(1) @ sphere.T).min(1).values
    expected = (points * losses).sum((1, 2)) - best
    assert torch.allclose(objectives.ball_regret(points, losses), expected, rtol=2e-3)


def test_every_h():
    policies, losses = play_of()
    policies[0] = np.eye(4)[losses[0].argmin(-1)]  # a negative regret
    p, x = torched(policies, losses)
    regret = objectives.external_regret(p, x).numpy()
    assert (regret < 0).any() and (regret > 0).any()
    assert float(objectives.regret_loss(p, x)) == pytest.approx((regret**2).mean())
    positive = float(objectives.regret_loss(p, x, "positive-square"))
    assert positive == pytest.approx((np.maximum(regret, 0) ** 2).mean())
    assert float(objectives.regret_loss(p, x, "exponential")) == pytest.approx(np.exp(regret).mean())
    with pytest.raises(UnknownNameError, match="did you mean 'square'"):
        objectives.regret_loss(p, x, "squre")


def test_the_surrogate_runs_from_the_mean_to_the_worst():
    regrets = torch.tensor([1.0, -2.0, 3.0, 0.5, 0.25, 2.0], dtype=torch.float64)
    mean = float(objectives.aggregate(regrets))
    assert float(objectives.aggregate(regrets, worst_of=3, temperature=1e6)) == pytest.approx(mean, rel=1e-4)
    worst = (3.0**2 + 2.0**2) / 2
    assert float(objectives.aggregate(regrets, worst_of=3, temperature=1e-3)) == pytest.approx(worst)
    weights = np.exp(np.array([1.0, -2.0, 3.0]) / 2)
    by_hand = (weights / weights.sum() * np.array([1.0, 4.0, 9.0])).sum()
    assert float(objectives.aggregate(regrets[:3], worst_of=3, temperature=2.0)) == pytest.approx(by_hand)
    with pytest.raises(ValueError, match="worst_of must divide the 6 sequences"):
        objectives.aggregate(regrets, worst_of=4)
    with pytest.raises(ValueError, match="temperature must be positive"):
        objectives.aggregate(regrets, worst_of=2, temperature=0.0)


@pytest.mark.parametrize("block", [False, True])
def test_the_hindsight_form_has_the_expectation_of_the_squared_regret_and_less_noise(block):
    generator = torch.Generator().manual_seed(0)
    shape = (40_000, 8, 3, 3) if block else (40_000, 8, 3)
    losses = torch.randn(shape, generator=generator, dtype=torch.float64)
    if block:
        model = SwapAttention(3, init_scale=0.3, generator=generator).double()
        policies, regret = model.block_proposals(losses), objectives.block_regret
    else:
        model = LinearAttention(3, init_scale=0.3, generator=generator).double()
        policies, regret = model(losses), objectives.external_regret
    with torch.no_grad():
        sample = regret(policies, losses).square()
        hindsight = objectives.hindsight_brier(policies, losses)
    difference = sample - hindsight
    error = float(difference.std()) / np.sqrt(len(difference))
    assert abs(float(difference.mean())) < 4 * error and error < 0.2 * float(sample.mean())


def test_the_gradient_of_the_hindsight_form_has_less_noise():
    model = LinearAttention.from_step_size(0.3, 3)
    gradients = {"sample": [], "hindsight": []}
    generator = torch.Generator().manual_seed(1)
    for _ in range(40):
        losses = torch.randn(500, 20, 3, generator=generator, dtype=torch.float64)
        policies = model(losses)
        for name, value in (
            ("sample", objectives.regret_loss(policies, losses)),
            ("hindsight", objectives.hindsight_brier(policies, losses).mean()),
        ):
            (gradient,) = torch.autograd.grad(value, model.value, retain_graph=True)
            gradients[name].append(float(gradient.trace()))
    sample, hindsight = (np.array(gradients[name]) for name in ("sample", "hindsight"))
    error = np.hypot(sample.std(), hindsight.std()) / np.sqrt(40)
    assert abs(sample.mean() - hindsight.mean()) < 4 * error
    assert hindsight.std() < 0.6 * sample.std()


def test_on_biased_losses_the_two_forms_differ():
    # Stein's identity needs losses whose past says nothing about the future.
    generator = torch.Generator().manual_seed(2)
    bias = 0.35 * torch.randn(20_000, 1, 3, generator=generator, dtype=torch.float64)
    losses = bias + torch.randn(20_000, 20, 3, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        policies = LinearAttention.from_step_size(0.448, 3)(losses)
        difference = objectives.external_regret(policies, losses).square() - objectives.hindsight_brier(
            policies, losses
        )
    error = float(difference.std()) / np.sqrt(len(difference))
    assert float(difference.mean()) < -40 * error  # about −60 ± 1


def test_swap_regret_the_fixed_point_and_both_gradients_against_autograd_written_out():
    """Everything anew: softmax heads, π by a linear solve, swap regret by its definition over all swaps."""
    import itertools

    generator = torch.Generator().manual_seed(4)
    d, horizon, runs = 3, 5, 4
    losses = torch.randn(runs, horizon, d, generator=generator, dtype=torch.float64)
    start = SwapAttention(d, init_scale=0.5, generator=generator).double()
    value, bias, score = (
        p.detach().clone().requires_grad_() for p in (start.value, start.value_bias, start.score)
    )
    total = 0.0
    for run in range(runs):
        policy, logits, played = torch.full((d,), 1 / d, dtype=torch.float64), torch.zeros(d, d).double(), []
        for t in range(horizon):
            played.append(policy)
            seen = torch.outer(policy, losses[run, t]).flatten()
            logits = logits + torch.stack(
                [(value[j] @ seen + bias[j]) * (1 + score[j] @ seen) for j in range(d)]
            )
            chain = torch.softmax(logits, -1).T
            system = torch.cat([(torch.eye(d).double() - chain)[:-1], torch.ones(1, d).double()])
            policy = torch.linalg.solve(system, torch.tensor([0.0] * (d - 1) + [1.0]).double())
        regret = max(
            sum(
                played[t][i] * (losses[run, t, i] - losses[run, t, swap[i]])
                for t in range(horizon)
                for i in range(d)
            )
            for swap in itertools.product(range(d), repeat=d)
        )
        total = total + regret**2 / runs
    expected = torch.autograd.grad(total, (value, bias, score))
    for fixed_point in ("implicit", "unrolled", "tree"):
        model = SwapAttention(d, fixed_point=fixed_point, num_iterations=400).double()
        model.load_state_dict(start.state_dict())
        loss = objectives.swap_regret_loss(model(losses), losses)
        assert float(loss.detach()) == pytest.approx(float(total.detach()), abs=1e-9)
        ours = torch.autograd.grad(loss, (model.value, model.value_bias, model.score))
        for a, b in zip(ours, expected, strict=True):
            assert torch.allclose(a, b, rtol=1e-7, atol=1e-9)
