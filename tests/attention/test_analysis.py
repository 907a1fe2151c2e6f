# ruff: noqa: E402
import pytest

torch = pytest.importorskip("torch")

from regret_envs.agents.attention.analysis import fit_step_size, hedge_policies, logit_step_size, mass_moved


def losses_of(seed=0):
    return torch.randn(50, 10, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_hedge_is_fitted_by_its_own_step():
    for k in (0.05, 0.45, 1.7):
        policies = hedge_policies(losses_of(), k)
        assert logit_step_size(policies, losses_of()) == pytest.approx(k, rel=1e-9)
        assert fit_step_size(policies, losses_of()) == pytest.approx(k, abs=1e-4)


def test_the_fit_is_the_minimum_of_the_mass_moved():
    losses = losses_of()
    policies = 0.9 * hedge_policies(losses, 0.8) + 0.1 / 3
    k = fit_step_size(policies, losses)
    least = mass_moved(policies, hedge_policies(losses, k))
    for other in (0.95 * k, 1.05 * k):
        assert mass_moved(policies, hedge_policies(losses, other)) > least > 0


def test_mass_moved_is_total_variation_from_the_second_round_on():
    one, other = torch.zeros(1, 3, 2), torch.zeros(1, 3, 2)
    one[..., 0] = 1.0
    other[0, 0, 1] = 1.0  # round 1 does not count
    other[0, 1] = torch.tensor([0.75, 0.25])
    other[0, 2, 0] = 1.0
    assert mass_moved(one, other) == pytest.approx(0.125)
