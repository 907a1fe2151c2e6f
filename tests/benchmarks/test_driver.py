import itertools
import os
import signal
import sys
import time
from collections import Counter
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import msgspec
import pytest

from regret_envs.benchmarks.running import driver, planning, runner
from regret_envs.benchmarks.running.cells import needed_modules, shared_imports
from regret_envs.benchmarks.running.executors import ExecutorError, LocalPool, connect, same_code
from regret_envs.benchmarks.tasks.core import TASKS

pytestmark = pytest.mark.usefixtures("importable")

RPS = TASKS["weighted_rps_t20"]
BIASED = TASKS["biased_gaussian_d3_t20"]
JORDAN = TASKS["jordan_t1000"]


def cells(count, task=BIASED, agent="uniform"):
    (one,) = planning.plan("s", [task], [agent], runs=4, seed=0)
    return [msgspec.structs.replace(one, seed=seed) for seed in range(count)]


def row_of(cell):
    return [runner.cell_row(cell, status="ok", metric="swap_regret", round=1, values=(float(cell.seed),))]


def faulty(cell):
    """A measurement in which certain seeds fail, each in a way of its own."""
    if cell.seed == 3:
        raise SystemExit("enough")
    if cell.seed == 5:
        raise KeyboardInterrupt
    if cell.seed % 20 == 7:
        raise ValueError("seven")
    return row_of(cell)


def deadly(cell):
    if cell.seed in (4, 11):
        os.kill(os.getpid(), signal.SIGKILL)
    return row_of(cell)


def slow(cell):
    time.sleep(0.01)
    return row_of(cell)


class InlinePool:
    """Works in the driver itself; `broken` says of which submissions it dies."""

    num_workers = 2

    def __init__(self, broken=lambda n: False):
        self.broken, self.submitted, self.restarts, self.sizes = broken, 0, 0, []

    def submit(self, function, *args):
        self.submitted += 1
        if function is driver.measure_chunk:
            self.sizes.append(len(args[0]))
        future = Future()
        if self.broken(self.submitted):
            future.set_exception(BrokenProcessPool("killed"))
        else:
            future.set_result(function(*args))
        return future

    def restart(self):
        self.restarts += 1

    def explain(self, error):
        pass

    def running(self):
        return {}


def run(todo, pool, measure):
    """{seed: row}; every cell exactly once."""
    rows = [row for finished in driver.run(todo, pool, measure=measure) for c in finished for row in c]
    assert Counter(row.key for row in rows) == Counter(cell.key for cell in todo)
    return {row.seed: row for row in rows}


def test_the_same_to_the_bit_on_whatever_workers():
    todo = planning.plan("s", [RPS, BIASED, JORDAN], ["hedge", "blum-mansour"], runs=70, seed=0)

    def rows(pool):
        found = [row for finished in driver.run(todo, pool) for cell in finished for row in cell]
        return sorted(found, key=lambda r: (r.key, r.part))

    expected = rows(InlinePool())
    for num_workers in (1, 2):
        with LocalPool(num_workers) as pool:
            assert rows(pool) == expected


def test_a_cell_that_fails_loses_none_of_its_chunk():
    with LocalPool(2) as pool:
        rows = run(cells(60), pool, faulty)
    failed = {seed for seed, row in rows.items() if row.status == "failed"}
    assert failed == {3, 5, 7, 27, 47}
    assert "SystemExit: enough" in rows[3].message and "ValueError: seven" in rows[27].message


def test_cells_that_kill_their_worker_fail_and_say_so():
    with LocalPool(2) as pool:
        rows = run(cells(40), pool, deadly)
    failed = {seed: row for seed, row in rows.items() if row.status == "failed"}
    assert set(failed) == {4, 11}
    assert "the worker process died each of the 3 times that this cell was run" in failed[4].message
    assert "uniform on biased_gaussian_d3_t20" in failed[4].message


def test_a_worker_that_is_killed_costs_nothing():
    todo = cells(200)
    with LocalPool(2) as pool:
        rows = {}
        for finished in driver.run(todo, pool, measure=slow):
            if not rows:
                os.kill(next(iter(pool._executor._processes)), signal.SIGKILL)
            for (row,) in finished:
                assert row.seed not in rows
                rows[row.seed] = row
    assert len(rows) == 200 and {row.status for row in rows.values()} == {"ok"}


def test_workers_that_die_at_once_are_an_error():
    # The first chunk breaks the pool, and so does the question after the restart.
    pool = InlinePool(broken=lambda n: True)
    with pytest.raises(ExecutorError, match="die as soon as they start"):
        run(cells(3), pool, row_of)


def test_a_pool_that_breaks_now_and_then():
    pool = InlinePool(broken=lambda n: n in (3, 9, 17, 18))
    rows = run(cells(300), pool, row_of)
    assert {row.status for row in rows.values()} == {"ok"} and pool.restarts > 1


def test_a_chunk_that_comes_back_with_an_error_is_given_out_cell_by_cell():
    class Pool(InlinePool):
        def submit(self, function, *args):
            if any(cell.seed == 150 for cell in args[0]):
                self.sizes.append(len(args[0]))
                future = Future()
                future.set_exception(RuntimeError("lost on the way"))
                return future
            return super().submit(function, *args)

    pool = Pool()
    rows = run(cells(300), pool, row_of)
    assert [seed for seed, row in rows.items() if row.status == "failed"] == [150]
    assert "lost on the way" in rows[150].message


def test_chunks_grow_with_how_fast_cells_are_and_few_are_out_at_once():
    class Pool(InlinePool):
        most = 0

        def submit(self, function, *args):
            self.most = max(self.most, len(self.sizes) - len(finished))
            return super().submit(function, *args)

    pool, finished = Pool(), []
    for chunk in driver.run(cells(20_000), pool, measure=row_of):
        finished.append(len(chunk))
    assert sum(finished) == 20_000
    assert pool.sizes[:4] == [1, 1, 1, 1] and max(pool.sizes) == driver.CHUNK_CELLS
    assert len(pool.sizes) < 300 and pool.most <= 2 * pool.num_workers


def test_long_cells_go_alone():
    pool = InlinePool()
    todo = cells(10)
    queue = driver._Queue(todo)
    queue.learn(todo[:1], 5.0)
    assert [len(queue.take(1, idle=True)) for _ in range(10)] == [1] * 10 and not queue
    assert pool.sizes == []


def test_chunks_get_small_at_the_end():
    todo = cells(400)
    queue = driver._Queue(todo)
    queue.learn(todo[:1], 1e-6)
    sizes = list(itertools.takewhile(bool, iter(lambda: len(queue.take(2, idle=True)), -1)))
    assert sum(sizes) == 400 and sizes[0] == 100 and sizes[-1] == 1


def test_workers_have_one_thread_and_the_driver_keeps_its_own(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with LocalPool(1) as pool:
        assert pool.submit(os.getenv, "OMP_NUM_THREADS").result() == "1"
        assert pool.submit(os.getenv, "MKL_NUM_THREADS").result() == "1"
    assert os.environ["OMP_NUM_THREADS"] == "7" and "MKL_NUM_THREADS" not in os.environ


def test_what_names_workers():
    pool = connect("local:3")
    assert pool.num_workers == 3
    pool.close()
    for where in ("local:0", "pool", "dask://host", "ray://", "dask://h:1/x"):
        with pytest.raises(ExecutorError, match="unknown executor"):
            connect(where)


def test_a_cluster_that_is_lost_is_an_error_after_what_it_finished():
    class Pool(InlinePool):
        def submit(self, function, *args):
            if len(self.sizes) < 3:
                return super().submit(function, *args)
            self.sizes.append(0)
            future = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

        def restart(self):
            raise ExecutorError("the cluster is gone")

    rows = []
    with pytest.raises(ExecutorError, match="the cluster is gone"):
        for finished in driver.run(cells(10), Pool(), measure=row_of):
            rows += finished
    assert len(rows) == 3


@pytest.mark.parametrize(
    ("where", "module"), [("dask://h:1", "distributed"), ("ray:2", "ray"), ("ray://h:1", "ray")]
)
def test_an_extra_that_is_missing(monkeypatch, where, module):
    monkeypatch.setitem(sys.modules, module, None)
    extra = where.partition(":")[0]
    with pytest.raises(ExecutorError, match=rf'not installed: pip install "regret-envs\[{extra}\]"'):
        connect(where)


def test_workers_must_have_the_same_code():
    (cell,) = cells(1)
    mine = msgspec.structs.replace(cell, seats=(f"{__name__}:Agent",))
    needed = needed_modules([cell, mine])
    assert set(needed) == {"regret_envs", __name__}
    assert same_code(needed) is None
    assert "has a different 'regret_envs'" in same_code({**needed, "regret_envs": "0.0"})
    assert f"has a different '{__name__}'" in same_code({**needed, __name__: "0"})
    assert "lacks the module 'no_such_module': install it there" in same_code({"no_such_module": "0"})


def test_libraries_that_are_imported_once_for_all_workers(monkeypatch):
    from regret_envs.agents import registry

    entry = registry.AgentEntry("nowhere:Net", "a network", requires="torch")
    monkeypatch.setitem(registry.AGENTS, "net", entry)
    (cell,) = cells(1)
    net = msgspec.structs.replace(cell, seats=("net[depth=2]",))
    mine = msgspec.structs.replace(cell, seats=("mine:Mine",))
    assert shared_imports([*cell.seats, *mine.seats]) == []
    assert shared_imports([*cell.seats, *net.seats, *net.seats]) == ["torch"]


def test_workers_of_every_pool_have_the_drivers_environment(monkeypatch):
    for value in ("first", "second"):
        monkeypatch.setenv("REGRET_ENVS_TEST", value)
        with LocalPool(1) as pool:
            assert pool.submit(os.getenv, "REGRET_ENVS_TEST").result() == value
