import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from conftest import invoke

from regret_envs import plugins
from regret_envs.agents import registry
from regret_envs.benchmarks.analysis.leaderboard import leaderboard
from regret_envs.benchmarks.running.results import read

EXAMPLE = Path(__file__).parents[1] / "examples" / "plugin"
COMMAND = [sys.executable, "-c", "from regret_envs.benchmarks.cli.main import main; main()"]


@pytest.fixture
def offer(monkeypatch):
    """Entry points as if distributions offered them."""

    def offered(**groups):
        def entry_points(*, group):
            points = groups.get(group.removeprefix("regret_envs."), {})
            return [EntryPoint(name, value, group) for name, value in points.items()]

        monkeypatch.setattr(plugins, "entry_points", entry_points)

    return offered


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The example distribution, installed into a folder of its own."""
    folder = tmp_path_factory.mktemp("plugin")
    source = folder / "source"
    subprocess.run(["cp", "-r", EXAMPLE, source], check=True)
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*install, "--target", str(folder / "site"), str(source)], check=True)
    return folder / "site"


def test_the_example_is_installed_and_run(installed, tmp_path):
    def call(*args):
        env = {**os.environ, "PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}
        done = subprocess.run([*COMMAND, *args], cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    for kind, name in (("agents", "lazy-hedge"), ("tasks", "tides_d4_t200"), ("suites", "tides")):
        (line,) = [line for line in call("list", kind).splitlines() if f"| {name} " in line]
        assert "a plug-in of regret-envs-example 0.1.0" in line
    out = call(
        "run",
        "--suite",
        "tides",
        "--agents",
        "lazy-hedge,lazy-hedge[every=1],uniform",
        "--runs=8",
        "--tables",
    )
    assert "tides_d4_t200 (version 1): T = 200, 8 runs" in out and "weighted_rps_t20" in out
    rows = read(tmp_path / "regret-envs-results.jsonl").rows
    (tides,) = [t for t in leaderboard(rows).tasks if t.task == "tides_d4_t200"]
    regret = {e.agent: e.estimates["external_regret"].mean for e in tides.entries}
    assert set(regret) == {"lazy-hedge", "lazy-hedge[every=1]", "uniform"}
    assert "regret per round" in out
    # Losses that come and go add up to the same for all actions: uniform play has no regret.
    assert regret["uniform"] == pytest.approx(0, abs=1e-9)
    # An edited plug-in is another agent, as an edited module is.
    assert all(row.source for row in rows if "lazy" in row.agent)
    assert not any(row.source for row in rows if row.agent == "uniform")


def test_the_example_passes_its_own_tests(installed, tmp_path):
    env = {**os.environ, "PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLE / "tests")]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout + done.stderr


def test_listing_imports_no_plugin_and_a_broken_one_is_a_line(tmp_path, monkeypatch):
    (tmp_path / "a_plugin_that_breaks.py").write_text("raise RuntimeError('broken')\n")
    # A distribution as it is installed, since agents are made in a process of their own.
    (tmp_path / "bad-1.0.dist-info").mkdir()
    (tmp_path / "bad-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: bad\nVersion: 1.0\n"
    )
    target = "a_plugin_that_breaks:Thing"
    agents = f"thing = {target}\nno-target = oops\nhedge = {target}\n"
    others = f"[regret_envs.tasks]\nt = {target}\n[regret_envs.suites]\ns = {target}\n"
    (tmp_path / "bad-1.0.dist-info" / "entry_points.txt").write_text(
        f"[regret_envs.agents]\n{agents}{others}"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    out = invoke("list").stdout
    assert "| thing " in out and "| t " in out and "| s " in out
    assert "the plug-in agent 'hedge' of bad 1.0 is left out: the built-in one" in out
    assert "'no-target' of bad 1.0 is left out: 'oops' is not a \"module:object\"" in out
    assert "a_plugin_that_breaks" not in sys.modules
    for args in (["--agents", "thing"], ["--agents", "uniform", "--suite", "t"], ["--suite", "s"]):
        error = invoke("run", *args, code=2).stderr
        assert "a_plugin_that_breaks" in error or "broken" in error
        assert "bad 1.0" in error and "Traceback" not in error and len(error.splitlines()) == 1
    # With all agents it is left out, and the others are run.
    few = {name: registry.AGENTS[name] for name in ("hedge", "ftl")}
    monkeypatch.setattr(registry, "AGENTS", few)
    result = invoke("run", "--suite", "weighted_rps_t20", "--agents", "all")
    assert "thing is left out: agent 'thing', a plug-in of bad 1.0" in result.stdout
    assert registry.make("hedge").__class__.__name__ == "Hedge"


def test_near_matches_include_plugins(offer):
    offer(agents={"lazy-hedge": "m:A"}, suites={"tides": "m:S"})
    assert "did you mean 'lazy-hedge'" in invoke("run", "--agents", "lazyhedge", code=2).stderr
    assert "did you mean 'tides'" in invoke("run", "--suite", "tidse", code=2).stderr


def test_what_is_no_task_or_suite(offer):
    offer(tasks={"t": "math:pi", "other": "math:tau"}, suites={"s": "math:pi"})
    assert (
        "the plug-in task 't' of an unknown distribution is 3.14"
        in invoke("run", "--suite", "t", code=2).stderr
    )
    assert "is 3.14" in invoke("run", "--suite", "s", code=2).stderr
