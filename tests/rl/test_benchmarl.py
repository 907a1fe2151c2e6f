"""BenchMARL: IPPO, a short run."""

import re

import pytest

pytest.importorskip("benchmarl")


def test_ippo(run_example):
    (mean,) = re.findall(r"mean return of an episode: ([-+.\d]+)", run_example("train_benchmarl"))
    assert -20 <= float(mean) <= 0  # losses in {0, 1} for 20 rounds
