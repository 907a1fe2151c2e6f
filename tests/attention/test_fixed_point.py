# ruff: noqa: E402
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from regret_envs.agents.attention import fixed_point
from regret_envs.agents.attention.fixed_point import power_iteration, stationary_distribution
from regret_envs.agents.swap.stationary import stationary_distribution as reference


def logits_of(kind, d, seed):
    """Column logits whose softmax has off-diagonals down to about 1e-6 where the chain mixes badly."""
    rng = np.random.default_rng(seed)
    logits = rng.standard_normal((d, d))
    if kind == "near identity":
        logits += np.diag(np.full(d, 13.0))
    elif kind == "near reducible":  # two blocks, 1e-6 between them
        block = np.arange(d) < d // 2
        logits -= 13.0 * (block[:, None] != block[None, :])
    elif kind == "near cycle":
        logits += 13.0 * np.roll(np.eye(d), 1, axis=0)
    return torch.tensor(logits)


def through(logits, weights, method):
    transitions = torch.softmax(logits, 0)
    pi = (
        stationary_distribution(transitions) if method == "implicit" else power_iteration(transitions, 400)[0]
    )
    return (pi * weights).sum()


def gradient_error(kind, d, seed, method):
    """Relative error of the gradient through the logits against central differences."""
    logits = logits_of(kind, d, seed).requires_grad_()
    weights = torch.tensor(np.random.default_rng(seed + 1).standard_normal(d))
    through(logits, weights, method).backward()
    numeric, step = np.zeros((d, d)), 1e-2
    with torch.no_grad():
        for i in range(d):
            for j in range(d):
                moved = [logits.detach().clone() for _ in range(4)]
                for z, by in zip(moved, (2, 1, -1, -2), strict=True):
                    z[i, j] += by * step
                f = [float(through(z, weights, "implicit")) for z in moved]
                numeric[i, j] = (-f[0] + 8 * f[1] - 8 * f[2] + f[3]) / (12 * step)
    return np.abs(logits.grad.numpy() - numeric).max() / np.abs(numeric).max()


@pytest.mark.parametrize("kind", ["mixing", "near identity", "near reducible", "near cycle"])
@pytest.mark.parametrize("d", [2, 3, 6])
def test_the_implicit_gradient_is_that_of_finite_differences(kind, d):
    for seed in range(3):
        assert gradient_error(kind, d, seed, "implicit") < 1e-6


@pytest.mark.parametrize("d", [2, 3, 6])
def test_the_unrolled_gradient_is_too_where_the_chain_mixes(d):
    for seed in range(3):
        assert gradient_error("mixing", d, seed, "unrolled") < 1e-6


def test_power_iteration_reports_its_residual():
    well = torch.softmax(logits_of("mixing", 4, 0), 0)
    pi, residual = power_iteration(well, 200)
    assert float(residual) < 1e-14 and torch.allclose(pi, stationary_distribution(well), atol=1e-12)
    badly = torch.softmax(logits_of("near reducible", 4, 0), 0)
    pi, residual = power_iteration(badly, 200)
    assert float(residual) > 1e-9
    assert float(residual) == pytest.approx(float((badly @ pi - pi).abs().sum()))
    assert float((pi - stationary_distribution(badly)).abs().max()) > 1e-3


def test_the_forward_pass_is_that_of_the_classical_agent():
    logits = np.random.default_rng(0).standard_normal((5, 4, 6, 6)) * 6
    p = torch.softmax(torch.tensor(logits), -2)
    ours = stationary_distribution(p).numpy()
    theirs = reference(np.moveaxis(p.numpy(), (-2, -1), (0, 1)))
    assert np.allclose(ours, np.moveaxis(theirs, 0, -1), rtol=1e-13, atol=0)


def test_transitions_are_left_alone_and_float32_is_kept():
    p = torch.softmax(logits_of("mixing", 3, 0).float(), 0).requires_grad_()
    before = p.detach().clone()
    pi = stationary_distribution(p)
    pi[0].backward()
    assert torch.equal(p.detach(), before) and pi.dtype == p.grad.dtype == torch.float32


def test_one_action():
    p = torch.ones(2, 1, 1, dtype=torch.float64, requires_grad=True)
    pi = stationary_distribution(p)
    pi.sum().backward()
    assert pi.tolist() == [[1.0], [1.0]] and p.grad.abs().max() == 0


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_the_markov_chain_tree_theorem_gives_the_stationary_law(d):
    trees = fixed_point.spanning_trees(d)
    assert len(trees) == d ** (d - 1) == len(torch.unique(trees, dim=0))  # Cayley
    generator = torch.Generator().manual_seed(d)
    transitions = torch.softmax(3 * torch.randn(7, d, d, generator=generator, dtype=torch.float64), -2)
    ours, theirs = (
        fixed_point.tree_distribution(transitions),
        fixed_point.stationary_distribution(transitions),
    )
    assert torch.allclose(ours, theirs, rtol=1e-12, atol=0)


def test_beyond_six_states_there_are_too_many_trees():
    with pytest.raises(ValueError, match="1 to 6 states, got 7"):
        fixed_point.spanning_trees(7)


def test_the_tree_s_gradient_is_the_implicit_one():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(5, 4, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(5, 4, generator=generator, dtype=torch.float64)
    gradients = []
    for layer in (fixed_point.tree_distribution, fixed_point.stationary_distribution):
        value = (layer(torch.softmax(logits, -2)) * weights).sum()
        gradients.append(torch.autograd.grad(value, logits)[0])
    assert torch.allclose(*gradients, rtol=1e-10, atol=1e-13)
