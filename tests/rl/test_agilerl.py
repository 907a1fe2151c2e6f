"""AgileRL: IPPO, a short run."""

import pytest

pytest.importorskip("agilerl")


def test_ippo(run_example):
    # The script, not an import: its environments live in processes of their own.
    printed = run_example("train_agilerl")
    assert "summed returns after each evolution step" in printed
    # Zero-sum: the summed return is 0 whatever is played.
    assert abs(float(printed.rsplit(":", 1)[1])) < 1e-6
