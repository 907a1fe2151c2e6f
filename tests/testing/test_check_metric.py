"""`check_metric` finds each kind of fault; every metric of the catalog passes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from regret_envs.metrics import METRICS, Metric
from regret_envs.testing import ConformanceError, check_metric


@pytest.mark.parametrize("name", METRICS)
def test_the_catalog_conforms(name):
    assert {f.status for f in check_metric(METRICS[name])} == {"ok"}


GOOD = Metric(
    name="own_regret",
    of=lambda play: play.regret("external"),
    unit="loss over all rounds",
    summary="as external_regret",
    normalize="regret",
)


def spoiling(play):
    value = play.regret("external")
    play.play_losses[0][...] += 1
    return value


@pytest.mark.parametrize(
    ("changes", "what", "problem"),
    [
        ({"unit": " "}, "says what it is", "unit is empty"),
        ({"name": "own regret"}, "says what it is", "name is 'own regret'"),
        ({"needs": ("a miracle",)}, "says what it is", "'a miracle'"),
        ({"normalize": "range"}, "says what it is", "normalize is 'range'"),
        ({"of": lambda play: play.regret("external").mean()}, "finite number per run", "shape ()"),
        ({"of": lambda play: play.regret("external") / 0.0}, "finite number per run", "inf"),
        ({"of": lambda play: np.zeros(4, int)}, "finite number per run", "type int64"),
        ({"of": spoiling}, "leaves play", "changed the play"),
        (
            {"of": lambda play: play.regret("external") - play.regret("external").mean()},
            "alone and in a batch",
            "run 0 measures",
        ),
        ({"of": lambda play: play.regret("external") ** 2}, "grows with the losses", "all losses doubled"),
    ],
)
def test_faults(changes, what, problem):
    assert {f.status for f in check_metric(GOOD)} == {"ok"}
    with np.errstate(all="ignore"):
        faulty = dataclasses.replace(GOOD, **changes)
        (finding,) = [f for f in check_metric(faulty, raises=False) if what in f.what]
        assert finding.status == "fails" and problem in finding.problem and finding.fix
        with pytest.raises(ConformanceError):
            check_metric(faulty)
