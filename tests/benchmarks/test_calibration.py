"""How often the tests of vanishing regret err."""

from __future__ import annotations

import numpy as np
import pytest

from regret_envs.benchmarks.analysis.calibration import CASES, rates

REPEATS = 200


def margin(share):
    """Three standard errors of a share."""
    return 3 * np.sqrt(share * (1 - share) / REPEATS)


def test_on_linear_regret_trend_checking_keeps_its_level_and_the_regression_does_not():
    found = rates(CASES[0], horizon=25, num_runs=8, repeats=REPEATS)
    # Blocks of few rounds keep the level up to twice: that is what the documentation says of them.
    assert found.trend < 0.05 + margin(0.05)
    assert found.blocks < 0.10 + margin(0.10)
    assert found.regression > 0.3


@pytest.mark.parametrize("case", [case for case in CASES if not case.linear], ids=lambda case: case.name)
def test_sublinear_regret_is_found(case):
    found = rates(case, horizon=25, num_runs=64, repeats=50)
    assert min(found) > 0.9
