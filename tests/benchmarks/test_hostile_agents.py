"""Whatever an agent does, it costs its own row, and the command ends by itself."""

import contextlib
import ctypes
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import invoke

from regret_envs.agents import Agent
from regret_envs.benchmarks.running import driver, planning, runner
from regret_envs.benchmarks.running.apart import Apart, Died
from regret_envs.benchmarks.running.evaluation import evaluate
from regret_envs.benchmarks.running.executors import LocalPool
from regret_envs.benchmarks.running.results import read
from regret_envs.benchmarks.running.rows import complete_cells
from regret_envs.benchmarks.tasks.core import TASKS

pytestmark = pytest.mark.usefixtures("importable")

TASK = "weighted_rps_t20"
FILE = "regret-envs-results.jsonl"


class Base(Agent):
    """Plays uniformly, and does something in round 3."""

    def reset(self, num_actions, *, horizon, num_runs, rng):
        self.policies, self.t = np.full((num_runs, num_actions), 1 / num_actions), 0

    def act(self):
        self.t += 1
        return self.policies

    def observe(self, losses):
        if self.t == 3:
            self.act_up()

    def act_up(self):
        pass


class Exits(Base):
    def act_up(self):
        sys.exit(0)


class Leaves(Base):
    def act_up(self):
        os._exit(0)


class Crashes(Base):
    def act_up(self):
        ctypes.string_at(0)


class Hangs(Base):
    def act_up(self):
        time.sleep(1e6)


class HoldsOn(Base):
    """Hangs, and catches what would end it."""

    def act_up(self):
        while True:
            with contextlib.suppress(BaseException):
                time.sleep(1e6)


class Threads(Base):
    def act_up(self):
        threading.Thread(target=time.sleep, args=(1e6,)).start()


class Forks(Base):
    def act_up(self):
        os.fork()


class ForksAndHangs(Base):
    def act_up(self):
        if not os.fork():
            time.sleep(1e6)


class Prints(Base):
    def __init__(self):
        print("PRINTED")
        os.write(1, b"WRITTEN\n")

    act_up = __init__


class Moves(Base):
    """Leaves its process without output, in another folder and with another environment."""

    def act_up(self):
        os.chdir("/")
        os.environ.clear()
        sys.stdout = sys.stderr = None
        os.closerange(1, 3)


class StandsWhereItBegan(Base):
    def act_up(self):
        print("STANDING", flush=True)
        os.write(2, b"STANDING\n")
        if os.getcwd() == "/" or "PYTHONPATH" not in os.environ:
            raise ValueError("moved")


class InitExits(Base):
    def __init__(self):
        sys.exit(0)


class InitLeaves(Base):
    def __init__(self):
        os._exit(0)


class SaysMuch(Base):
    def act_up(self):
        raise ValueError("y" * 5_000_000)


class NoStr(Exception):
    def __str__(self):
        raise RuntimeError("str")


class Mute(Base):
    def __repr__(self):
        raise RuntimeError("repr")

    def act_up(self):
        raise NoStr


class Nothing(BaseException):
    pass


class RaisesBase(Base):
    def act_up(self):
        raise Nothing("at all")


class Unsure(Base):
    def unsupported(self, num_actions, *, horizon):
        raise ValueError("who knows")


FAILS = {
    "Exits": "SystemExit: 0",
    "Leaves": "the worker process died each of the 3 times",
    "Crashes": "the worker process died each of the 3 times",
    "Hangs": "it ran longer than 8 s, the limit of a cell (--cell-timeout)",
    "InitExits": "SystemExit: 0",
    "InitLeaves": "the worker process died each of the 3 times",
    "SaysMuch": "ValueError: yyy",
    "Mute": "NoStr: <exception str() failed>",
    "RaisesBase": "Nothing: at all",
    "Unsure": "ValueError: who knows",
}
PLAYS = ["Threads", "Forks", "ForksAndHangs", "Prints"]
COMMAND = [sys.executable, "-c", "from regret_envs.benchmarks.cli.main import main; main()"]


def test_each_is_one_row_and_the_command_ends_by_itself(tmp_path):
    """Of ten agents that fail and four that leave something behind, in one command with one that is good."""
    agents = ",".join(["hedge", *(f"{__name__}:{name}" for name in (*FAILS, *PLAYS))])
    process = subprocess.run(
        [
            *COMMAND,
            "run",
            "--suite",
            TASK,
            "--agents",
            agents,
            "--cell-timeout",
            "8",
            "--executor",
            "local:2",
        ],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=100,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"},
    )
    assert process.returncode == 1, process.stderr
    found = {cell[0].agent: cell[0] for cell in complete_cells(read(tmp_path / FILE).rows).values()}
    rows = {name.partition(":")[2] or name: row for name, row in found.items()}
    assert {name for name, row in rows.items() if row.status == "ok"} == {"hedge", *PLAYS}
    for name, says in FAILS.items():
        assert rows[name].status == "failed" and says in rows[name].message
        assert len(rows[name].message.encode()) <= runner.MESSAGE_BYTES
        assert f"{__name__}:{name} on {TASK}: " in process.stderr
    assert "PRINTED" in process.stderr and "WRITTEN" in process.stderr
    assert "PRINTED" not in process.stdout and "WRITTEN" not in process.stdout
    assert max(map(len, process.stderr.splitlines())) < 1000
    # An agent that forks or prints plays on as one that does not.
    assert {tuple(rows[name].values) for name in PLAYS} == {tuple(rows["Prints"].values)}


def test_what_an_agent_does_to_its_process_does_not_meet_the_next(tmp_path, monkeypatch):
    """One worker measures both, the one that moves first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    agents = [f"{__name__}:Moves", f"{__name__}:StandsWhereItBegan"] * 2
    cells = planning.plan("s", [TASKS[TASK]], agents, runs=1, seed=0)
    assert [cell.agent for cell in cells] == agents[:2]
    with LocalPool(1) as pool:
        for cell in cells:
            ((rows,),) = driver.run([cell], pool)
            assert {row.status for row in rows} == {"ok"}, rows[0].message


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("Exits", 1, "SystemExit: 0"),
        ("Leaves", 1, "its process ended with status 0, as by os._exit"),
        ("Crashes", 1, "its process was killed by SIGSEGV"),
        ("Hangs", 1, "did not end within 2 s"),
        ("Threads", 0, "0 to fix"),
        ("Forks", 0, "0 to fix"),
        ("Prints", 0, "0 to fix"),
        ("InitExits", 1, "cannot be made: raised SystemExit: 0"),
        ("InitLeaves", 1, "cannot be made: its process ended with status 0"),
        ("SaysMuch", 1, "(5000000 characters)"),
        ("Mute", 1, "NoStr: (its str() raises)"),
        ("RaisesBase", 1, "Nothing: at all"),
        ("Unsure", 1, "unsupported() raised ValueError: who knows"),
    ],
)
def test_check_says_what_the_agent_did(name, code, says):
    # The time that the first import takes counts, so only the one that hangs has little.
    limit = "2" if name == "Hangs" else "60"
    result = invoke("check", f"{__name__}:{name}", "--timeout", limit, code=code)
    assert says in result.output and "PRINTED" not in result.stdout
    assert max(map(len, result.output.splitlines())) < 1000


def cells(agent, count=1):
    import msgspec

    (one,) = planning.plan("s", [TASKS[TASK]], [f"{__name__}:{agent}"], runs=1, seed=0)
    return [msgspec.structs.replace(one, seed=seed) for seed in range(count)]


def test_one_that_catches_everything_is_killed_once_and_the_others_are_run(monkeypatch):
    monkeypatch.setattr(driver, "GRACE_SECONDS", 0.5)
    todo = [*cells("HoldsOn"), *cells("Base", 20)]
    with LocalPool(1) as pool:
        rows = [cell[0] for done in driver.run(todo, pool, cell_timeout=5) for cell in done]
    failed = [row for row in rows if row.status == "failed"]
    assert [row.agent for row in failed] == [f"{__name__}:HoldsOn"] and len(rows) == 21
    assert "CellTimeout: it ran longer than 5 s" in failed[0].message


def sleepy(cell):
    time.sleep(0.5)
    return [runner.cell_row(cell, status="n/a")]


def test_a_line_about_a_cell_that_runs_for_long(monkeypatch):
    monkeypatch.setattr(driver, "SAY_SECONDS", 0.2)
    monkeypatch.setattr(driver, "LOOK_SECONDS", 0.05)
    said = []
    with LocalPool(1) as pool:
        list(driver.run(cells("Base"), pool, measure=sleepy, say=said.append))
    assert f"cell {__name__}:Base on {TASK}, runs 0 to 0, has run for 0 min" in said
    assert len(said) <= 3  # the time doubles from line to line


def test_an_interrupt_of_the_user_is_not_an_agents_failure():
    class Interrupted(Base):
        def act_up(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate({"mine": Interrupted()}, tasks=TASK, runs=1)


def test_messages_are_cut_at_4_kb_and_keep_their_ends():
    text = runner._text("\n".join(f"line {k}: ü" for k in range(2000)))
    assert (
        len(text.encode()) <= 4096 and text.startswith("line 0: ü\nline 1") and text.endswith("line 1999: ü")
    )
    assert "bytes are left out here" in text
    assert runner._text("short: \ud800") == "short: \\ud800"
    assert runner._text("z" * 10_000).endswith("z… (10000 characters)")


def raise_timeout():
    raise TimeoutError("mine")


def test_a_call_apart_returns_raises_and_dies():
    with Apart(limit=20) as apart:
        assert apart.call(len, "abc") == 3
        with pytest.raises(ValueError, match="invalid literal"):
            apart.call(int, "x")
        with pytest.raises(TimeoutError, match="mine"):
            apart.call(raise_timeout)
        with pytest.raises(Died, match="status 3"):
            apart.call(os._exit, 3)
        assert apart.call(len, "abcd") == 4
        with pytest.raises(Died, match="SystemExit: 4"):
            apart.call(sys.exit, 4)


def test_workers_leave_nothing_behind():
    """Neither a thread that never ends nor a process that was forked keeps the pool from closing."""
    with LocalPool(1) as pool:
        child = pool.submit(_fork_and_sleep).result()
        pool.submit(_start_thread).result()
    for _ in range(500):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            break
        if _is_zombie(child):
            break
        time.sleep(0.01)
    else:
        raise AssertionError(f"process {child} is still there")


def _is_zombie(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def _fork_and_sleep():
    child = os.fork()
    if not child:
        time.sleep(1e6)
    return child


def _start_thread():
    threading.Thread(target=time.sleep, args=(1e6,)).start()


@pytest.mark.parametrize("seconds", ["nan", "inf", "0", "-1"])
def test_a_limit_is_a_number_of_seconds(seconds):
    invoke("run", "--suite", TASK, "--agents", "hedge", "--cell-timeout", seconds, code=2)
    invoke("check", "hedge", "--timeout", seconds, code=2)
