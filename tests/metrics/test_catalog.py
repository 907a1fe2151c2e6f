import dataclasses
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from regret_envs import games, plugins, simulate, streams
from regret_envs.agents import Hedge
from regret_envs.feedback import Bandit
from regret_envs.metrics import METRICS, Metric, make_metric, normalization
from regret_envs.names import UnknownNameError
from regret_envs.plugins import PluginError

GAMES = {"potential": "public_goods", "contribution": "public_goods"}
GAMES |= dict.fromkeys(("revenue", "efficiency"), "first_price_auction")
CODE = "tests_metric_plugin"


def play_for(metric, num_runs=3):
    """Play that provides what the metric needs."""
    world = games.make(GAMES.get(metric.name, "battle_of_the_sexes"))
    agents = [Hedge(step_size=0.1 + 0.3 * n) for n in range(world.num_players)]
    return simulate(
        world,
        agents,
        horizon=20,
        num_runs=num_runs,
        seed=1,
        starting_loss_scale=1.0,
        feedback=[Bandit()] if "realized actions" in metric.needs else [],
        record=("policies", "losses") if "recorded" in metric.needs else (),
        outcomes="outcomes" in metric.needs,
    )


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_a_metric_measures_play_that_provides_what_it_needs(metric):
    play = play_for(metric)
    values = metric.of(play)
    assert values.shape in {(3,), (play.num_players, 3)} and np.isfinite(values).all()
    assert metric.unit and metric.summary and metric.sign == (-1 if metric.higher_is_better else 1)
    worst = metric.sign * metric.ranked(values, None)
    for seat in range(play.num_players):
        assert (metric.sign * metric.ranked(values, seat) <= worst).all()


_STREAM_GIVES = {
    "game"
}  # what is defined in games can be computed of a stream, though no task may ask for it


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_without_what_it_needs_a_metric_is_an_error(metric):
    if set(metric.needs) <= _STREAM_GIVES:
        pytest.skip("needs nothing that a stream lacks")
    play = simulate(streams.make("gaussian"), Hedge(), horizon=20, num_runs=3)
    with pytest.raises((ValueError, KeyError)):
        metric.of(play)


def test_names_and_directions():
    assert all(name == metric.name for name, metric in METRICS.items())
    better = {name for name, metric in METRICS.items() if metric.higher_is_better}
    assert better == {"payoff", "revenue", "efficiency", "contribution"}
    regrets = {name for name, metric in METRICS.items() if metric.normalize == "regret"}
    assert regrets == {name for name in METRICS if "regret" in name}


def test_normalization_by_hand():
    of = {"loss_scale": 2.0, "horizon": 50, "num_actions": 3}
    unit = 2 * np.sqrt(50 * np.log(3) / 2)
    assert normalization("regret", **of) == pytest.approx(unit, rel=1e-15)
    assert normalization("gap", **of) == pytest.approx(unit / 50, rel=1e-15)
    assert (normalization("loss", **of), normalization("none", **of)) == (2.0, 1.0)
    assert normalization("regret", **of | {"num_actions": 1}) == 0


def test_a_plug_ins_metric(monkeypatch, tmp_path):
    metric = Metric(name="harbor", of=lambda play: play.regret()[0], unit="boats", summary="boats")
    made = "Metric(name='harbor', of=len, unit='boats', summary='x')"
    source = f"from regret_envs.metrics import Metric\nHARBOR = {made}\n"
    (tmp_path / f"{CODE}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    points = {"harbor": f"{CODE}:HARBOR", "port": f"{CODE}:HARBOR", "external_regret": f"{CODE}:HARBOR"}
    monkeypatch.setattr(
        plugins, "entry_points", lambda group: [EntryPoint(k, v, group) for k, v in points.items()]
    )
    found = make_metric("harbor")
    assert dataclasses.replace(found, of=None, summary="") == dataclasses.replace(metric, of=None, summary="")
    assert make_metric("external_regret") is METRICS["external_regret"]
    with pytest.raises(PluginError, match="not a Metric named 'port'"):
        make_metric("port")
    with pytest.raises(UnknownNameError, match="did you mean 'harbor'"):
        make_metric("harbour")
