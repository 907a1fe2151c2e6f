"""Language models on the command line, against scripted servers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("openai")
from click.testing import CliRunner
from scripted_server import ScriptedServer, hedge, problem, says, uniform

from regret_envs.agents.llm.transcripts import read as read_transcript
from regret_envs.benchmarks.cli.main import main
from regret_envs.benchmarks.running.results import read
from regret_envs.benchmarks.running.rows import complete_cells

TASKS = "biased_gaussian_d3_t20,weighted_rps_t20"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A working folder with a cache of its own, and no key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGRET_ENVS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path


def invoke(*args, code=0):
    result = CliRunner().invoke(main, args)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def run(server, *args, settings="", agents="hedge,{}", code=0, tasks=TASKS, runs="4"):
    spec = f"llm[model=m,base_url={server.base_url}{settings}]"
    return invoke(
        *("run", "--suite", tasks, "--agents", agents.format(spec), "--runs", runs, "--executor", "local:2"),
        *("--results", "rows", *args),
        code=code,
    )


def values():
    """By agent's name, task, metric and round."""
    return {
        (row.agent[:3], row.task, row.metric, row.round): row.values
        for row in read("rows").rows
        if row.values
    }


def test_a_scripted_hedge_lands_on_hedges_rows():
    with ScriptedServer(hedge) as server:
        said = run(server, settings=",digits=17,concurrency=3")
    assert re.search(r"120 requests and at most about [\d,]+ tokens", said.stderr)
    assert len(server.requests) == 120
    assert server.peak <= 3  # of all processes together
    found = values()
    for (agent, *rest), of_hedge in found.items():
        if agent == "hed":
            np.testing.assert_allclose(found["llm", *rest], of_hedge, atol=1e-9)
    assert "†" not in said.stdout


def test_results_take_over_what_was_used_and_mark_who_gave_no_answer():
    def script(request, number):
        first = "It is round 1." in request["messages"][1]["content"]
        return says("<script>I decline</script>") if first else uniform(request)

    with ScriptedServer(script) as server:
        said = run(server, settings=",attempts=2,price_in=1000,price_out=1e6")
    assert re.search(r"† llm\[.*\]: 5\.0% of its decisions are uniform play", said.stdout)
    assert re.search(r"\| 1 (~ )?† +\| llm", said.stdout)
    usage = [u for cell in complete_cells(read("rows").rows).values() for _, u in cell[0].usage]
    assert sum(u.decisions for u in usage) == 120
    assert sum(u.fallbacks for u in usage) == 6
    assert sum(u.malformed for u in usage) == 12
    assert sum(u.requests for u in usage) == 126 == len(server.requests)
    assert sum(u.cost for u in usage) == pytest.approx(126 * (100 * 1000 + 10 * 1e6) / 1e6)
    status = invoke("status", "--results", "rows").stdout
    assert re.search(r"\| +120 \| +6 \| +12 \| +126 \| +0 \| +12,600 \| +1,260 \|", status)


@pytest.mark.llm
def test_a_re_run_costs_nothing():
    with ScriptedServer() as server:
        run(server, agents="{}")
        count = len(server.requests)
        run(server, "--rerun", agents="{}")
        assert len(server.requests) == count


def test_much_is_asked_for_only_with_yes():
    with ScriptedServer() as server:
        said = run(
            server, agents="{}", tasks="bernoulli_d10_t1000", runs="11", settings=",context=99999", code=2
        )
        assert "11,000 requests" in said.stderr
        assert "--yes" in said.stderr
        assert not server.requests


def test_what_fails_is_one_line_and_the_other_cells_go_on():
    def script(request, number):
        rps = "There are 20 rounds" in request["messages"][1]["content"] and number > 5
        return problem(400, "the model is tired") if rps else uniform(request)

    with ScriptedServer(script) as server:
        said = run(server, code=1)
    assert re.search(r"llm\[.*\] on \S+: .*the model is tired", said.stderr)
    assert {row.status for row in read("rows").rows if row.agent == "hedge"} == {"ok"}


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (",api_key_env=NO_SUCH_KEY", "export NO_SUCH_KEY"),
        (",context=1500", "rounds need about"),
        (",model=other", "twice"),
        (",prompts=nowhere", "no prompts 'nowhere'"),
        (",temperature=hot", "temperature must be a number"),
        (",temprature=1", "temperature"),
    ],
)
def test_bad_settings_say_what_to_do(settings, why):
    with ScriptedServer() as server:
        spec = f"llm[model=m,base_url={server.base_url}{settings}]"
        done = CliRunner().invoke(
            main, ["run", "--suite", "biased_gaussian_d3_t20", "--agents", spec, "--runs", "2"]
        )
    assert done.exit_code in (1, 2)
    assert why in done.stderr
    assert "Traceback" not in done.stderr
    assert not server.requests


def test_the_report_shows_what_was_said_escaped_and_asks_nothing(folder):
    pytest.importorskip("matplotlib")

    def script(request, number):
        first = "It is round 1." in request["messages"][1]["content"]
        return says("<script>alert(1)</script>") if first else uniform(request)

    with ScriptedServer(script) as server:
        run(server, "--transcripts", "talks", agents="{}", settings=",attempts=1", tasks="weighted_rps_t20")
        count = len(server.requests)
        files = sorted((folder / "talks").rglob("*.jsonl"))
        assert [len(read_transcript(file)) for file in files] == [20, 20]
        invoke("report", "--results", "rows", "--transcript", str(files[0]))
        shutil.rmtree(folder / "cache")
        invoke("report", "--results", "rows", "--transcript", str(files[0]))
        assert len(server.requests) == count
    page = (folder / "report.html").read_text()
    assert page.count("<script") == 1  # the page's own
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 2  # the example and the transcript
    assert "It is round 20." in page
    (folder / "no.jsonl").write_text("{}\n")
    assert "line 1" in invoke("report", "--results", "rows", "--transcript", "no.jsonl", code=1).stderr


SUITE = """
[[task]]
id = "against_a_model"
world = "games.matching_pennies"
horizon = 5
metrics = ["external_regret"]
loss_scale = 2.0
opponents = ["llm[model=m,base_url={}{}]"]
summary = "matching pennies against a language model"
"""


def test_a_model_that_a_suite_file_names_connects_only_when_allowed(folder, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sekret")
    with ScriptedServer() as server:
        (folder / "mine.toml").write_text(SUITE.format(server.base_url, ""))
        said = run(server, agents="hedge", tasks="mine.toml", code=1)
        assert "--allow-llm" in said.stderr
        assert not server.requests
        run(server, "--allow-llm", agents="hedge", tasks="mine.toml")
        assert len(server.requests) == 4 * 5
        run(server, "--rerun", agents="hedge", tasks="mine.toml")  # from the cache

        (folder / "theirs.toml").write_text(SUITE.format(server.base_url, ",api_key_env=MY_KEY"))
        said = run(server, "--allow-llm", "--seed", "1", agents="hedge", tasks="theirs.toml", code=1)
        assert "MY_KEY" in said.stderr
        assert "sekret" not in str(server.headers) + said.output
        assert len(server.requests) == 4 * 5
    (used,) = {row.usage[0][0] for row in read("rows").rows if row.usage}
    assert used.startswith("llm[")
    assert "†" not in invoke("leaderboard", "--results", "rows").stdout


def test_all_does_not_stand_for_a_model_without_a_name():
    assert "| llm " in invoke("list", "agents").stdout
    assert (
        "needs" not in invoke("run", "--suite", "weighted_rps_t20", "--agents", "hedge", "--runs", "1").stderr
    )
    said = invoke("run", "--agents", "llm", code=2)
    assert "model" in said.stderr


def test_a_missing_extra_is_named(folder):
    (folder / "openai.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'openai'\", name='openai')"
    )
    command = "from regret_envs.benchmarks.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command, "run", "--suite", "weighted_rps_t20", "--agents", "llm[model=m]"],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert 'pip install "regret-envs[llm]"' in done.stderr
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
