"""Progress without a terminal, and the log."""

import logging
import threading

import pytest
from conftest import cell, invoke

from regret_envs import progress
from regret_envs.benchmarks import evaluate
from regret_envs.benchmarks.running.pace import Pace, logger
from regret_envs.benchmarks.running.planning import plan
from regret_envs.benchmarks.tasks.core import TASKS


@pytest.fixture
def lines():
    """What is logged under `regret_envs` at the level INFO, and an event that says that something was."""

    class Lines(logging.Handler):
        def __init__(self):
            super().__init__(logging.DEBUG)
            self.texts, self.any = [], threading.Event()

        def emit(self, record):
            self.texts.append((record.name, record.levelname, record.getMessage()))
            self.any.set()

    handler, logger = Lines(), logging.getLogger("regret_envs")
    logger.addHandler(handler)
    before = logger.level
    logger.setLevel(logging.DEBUG)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(before)


def test_the_time_left_follows_from_the_cost_that_is_done():
    tasks = [TASKS["gaussian_d3_t20"], TASKS["weighted_rps_t1000"]]
    cells = plan("s", tasks, ["hedge", "ftl"], runs=4, seed=0)
    now = [100.0]
    pace = Pace(cells, clock=lambda: now[0])
    assert str(pace) == "0 of 4 cells done"
    now[0] += 30
    pace.advance([cell(c.agent, {"m": [1.0]}, key=c.key) for c in cells[:1]])
    left = 30 * (sum(c.cost for c in cells) / cells[0].cost - 1)
    assert str(pace) == f"1 of 4 cells done, about {left:.0f} s left"
    pace.advance([cell(c.agent, {}, status="failed", key=c.key) for c in cells[1:]])
    assert str(pace) == "4 of 4 cells done, 3 failed, about 0 s left"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (3571, "1 h"),
        (4800, "1 h 20 min"),
        (200_000, "55 h 33 min"),
    ],
)
def test_durations(seconds, text):
    assert progress.duration(seconds) == text


def test_a_line_is_logged_while_something_long_runs(lines, monkeypatch):
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.001)
    before = threading.active_count()
    with progress.every_minute(logger, lambda: "half of it"):
        assert lines.any.wait(30)
    assert lines.texts[0] == (logger.name, "INFO", "half of it")
    assert threading.active_count() == before


def test_evaluate_logs_every_cell_for_those_who_ask(lines):
    evaluate(["uniform"], tasks="gaussian_d3_t20", runs=2)
    assert (logger.name, "DEBUG", "uniform on gaussian_d3_t20: ok") in lines.texts


def test_the_log_of_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    args = ["--suite", "gaussian_d3_t20", "--agents", "uniform", "--runs", "2", "--executor", "local:1"]
    shown = invoke("run", *args, "--log-level", "debug").stderr
    assert "regret_envs.benchmarks.running.pace: uniform on gaussian_d3_t20: ok" in shown
    again = invoke("--log-level", "debug", "run", *args, "--rerun").stderr
    assert "uniform on gaussian_d3_t20: ok" in again
    assert "uniform on" not in invoke("run", *args, "--rerun").stderr
    assert "Invalid value for '--log-level'" in invoke("run", "--log-level", "loud", code=2).stderr
    # The handler goes with the command.
    assert not logging.getLogger("regret_envs").handlers


def test_a_command_without_a_terminal_says_how_far_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.001)
    args = ["--suite", "weighted_rps_t1000", "--agents", "blum-mansour,hedge", "--runs", "64"]
    shown = invoke("run", *args, "--executor", "local:1").stderr
    assert " of 2 cells done" in shown
    assert " cells done" not in invoke("--log-level", "warning", "run", *args, "--rerun").stderr
