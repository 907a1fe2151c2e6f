"""`validate`: does anybody's regret vanish?"""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from regret_envs import simulate
from regret_envs.agents import Hedge
from regret_envs.benchmarks import validate
from regret_envs.benchmarks.analysis.calibration import regret_curves
from regret_envs.benchmarks.analysis.vanishing import growth, trend_check
from regret_envs.benchmarks.cli.main import main
from regret_envs.benchmarks.tasks.core import SUITES, TASKS
from regret_envs.benchmarks.tasks.task import make_world


def test_the_mean_regret_of_the_runs_is_tested():
    task = TASKS["language_gaussian_d3_t25"]
    (found,) = validate(["hedge"], tasks=task.id, runs=70)
    play = simulate(make_world(task), Hedge(), horizon=25, num_runs=70, record=("policies", "losses"))
    mean = regret_curves(play.policies[0], play.losses[0]).mean(0)
    np.testing.assert_allclose(found.regret, mean, atol=1e-12)
    assert (found.task, found.agent, found.num_runs) == (task.id, "hedge", 70)
    assert found.trend == trend_check(mean)
    assert found.growth.exponent == pytest.approx(growth(mean).exponent, rel=1e-9)


def test_the_suite_is_what_language_models_can_play():
    assert SUITES["language"].runs == 8
    assert len(SUITES["language"].tasks) == 19
    for id in SUITES["language"].tasks:
        world = make_world(TASKS[id])
        assert 20 <= TASKS[id].horizon <= 50
        d = world.num_actions
        assert 2 <= (d if isinstance(d, int) else max(d)) <= 5


def test_the_command_prints_a_table_json_and_plots(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    args = ["validate", "--suite", "language_alternating_d2_t20,language_misleading_d3_t25"]
    # However its settings are written, an agent has its row.
    args += ["--agents", "hedge,ftl,hedge[ step_size = 0.50 ],ucb1", "--executor", "local:1"]
    told = CliRunner().invoke(main, [*args, "--plot", "plots"])
    assert told.exit_code == 0, told.output
    assert "| language_misleading_d3_t25  | ftl " in told.stdout
    assert told.stdout.count("hedge[step_size=0.5]") == 2
    assert "ucb1 on language_misleading_d3_t25: n/a" in told.stderr
    assert "Mean regret of 64 runs" in told.stdout
    assert len(list((tmp_path / "plots").glob("*.svg"))) == 2
    found = json.loads(CliRunner().invoke(main, [*args, "--format", "json"]).stdout)
    exponents = {(v["task"].split("_")[1], v["agent"]): v["growth"]["exponent"] for v in found}
    # The follower is misled: its regret is linear, as it is on alternating losses.
    assert exponents["misleading", "ftl"] > 0.95
    assert exponents["misleading", "hedge"] < 0.8
    assert exponents["alternating", "ftl"] > 0.9
    assert not list(tmp_path.glob("*.jsonl"))


def test_what_fails_is_said_and_status_1(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text(
        "import numpy as np\nfrom regret_envs.agents import Agent\n"
        "class Bad(Agent):\n"
        "    def reset(self, num_actions, *, horizon, num_runs, rng): pass\n"
        "    def act(self): raise RuntimeError('out of ideas')\n"
        "    def observe(self, losses): pass\n"
    )
    args = ["validate", "--suite", "language_alternating_d2_t20", "--agents", "hedge,bad:Bad"]
    told = CliRunner().invoke(main, [*args, "--executor", "local:1"])
    assert told.exit_code == 1
    assert "bad:Bad on language_alternating_d2_t20: failed: RuntimeError: out of ideas" in told.stderr
    assert "| language_alternating_d2_t20 | hedge" in told.stdout


def test_what_is_estimated_not_to_end_needs_force(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.toml").write_text(
        '[[task]]\nid = "long"\nworld = "games.chicken"\nhorizon = 5\nmetrics = ["external_regret"]\n'
        'loss_scale = 1.0\nsummary = "s"\n'
    )
    monkeypatch.setattr("regret_envs.benchmarks.tasks.size.MOST_ROUNDS", 4)
    args = ["validate", "--suite", "my.toml", "--agents", "hedge", "--executor", "local:1"]
    told = CliRunner().invoke(main, args)
    assert told.exit_code == 2 and "--force" in told.stderr
    assert "| long | hedge" in CliRunner().invoke(main, [*args, "--force"]).stdout
    with pytest.raises(ValueError, match="force=True"):
        validate(["hedge"], tasks="my.toml")
    assert len(validate(["hedge"], tasks="my.toml", force=True)) == 1
