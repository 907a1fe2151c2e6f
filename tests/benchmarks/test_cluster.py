"""Real workers and drivers that are killed; minutes, see .ci/cluster."""

import contextlib
import importlib.util
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from regret_envs.benchmarks.analysis.leaderboard import leaderboard
from regret_envs.benchmarks.running.results import read
from regret_envs.benchmarks.running.rows import complete_cells

pytestmark = pytest.mark.cluster

RUN = [sys.executable, "-c", "from regret_envs.benchmarks.cli.main import main; main()", "run"]
FILE = Path("results.jsonl")
AGENT = '''
import os, time
import numpy as np
from regret_envs.agents import Agent

class Mine(Agent):
    """Plays an action, slowly; raises where there are `favourite + 2` of them. Notes its process."""
    def __init__(self, favourite=0):
        self.favourite = favourite
    def reset(self, num_actions, *, horizon, num_runs, rng):
        with open(os.path.join(os.path.dirname(__file__), "pids"), "a") as file:
            print(os.getpid(), file=file)
        time.sleep(float(os.environ.get("PAUSE", 0.1)))
        if num_actions == self.favourite + 2:
            raise RuntimeError("out of ideas")
        self.policies = np.full((num_runs, num_actions), 0.5 / num_actions)
        self.policies[:, self.favourite % num_actions] += 0.5
    def act(self):
        return self.policies
    def observe(self, losses):
        pass
'''
TASK = """
[[task]]
id = "gaussian_d{0}_t50"
world = "streams.gaussian"
settings = {{num_actions = {0}}}
horizon = 50
metrics = ["external_regret", "swap_regret"]
loss_scale = 1.0
summary = "{0} actions"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """20 tasks and an agent of which 6 kinds make 120 cells; each kind fails in one task."""
    (tmp_path / "mine.py").write_text(AGENT)
    (tmp_path / "suite.toml").write_text("".join(TASK.format(d) for d in range(2, 22)))
    monkeypatch.chdir(tmp_path)
    # Dask's and Ray's workers find the agent where they are started.
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    # Where tests run in the background interrupts are ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return tmp_path


def command(where, kinds=6, results=FILE):
    agents = ",".join(f"mine:Mine[favourite={i}]" for i in range(kinds))
    args = ["--suite", "suite.toml", "--agents", agents, "--runs", "3", "--executor", where]
    return [*RUN, *args, "--results", str(results)]


def start(where, **settings):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command(where, **settings), start_new_session=True, **pipes)


def saved():
    return len(complete_cells(read(FILE).rows))


def wait_until(condition, process=None):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline and (process is None or process.poll() is None)
        time.sleep(0.02)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def workers(kind):
    """What --executor is given, with the cluster that it names."""
    if kind != "dask":
        yield f"{kind}:2"
        return
    port, dask = free_port(), [sys.executable, "-m", "distributed.cli"]
    scheduler = [*dask[:2], "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port)]
    worker = [*dask[:2], "distributed.cli.dask_worker", f"tcp://127.0.0.1:{port}", "--nthreads", "1"]
    worker += ["--nworkers", "2", "--no-dashboard"]
    with open("dask.log", "w") as log:
        started = [
            subprocess.Popen(args, stdout=log, stderr=log, start_new_session=True)
            for args in ([*scheduler, "--no-dashboard"], worker)
        ]
        Path("scheduler.pid").write_text(str(started[0].pid))
        try:
            wait_until(lambda: Path("dask.log").read_text().count("Starting established connection") >= 2)
            yield f"dask://127.0.0.1:{port}"
        finally:
            for process in reversed(started):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                process.wait(30)


@pytest.fixture(params=["local", "dask", "ray"])
def where(request, folder):
    if request.param != "local":
        pytest.importorskip({"dask": "distributed", "ray": "ray"}[request.param])
    with workers(request.param) as name:
        yield name


def check_all_there():
    """114 cells and 6 failures, none twice, and the same numbers as without any executor."""
    from regret_envs.benchmarks.running import planning, runner
    from regret_envs.benchmarks.tasks.suites import read_suite

    rows = read(FILE).rows
    cells = complete_cells(rows)
    assert Counter(c[0].status for c in cells.values()) == {"ok": 114, "failed": 6}
    good = Counter((row.key, row.part) for row in rows if row.status == "ok")
    assert set(good.values()) == {1} and len(good) == sum(len(c) for c in cells.values()) - 6
    failed = {(c[0].task, c[0].agent) for c in cells.values() if c[0].status == "failed"}
    assert failed == {(f"gaussian_d{i + 2}_t50", f"mine:Mine[favourite={i}]") for i in range(6)}
    assert all("out of ideas" in c[0].message for c in cells.values() if c[0].status == "failed")
    sys.path.insert(0, os.getcwd())
    try:
        (alone,) = planning.plan(
            "s", [read_suite("suite.toml")[7]], ["mine:Mine[favourite=3]"], runs=3, seed=0
        )
        expected = [(r.metric, r.round, r.values) for r in runner.measure(alone)]
    finally:
        sys.path.pop(0)
        sys.modules.pop("mine", None)
    assert [(r.metric, r.round, r.values) for r in cells[alone.key]] == expected


def test_a_worker_is_killed(where):
    process = start(where)
    wait_until(lambda: FILE.exists() and FILE.stat().st_size and saved() >= 30, process)
    os.kill(int(Path("pids").read_text().split()[-1]), signal.SIGKILL)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 1 and "6 of 120 cells failed" in err, err
    check_all_there()


def test_interrupt_and_resume(where):
    process = start(where)
    wait_until(lambda: FILE.exists() and FILE.stat().st_size and saved() >= 30, process)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "of 120 saved; run again to continue" in err, err
    count = saved()
    assert 30 <= count < 120
    process = start(where)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 1 and "6 of 120 cells failed" in err, err
    check_all_there()


def test_what_the_workers_of_a_cluster_lack_is_said(folder, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.delenv("PYTHONPATH")
    monkeypatch.setenv("PYTHONSAFEPATH", "1")  # else the working folder is on the workers' path
    with workers("dask") as where:
        done = subprocess.run(command(where), capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "the Dask worker at tcp://127.0.0.1:" in done.stderr
    assert "lacks the module 'mine': install it there (pip install mine), or start" in done.stderr


def test_a_module_that_dask_cannot_unpickle_is_named(folder, monkeypatch):
    pytest.importorskip("distributed")
    from regret_envs.benchmarks.running.dask_pool import DaskPool
    from regret_envs.benchmarks.running.executors import ExecutorError

    monkeypatch.delenv("PYTHONPATH")
    monkeypatch.setenv("PYTHONSAFEPATH", "1")  # else the working folder is on the workers' path
    with workers("dask") as where:
        pool = DaskPool(where.replace("dask", "tcp"), modules={})
        monkeypatch.syspath_prepend(folder)
        import mine

        with pytest.raises(Exception) as error:
            pool.submit(repr, mine.Mine()).result()
        with pytest.raises(ExecutorError, match="Dask workers lack the module 'mine': install it"):
            pool.explain(error.value)
        pool.close()


def test_a_scheduler_that_is_killed(folder):
    pytest.importorskip("distributed")
    with workers("dask") as where:
        process = start(where)
        wait_until(lambda: FILE.exists() and FILE.stat().st_size and saved() >= 30, process)
        os.kill(int(Path("scheduler.pid").read_text()), signal.SIGKILL)
        _, err = process.communicate(timeout=200)
    assert process.returncode == 1 and "Traceback" not in err, err
    assert "connection to the Dask scheduler is lost" in err and "saved; run again to continue" in err
    assert saved() >= 30


def test_dask_forgets_what_was_read(folder):
    pytest.importorskip("distributed")
    from regret_envs.benchmarks.running.dask_pool import DaskPool

    with workers("dask") as where:
        pool = DaskPool(where.replace("dask", "tcp"), modules={})
        for _ in range(20):
            assert pool.submit(len, "x" * 100_000).result() == 100_000
        time.sleep(0.5)
        assert len(pool._client.futures) <= 2
        pool.close()


def test_nobody_answers(folder):
    says = {"dask": "there is no Dask scheduler at", "ray": "Ray cannot be reached"}
    for kind, module in (("dask", "distributed"), ("ray", "ray")):
        done = subprocess.run(command(f"{kind}://127.0.0.1:9"), capture_output=True, text=True)
        assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
        installed = importlib.util.find_spec(module)
        assert (says[kind] if installed else f'pip install "regret-envs[{kind}]"') in done.stderr


def test_a_ray_of_our_own_beside_a_stale_cluster_file(folder):
    pytest.importorskip("ray")
    stale = Path("/tmp/ray/ray_current_cluster")
    stale.parent.mkdir(exist_ok=True)
    before = stale.read_text() if stale.exists() else None
    stale.write_text("127.0.0.1:9")
    try:
        done = subprocess.run(command("ray:2", kinds=1), capture_output=True, text=True, timeout=200)
    finally:
        stale.write_text(before) if before is not None else stale.unlink(missing_ok=True)
    assert "1 of 20 cells failed" in done.stderr, done.stderr


@pytest.mark.parametrize("where", ["local", "ray"], indirect=True)
def test_a_cell_that_hangs_fails_after_its_time(where, monkeypatch):
    """3 of 9 cells sleep for longer than a cell may run; the others end as ever."""
    monkeypatch.setenv("PAUSE", "0")
    agent = Path("mine.py")
    agent.write_text(
        AGENT.replace(
            "if num_actions ==", "if self.favourite == 2: time.sleep(600)\n        if num_actions =="
        )
    )
    Path("suite.toml").write_text("".join(TASK.format(d) for d in range(2, 5)))
    args = [*command(where, kinds=3), "--cell-timeout", "2"]
    done = subprocess.run(args, capture_output=True, text=True, timeout=200)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    # Kind 0 fails with 2 actions, kind 1 with 3; kind 2 always hangs.
    assert "5 of 9 cells failed" in done.stderr and "ran longer than 2 s" in done.stderr, done.stderr


def test_dask_has_no_time_limit(folder):
    done = subprocess.run(
        [*command("dask://127.0.0.1:9"), "--cell-timeout", "2"], capture_output=True, text=True
    )
    assert done.returncode == 2 and "a thread of a Dask worker cannot be ended" in done.stderr


def test_a_driver_that_is_killed_100_times(folder, monkeypatch):
    kinds = 12
    monkeypatch.setenv("PAUSE", "0")
    subprocess.run(command("local:2", kinds=kinds, results="unbroken.jsonl"), capture_output=True)
    monkeypatch.setenv("PAUSE", "0.5")
    unbroken = leaderboard(read("unbroken.jsonl").rows, iqm_intervals=True)
    total = len(complete_cells(read("unbroken.jsonl").rows))
    rng, kept, before = random.Random(0), 0, 0
    for _ in range(100):
        process = start("local:2", kinds=kinds)
        time.sleep(rng.uniform(0.4, 2.4))
        os.killpg(process.pid, signal.SIGKILL) if rng.random() < 0.5 else process.kill()
        process.communicate(timeout=60)
        assert saved() >= before
        kept += saved() > before
        before = saved()
    print(f"{kept} of 100 kills came after new cells; {before} of {total} cells then")
    monkeypatch.setenv("PAUSE", "0")
    subprocess.run(command("local:2", kinds=kinds), capture_output=True)
    assert leaderboard(read(FILE).rows, iqm_intervals=True) == unbroken
    assert saved() == total == 240


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs the right to mount")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_full_disk_and_then_a_larger_one(folder, small_disk):
    results = small_disk / "results.jsonl"
    done = subprocess.run(command("local:2", kinds=2, results=results), capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert "cannot be written: No space left on device; earlier results are intact" in done.stderr
    contents = read(results)
    assert contents.torn is None
    count = len(complete_cells(contents.rows))
    assert 0 < count < 40 and f"{count} of 40 saved; run again to continue" in done.stderr
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    done = subprocess.run(command("local:2", kinds=2, results=results), capture_output=True, text=True)
    assert done.returncode == 1 and "Read-only file system" in done.stderr and "Traceback" not in done.stderr
    subprocess.run(["mount", "-o", "remount,rw,size=10m", small_disk], check=True)
    subprocess.run(command("local:2", kinds=2, results=results), capture_output=True)
    assert len(complete_cells(read(results).rows)) == 40
    assert read(results).rows[: len(contents.rows)] == contents.rows
