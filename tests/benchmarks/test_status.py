from collections import Counter

from conftest import cell, regrets

from regret_envs.benchmarks.analysis.status import Asked, Progress, asked_for, progress
from regret_envs.benchmarks.running import planning, runner
from regret_envs.benchmarks.running.results import complete_cells
from regret_envs.benchmarks.tasks.core import TASKS


def test_what_a_file_was_made_for():
    rows = [
        *cell("hedge", regrets(1.0, 2.0), task="free", seed=3, block=1, suite="one"),
        *cell("ftl", regrets(1.0, 2.0), task="fixed", seed=0, suite="one"),
        *cell("ftl", regrets(*range(22)), task="fixed", seed=0, suite="two"),
    ]
    assert asked_for(rows, {"fixed"}) == [
        Asked("two", ("ftl",), 22, 0),
        Asked("one", ("hedge", "ftl"), 66, 3),
    ]


def test_counts_by_task_and_by_agent():
    tasks = [TASKS["weighted_rps_t20"], TASKS["biased_gaussian_d3_t20"]]
    cells = planning.plan("s", tasks, ["hedge", "ftl"], runs=70, seed=0)
    assert Counter(c.task.id for c in cells) == {"weighted_rps_t20": 2, "biased_gaussian_d3_t20": 4}
    done = complete_cells([row for c in cells if c.agent == "hedge" for row in runner.measure(c)])
    failed = next(c for c in cells if c.agent == "ftl" and c.block == 1)
    done[failed.key] = [runner.failed_row(failed, "why")]
    by_task, by_agent = progress(cells, done)
    assert set(by_agent) == {
        Progress("hedge", 3, 3, 0, 0, 0),
        Progress("ftl", 3, 0, 0, 1, 2),
        Progress("all", 6, 3, 0, 1, 2),
    }
    assert by_task[-1] == by_agent[-1] and by_task[0].name == "biased_gaussian_d3_t20"
