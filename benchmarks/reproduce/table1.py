"""Table 1, the earlier work's row: with the identity operator, regret loss recovers ℓ₂-FTRL."""

from __future__ import annotations

import math

import numpy as np
import torch

from regret_envs.agents.attention.linear import LinearAttention, project_ball, project_simplex
from regret_envs.agents.attention.model import sums_before
from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.reproduce.attention import ACTIONS, HORIZON, one_layer_seeds, trained
from regret_envs.benchmarks.reproduce.checks import Check, Options, Report, write_curves
from regret_envs.benchmarks.reproduce.drawing import panels, save


def ball_step(num_actions: int, horizon: int) -> float:
    """The step c of the minimizer x_t = −c Σ_{s<t} ℓ_s of E[R_T²] over linear maps, on the unit ball.

    By Stein's lemma E[R_T²] = E Σ_t ‖x_t + S/‖S‖‖² + const with S = Σ_t ℓ_t, so c = E‖S‖ / (T d), which is
    √2 Γ((d+1)/2) / (Γ(d/2) d √T).
    """
    mean_norm = math.sqrt(2) * math.exp(math.lgamma((num_actions + 1) / 2) - math.lgamma(num_actions / 2))
    return mean_norm / (num_actions * math.sqrt(horizon))


def simplex_step(num_actions: int, horizon: int) -> float:
    """The same on the simplex, where x_t is a forecast of the best action: c = m_d / ((d−1) √T).

    m_d is the mean of the largest of d standard normals.
    """
    from scipy.integrate import quad
    from scipy.stats import norm

    def integrand(x: float) -> float:
        return float(x * num_actions * norm.pdf(x) * norm.cdf(x) ** (num_actions - 1))

    mean_largest, _ = quad(integrand, -10, 10)
    return float(mean_largest) / ((num_actions - 1) * math.sqrt(horizon))


def run(options: Options) -> Report:
    """Fit and distance to FTRL on the ball and on the simplex."""
    losses = torch.from_numpy(np.random.default_rng(103).standard_normal((8192, HORIZON, ACTIONS)))
    before = sums_before(losses)
    identity = torch.eye(ACTIONS, dtype=torch.float64)
    center = identity - 1 / ACTIONS
    checks, points = [], {}
    for domain, theory, blind, project in (
        ("ball", ball_step(ACTIONS, HORIZON), identity, project_ball),
        ("simplex", simplex_step(ACTIONS, HORIZON), center, project_simplex),
    ):
        steps, residuals, distances = [], [], []
        for seed in one_layer_seeds(options):
            model = trained(
                options,
                f"identity-{domain}",
                "linear-attention",
                seed,
                settings={"operator": "identity", "domain": domain},
                learning_rate=0.01,
                num_steps=1000,
            )
            assert isinstance(model, LinearAttention)
            # Projection onto the simplex is blind to what is added to all actions, as softmax is.
            value = blind @ model.value.detach() @ blind
            steps.append(-float(value.trace() / blind.trace()))
            residuals.append(float((value + steps[-1] * blind).norm() / value.norm()))
            with torch.no_grad():
                ours, ftrl = model(losses), project(-steps[-1] * before)
            distances.append(float((ours - ftrl)[:, 1:].norm(dim=-1).mean()))
        where = f"ℓ₂ {domain}" if domain == "ball" else domain
        checks += [
            Check.of("table1", f"{where}: FTRL step", steps, exact=theory),
            Check.of("table1", f"{where}: ‖V + cI‖ / ‖V‖ of the fit", residuals),
            Check.of("table1", f"{where}: mean ℓ₂ distance of policies to FTRL", distances),
        ]
        points[domain] = ours[:60, 1:].flatten().numpy(), ftrl[:60, 1:].flatten().numpy()
    _draw(options, points)
    notes = [
        "The published row (arXiv 2607.23333, table 1) is qualitative: regret loss recovers ℓ₂-FTRL. The "
        "exact steps are least squares.",
        "Projection is applied in play alone; the training objective never sees it. On the simplex V is "
        "compared with its rows and columns centered.",
    ]
    return Report(checks, notes)


_CAPTION = """
Linear attention with the identity in place of softmax, trained with regret loss and projected in play,
against projected FTRL with the ℓ₂ regularizer: every coordinate of the policies of 60 held-out
sequences. (a) The ℓ₂ ball, (b) the simplex. Gray: equal. The setting of table 1 of arXiv 2607.23333.
"""


def _draw(options: Options, points: dict[str, tuple[FloatArray, FloatArray]]) -> None:
    figure, axes = panels(2)
    columns: dict[str, FloatArray] = {}
    for panel, (domain, (ours, ftrl)) in zip(axes, points.items(), strict=True):
        panel.axline((0, 0), slope=1, color="0.7", linewidth=1)
        panel.scatter(ftrl, ours, s=2, alpha=0.4)
        panel.set(xlabel="projected FTRL", ylabel="trained attention")
        panel.set_title(f"ℓ₂ {domain}" if domain == "ball" else domain)
        panel.set_aspect("equal")
        columns |= {f"{domain}, ftrl": ftrl, f"{domain}, trained": ours}
    save(figure, options.out / "table1.png", _CAPTION)
    write_curves(options.out / "table1.csv", columns)
