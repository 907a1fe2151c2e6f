import os
import re
import shutil
import signal
import subprocess
import sys
import time

import msgspec
import pytest
from conftest import invoke

from regret_envs.benchmarks.analysis.board import Leaderboard
from regret_envs.benchmarks.analysis.board_tables import leaderboard_tables
from regret_envs.benchmarks.analysis.leaderboard import leaderboard
from regret_envs.benchmarks.running.results import Writer, read
from regret_envs.benchmarks.running.rows import complete_cells

FILE = "regret-envs-results.jsonl"
COMMAND = [sys.executable, "-c", "from regret_envs.benchmarks.cli.main import main; main()"]

AGENT = '''
import os, time
import numpy as np
from regret_envs.agents import Agent

class Mine(Agent):
    """Plays action `favourite`, slowly where PAUSE says so; misplays where its name says so."""
    def __init__(self, favourite=0, how=""):
        self.favourite, self.how = favourite, how
        if how == "init":
            raise OSError("no weights")
    def reset(self, num_actions, *, horizon, num_runs, rng):
        if num_actions == 2:
            time.sleep(float(os.environ.get("PAUSE", 0)))
        self.policies = np.eye(num_actions)[[self.favourite] * num_runs]
    def act(self):
        if self.how == "kills":
            os._exit(1)
        if self.how == "raises":
            print("thinking aloud")
            raise RuntimeError("out of ideas")
        return self.policies * (np.nan if self.how == "nan" else 1)
    def observe(self, losses):
        pass
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The user's working folder, with an agent of their own."""
    (tmp_path / "mypkg").mkdir()
    (tmp_path / "mypkg" / "mine.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def start(*args, **env):
    return subprocess.Popen(
        [*COMMAND, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **env},
        start_new_session=True,
    )


def call(*args, code=0, **env):
    """Standard output and standard error of the command in a process of its own."""
    process = start(*args, **env)
    out, err = process.communicate(timeout=100)
    assert process.returncode == code, (process.returncode, out, err)
    return out, err


def board(*args):
    return msgspec.json.decode(invoke("leaderboard", "--format", "json", *args).stdout, type=Leaderboard)


def means(metric="external_regret", task="biased_gaussian_d3_t20"):
    (table,) = [t for t in board().tasks if t.task == task]
    return {e.agent: e.estimates[metric].mean for e in table.entries if e.estimates}


def test_list_names_everything_there_is(folder):
    from regret_envs.agents.catalogue import AGENTS
    from regret_envs.benchmarks.tasks.core import SUITES, TASKS
    from regret_envs.games import NAMED_GAMES
    from regret_envs.streams import STREAMS

    out = invoke("list").stdout
    for name in (*AGENTS, *SUITES, *TASKS):
        assert f"| {name} " in out
    for kind, names in (("games", NAMED_GAMES), ("streams", STREAMS)):
        assert all(f"| {kind}.{name} " in out for name in names)
    # A line about each.
    assert all(
        cells[-2].strip() for cells in (line.split("|") for line in out.splitlines() if line[:1] == "|")
    )
    assert "### Agents" in out and "### Agents" not in invoke("list", "suites").stdout


def test_output_that_cannot_be_written_in_full_is_written_as_far_as_it_can(folder):
    out, _ = call("list", PYTHONIOENCODING="ascii")
    assert "| hedge " in out and "Hedge (entropy-FTRL), step ? 1/?t" in out


def test_an_interrupt_anywhere_is_status_130(folder, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("regret_envs.benchmarks.analysis.tables.show", interrupted)
    assert "Aborted" not in invoke("list", code=130).output


def test_list_imports_nothing_heavy():
    script = (
        "import sys; from regret_envs.benchmarks.cli.main import main; main(['list'], standalone_mode=False);"
        "heavy = {'torch', 'scipy', 'pandas', 'matplotlib', 'ray'};"
        "print('heavy', sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "heavy []"


def test_run_and_leaderboard(folder):
    result = invoke(
        "run", "--suite", "smoke", "--agents", "hedge[step_size=0.7],blum-mansour,uniform", "--tables"
    )
    assert "\x1b" not in result.stdout  # plain Markdown where the output is no terminal
    assert "### biased_gaussian_d3_t20 (version 1): T = 20, 64 runs" in result.stdout
    assert "### weighted_rps_t20 (version 1): T = 20, 1 run\n" in result.stdout
    assert result.stdout == invoke("leaderboard", "--suite", "smoke", "--tasks").stdout
    assert invoke("leaderboard", "--suite", "smoke", "--tasks", "--format", "md").stdout == result.stdout
    # Without being asked for tables, the scores alone; of one task, its table too.
    answer = invoke("leaderboard", "--suite", "smoke").stdout
    assert answer == result.stdout[result.stdout.index("### external regret") :]
    one = invoke("leaderboard", "--tasks", "weighted_rps_t20", "--agents", "uniform,blum-mansour").stdout
    assert "weighted_rps_t20 (version 1)" in one and "jordan" not in one and "hedge" not in one

    rps = next(t for t in board().tasks if t.task == "weighted_rps_t20")
    bm = next(e for e in rps.entries if e.agent == "blum-mansour")
    assert bm.estimates["ce_gap"].mean == pytest.approx(0.0617213, abs=1e-7)
    assert bm.estimates["ce_gap"].standard_error is None
    line = next(line for line in result.stdout.splitlines() if "0.061721" in line)
    assert "±" not in line
    by_ce = board("--metric", "ce_gap")
    assert {t.metrics[0] for t in by_ce.tasks} == {"ce_gap"} and [o.metric for o in by_ce.overall] == [
        "ce_gap"
    ]
    scores = invoke("leaderboard", "--by", "score", "--columns", "iqm,iqm_interval,runs").stdout
    assert (
        "| #   | agent" in scores and "IQM | 95 % of IQM" in " ".join(scores.split()) and "T =" not in scores
    )
    tasks = invoke("leaderboard", "--by", "task", "--columns", "nash_conv,swap_regret").stdout
    assert "scores over" not in tasks and "nash conv ↓ | swap regret ↓" in " ".join(tasks.split())
    header = invoke("leaderboard", "--format", "csv").stdout.splitlines()[0]
    assert header.startswith("task,version,horizon,rank,overlaps,agent,status,metric,mean")


@pytest.mark.parametrize("columns", ["30", "80", "300"])
def test_tables_on_a_terminal_fit_it_and_cut_no_number(folder, columns):
    agents = "hedge[step_size=0.7],blum-mansour[copies=hedge[step_size=0.987654321]],ftl"
    invoke("run", "--suite", "smoke", "--agents", agents, "--runs", "3")
    terminal = {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": columns}
    for args in (["leaderboard", "--tasks"], ["list"], ["leaderboard", "--metric", "nash_conv"]):
        text = re.sub(r"\x1b\[[0-9;]*m", "", invoke(*args, **terminal).stdout)
        assert max(map(len, text.splitlines())) <= max(80, min(int(columns), 140))
        assert "…" not in text and "|" not in text
    text = re.sub(r"\x1b\[[0-9;]*m", "", invoke("leaderboard", "--tasks", **terminal).stdout)
    said = re.findall(r"^(.*): no room for it in \d+ columns", text, flags=re.M)
    left_out = {name for names in said for name in names.split(", ")}
    assert columns != "300" or left_out <= {"on task"}
    for table in leaderboard_tables(board()):
        for row in table.rows:
            cells = dict(zip(table.columns, row, strict=True))
            assert all(cell in text for c, cell in cells.items() if c not in ("agent", *left_out))


def test_a_second_run_does_only_what_is_missing(folder):
    invoke("run", "--suite", "smoke", "--agents", "hedge", "--runs", "70")
    first = read(FILE).rows
    invoke("run", "--suite", "smoke", "--agents", "hedge", "--runs", "70")
    assert read(FILE).rows == first
    invoke("run", "--suite", "biased_gaussian_d3_t20,smoke", "--agents", "hedge,ftl", "--runs", "128")
    new = read(FILE).rows[len(first) :]
    # The second block of hedge is a longer one now, the first and the single run are there.
    assert {(r.task, r.block, r.num_runs) for r in new if r.agent == "hedge"} == {
        ("biased_gaussian_d3_t20", 1, 64),
        ("jordan_t1000", 1, 64),
    }
    assert {r.agent for r in new} == {"hedge", "ftl"}
    table = board().tasks[0]
    assert {e.estimates["external_regret"].num_runs for e in table.entries} == {128}
    count = len(read(FILE).rows)
    invoke("run", "--suite", "weighted_rps_t20", "--agents", "ftl", "--rerun")
    assert {(r.agent, r.task) for r in read(FILE).rows[count:]} == {("ftl", "weighted_rps_t20")}


def test_the_command_of_the_readme(folder):
    agents = "hedge[step_size=0.7],blum-mansour,mypkg.mine:Mine"
    call("run", "--suite", "paper", "--agents", agents, "--runs", "256", "--seed", "0")
    by_task = {t.task: {e.agent: e.estimates for e in t.entries} for t in board("--suite", "paper").tasks}
    assert set(by_task) == {"gaussian_d3_t20", "biased_gaussian_d3_t20", "weighted_rps_t20"}
    for task, agents in by_task.items():
        assert set(agents) == {"hedge[step_size=0.7]", "blum-mansour", "mypkg.mine:Mine"}
        runs = 1 if task == "weighted_rps_t20" else 256
        assert {e["external_regret"].num_runs for e in agents.values()} == {runs}


def test_an_edited_agent_is_run_again(folder):
    args = ("run", "--suite", "biased_gaussian_d3_t20", "--agents", "mypkg.mine:Mine,hedge")
    call(*args)
    cells = complete_cells(read(FILE).rows)
    before = means()
    assert call("leaderboard")[1] == ""
    (folder / "mypkg" / "mine.py").write_text(AGENT + "\n# another comment\n")
    assert "mypkg.mine:Mine was edited after its last results" in call("leaderboard")[1]
    out, _ = call(*args)
    assert len(complete_cells(read(FILE).rows)) == len(cells) + 1 and means() == before
    assert "mypkg.mine:Mine: 1 cells from before a change are left out" in out
    (folder / "mypkg" / "mine.py").write_text(AGENT.replace("favourite=0", "favourite=1"))
    call(*args)
    after = means()
    assert after["hedge"] == before["hedge"] and after["mypkg.mine:Mine"] != before["mypkg.mine:Mine"]


def test_results_of_an_agent_that_is_not_here_are_read(folder):
    call("run", "--suite", "biased_gaussian_d3_t20", "--agents", "mypkg.mine:Mine,hedge")
    shutil.rmtree(folder / "mypkg")
    out, err = call("status")
    assert (
        err == "" and out.count("mypkg.mine:Mine") == 1 and "| all                    |     2 |    2 |" in out
    )
    assert "mypkg.mine:Mine" in call("leaderboard")[0]


def test_a_failing_agent_does_not_stop_the_others_and_is_tried_again(folder):
    agents = ",".join(f"mypkg.mine:Mine[how={how}]" for how in ("raises", "nan", "init")) + ",hedge"
    args = ("run", "--suite", "smoke", "--agents", agents, "--runs", "5")
    out, err = call(*args, code=1)
    assert set(means()) == {"hedge"}
    assert (
        "9 of 12 cells failed" in err
        and "mypkg.mine:Mine[how=raises] on jordan_t1000: RuntimeError: out of ideas" in err
    )
    assert "mypkg.mine:Mine[how=nan] on weighted_rps_t20: " in err and "round 1, row 0" in err
    assert "mypkg.mine:Mine[how=init] on jordan_t1000: OSError: no weights" in err
    assert "| –   | mypkg.mine:Mine[how=nan]" in out
    assert "thinking aloud" in err and "thinking aloud" not in out
    failed = [r for r in read(FILE).rows if r.status == "failed"]
    assert len(failed) == 9
    assert all("Traceback" in r.message and "mine.py" in r.message for r in failed if "nan" not in r.agent)
    rows = len(read(FILE).rows)
    call(*args, code=1)
    assert len(read(FILE).rows) == rows + 9
    (folder / "mypkg" / "mine.py").write_text(AGENT.replace('raise RuntimeError("out of ideas")', "pass"))
    call(*args, code=1)
    assert "failed" not in {e.status for t in board().tasks for e in t.entries if "raises" in e.agent}


def wait_for(condition, process):
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)


def saved():
    return len(complete_cells(read(FILE).rows))


def test_ctrl_c_keeps_what_is_done(folder):
    # Slow on two actions: jordan's cell is in flight when the others are done.
    args = ("run", "--suite", "smoke", "--agents", "mypkg.mine:Mine", "--executor", "local:2")
    # Where tests run in the background interrupts are ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = start(*args, PAUSE="60")
    wait_for(lambda: os.path.exists(FILE) and saved() == 2, process)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130 and "Traceback" not in err and out == ""
    assert err.splitlines()[-1] == "2 of 3 saved; run again to continue"
    rows = read(FILE).rows
    call(*args, PAUSE="0")
    assert read(FILE).rows[: len(rows)] == rows and saved() == 3
    assert {r.task for r in read(FILE).rows[len(rows) :]} == {"jordan_t1000"}


def test_a_cell_that_kills_its_worker_fails_alone(folder):
    agents = "mypkg.mine:Mine[how=kills],hedge,ftl,rm+"
    _, err = call("run", "--suite", "smoke", "--agents", agents, "--runs", "5", code=1)
    assert "3 of 12 cells failed" in err and "Traceback" not in err
    assert "the worker process died each of the 3 times" in err
    assert set(means(task="weighted_rps_t20")) == {"hedge", "ftl", "rm+"}


def test_a_driver_killed_again_and_again_loses_nothing(folder):
    args = (
        "run",
        "--suite",
        "smoke",
        "--agents",
        "hedge,ftl,rm+,blum-mansour",
        "--runs",
        "192",
        "--executor",
        "local:2",
    )
    call(*args, "--results", "unbroken.jsonl")
    unbroken = leaderboard(read("unbroken.jsonl").rows)
    total = len(complete_cells(read("unbroken.jsonl").rows))
    for kill in range(1, 4):
        process = start(*args)
        wait_for(
            lambda at=kill: os.path.exists(FILE) and os.path.getsize(FILE) and saved() >= 3 * at, process
        )
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)  # the workers end too, else the pipes stay open
        assert 3 * kill <= saved() <= total
    # The worst moment: in the middle of a row.
    with open(FILE, "rb+") as file:
        file.truncate(os.path.getsize(FILE) - 10)
    assert "unfinished line" in invoke("leaderboard").stderr
    _, err = call(*args)
    assert "unfinished line" in err and "cut off" in err
    assert leaderboard(read(FILE).rows) == unbroken
    assert saved() == total


def test_an_extra_that_is_missing_is_a_line_and_status_1_where_it_was_named(folder, monkeypatch):
    from regret_envs.agents import registry

    entry = registry.AgentEntry("no_such_library.agents:Net", "a network", requires="torch")
    monkeypatch.setitem(registry.AGENTS, "net", entry)
    result = invoke("run", "--suite", "weighted_rps_t20", "--agents", "net,hedge", code=1)
    assert (
        'net is left out: no_such_library is not installed: pip install "regret-envs[torch]"' in result.stdout
    )
    assert set(means(task="weighted_rps_t20")) == {"hedge"}


def test_all_agents_and_one_more(folder, monkeypatch):
    from regret_envs.agents import catalogue

    monkeypatch.setattr(catalogue, "AGENTS", {name: catalogue.AGENTS[name] for name in ("hedge", "ftl")})
    invoke("run", "--suite", "weighted_rps_t20", "--agents", "all,mypkg.mine:Mine,hedge")
    assert set(means(task="weighted_rps_t20")) == {"hedge", "ftl", "mypkg.mine:Mine"}


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["run", "--suite", "cores"], "unknown suite or task 'cores': did you mean 'core'?"),
        (["run", "--suite", "smoke,shapley_t500"], "did you mean 'shapley_t5000'"),
        (["run", "--agents", "hegde"], "unknown agent 'hegde': did you mean 'hedge'"),
        (["run", "--agents", "hedge[stepsize=1]"], "did you mean 'step_size'"),
        (["run", "--agents", "hedge[step_size=1"], "malformed"),
        (["run", "--agents", "no_such_module:Mine"], "no_such_module"),
        (["run", "--runs", "0"], "--runs"),
        (["run", "--seed", "-1"], "--seed"),
        (["leaderboard", "--metric", "swap"], "did you mean 'swap_gap' or 'swap_regret'"),
        (["leaderboard", "--suite", "smok"], "did you mean 'smoke'?"),
        (["leaderboard", "--format", "xml"], "--format"),
        (["leaderboard", "--columns", "score,iqn"], "unknown column 'iqn': did you mean 'iqm'"),
        (["list", "agent"], "agents"),
    ],
)
def test_names_that_are_unknown(folder, args, says):
    assert says in invoke(*args, code=2).stderr
    assert not os.path.exists(FILE)


def test_results_that_cannot_be_used(folder):
    assert f"there are no results in {FILE}" in invoke("leaderboard", code=1).stderr
    with open("other.txt", "w") as file:
        file.write("hello\n")
    for command in ("run", "leaderboard"):
        error = invoke(command, "--results", "other.txt", code=1).stderr
        assert "other.txt is not a results file of regret-envs" in error
    with Writer("locked.jsonl"):
        error = invoke("run", "--suite", "smoke", "--results", "locked.jsonl", code=1).stderr
        assert "locked.jsonl is being written by process" in error
    assert (
        "unknown executor 'locl:2'"
        in invoke("run", "--suite", "smoke", "--executor", "locl:2", code=1).stderr
    )
    with open("newer.jsonl", "w") as file:
        file.write('{"format":"regret-envs results","version":99}\n')
    assert "newer version" in invoke("leaderboard", "--results", "newer.jsonl", code=1).stderr


def test_status_compare_and_export(folder):
    invoke("run", "--suite", "smoke", "--agents", "hedge,ftl", "--runs", "5", "--seed", "2")
    by_task = invoke("status").stdout
    assert "| all                    |     6 |    6 |   0 |      0 |       0 |" in by_task
    assert "|     9 |    6 |   0 |      0 |       3 |" in invoke("status", "--agents", "hedge,ftl,rm+").stdout
    assert "|     8 |    6 |" not in invoke("status", "--suite", "jordan_t1000").stdout
    out = invoke("compare", "hedge", "ftl").stdout
    assert "### hedge (first) and ftl (second)" in out and "| weighted_rps_t20       | cce gap" in out
    assert "unknown agent in the results 'hegde': did you mean 'hedge'" in (
        invoke("compare", "hegde", "ftl", code=2).stderr
    )
    invoke("run", "--suite", "jordan_t1000", "--agents", "rm+", "--runs", "5", "--seed", "3")
    error = invoke("compare", "rm+", "ftl", code=1).stderr
    assert "have no runs in common" in error and 'regret-envs run --agents "rm+,ftl"' in error
    invoke("export", "--parquet", "out.parquet")
    assert os.path.exists("out.parquet")
    assert "cannot be written" in invoke("export", "--parquet", "no/such/folder.parquet", code=1).stderr


def test_report_and_plot(folder):
    pytest.importorskip("matplotlib")
    invoke("run", "--suite", "weighted_rps_t20", "--agents", "hedge,ftl")
    assert "kB in report.html" in invoke("report").stderr
    assert (folder / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert (
        "1 figure in figures"
        in invoke("plot", "--metric", "ce_gap", "--agents", "hedge", "--by", "task").stderr
    )
    assert os.listdir("figures") == ["curves-weighted_rps_t20-ce_gap.svg"]
    told = invoke("plot", "--metric", "adaptive_regret", code=2).stderr
    assert "unknown metric in the results 'adaptive_regret'" in told


def test_train_without_torch_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for model in ("linear-attention", "universal"):
        error = invoke("train", model, "--out", "x", code=1).stderr
        assert error == 'Error: torch is not installed: pip install "regret-envs[torch]"\n'
