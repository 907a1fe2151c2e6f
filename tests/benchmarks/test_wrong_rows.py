"""A wrong row costs itself, not the file: commands show the rest, say what is wrong and exit with 1."""

import csv
import io

import msgspec
import pytest
from conftest import cell, invoke, regrets

from regret_envs.benchmarks.running.results import Writer, read

COMMANDS = {
    "leaderboard": ["leaderboard"],
    "tables": ["leaderboard", "--tasks", "--format", "csv"],
    "status": ["status"],
    "compare": ["compare", "hedge", "rm+"],
    "report": ["report"],
    "plot": ["plot"],
    "export": ["export", "--parquet", "x.parquet"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(path, *cells):
    with Writer(path) as writer:
        for rows in cells:
            writer.append(rows)


def add(path, **fields):
    """A cell of a hand-made file."""
    rows = [msgspec.to_builtins(row) | fields for row in cell("wrong", regrets(1.0, 2.0), task="t")]
    with open(path, "ab") as file:
        file.writelines(msgspec.json.encode(row) + b"\n" for row in rows)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_goes_on_without_wrong_rows(command):
    if command in ("report", "plot"):
        pytest.importorskip("matplotlib")
    if command == "export":
        pytest.importorskip("pyarrow")
    write("r.jsonl", cell("hedge", regrets(1.0, 2.0)), cell("rm+", regrets(1.5, 2.25)))
    for fields in ({"agent": ""}, {"block": -1}, {"num_runs": 0}, {"round": 0}, {"metric": "foo"}):
        add("r.jsonl", **fields)
    add("r.jsonl", values=[1.0, 2.0, 3.0])
    add("r.jsonl", status="failed")
    result = invoke(*COMMANDS[command], "--results", "r.jsonl", code=1)
    for says in (
        "lines 10 to 13: agent: '' is not a name; skipped",
        "lines 14 to 17: block: -1 is not within",
        "lines 18 to 21: num_runs: 0 is not within",
        "lines 22 to 25: round: 0 is not within",
        "lines 26 to 29: metric: 'foo' is not built in",
        "lines 30 to 33: values: 3 for 2 runs; skipped",
        "lines 34 to 37: message: missing",
    ):
        assert f"r.jsonl, {says}" in result.stderr
    if command in ("leaderboard", "compare", "status", "tables"):
        assert "hedge" in result.stdout and "wrong" not in result.stdout
    assert "Traceback" not in result.output


def test_nothing_is_lost_where_nothing_is_wrong():
    write("r.jsonl", cell("hedge", regrets(1.0, 2.0)), cell("rm+", regrets(1.5, 2.25)))
    invoke("leaderboard", "--results", "r.jsonl", code=0)


def test_results_of_two_machines():
    write("one", cell("hedge", regrets(1.0, 2.0)), cell("ftl", {}, status="failed"))
    write("two", cell("rm+", regrets(1.5, 2.25)), cell("hedge", regrets(1.0, 2.0)))
    with open("cat", "wb") as file:
        for name in ("one", "two"):
            with open(name, "rb") as part:
                file.write(part.read())
    invoke("merge", "one", "two", "--out", "merged")
    tables = [
        invoke("leaderboard", "--tasks", "--format", "csv", *args).stdout
        for args in (
            ["--results", "one", "--results", "two"],
            ["--results", "cat"],
            ["--results", "merged"],
        )
    ]
    assert tables[0] == tables[1] == tables[2]
    assert {line["agent"] for line in csv.DictReader(io.StringIO(tables[0]))} == {"hedge", "rm+", "ftl"}
    assert len(read("merged").rows) == 2 * 4 + 1
    assert "give the name of a new file" in invoke("merge", "one", "--out", "merged", code=2).stderr


def test_doubles_that_differ_are_named_and_left_out():
    write("one", cell("hedge", regrets(1.0, 2.0)), cell("ftl", regrets(3.0, 4.0)))
    write("two", cell("rm+", regrets(1.5, 2.25)), cell("hedge", regrets(1.0, 2.5)))
    result = invoke("merge", "one", "two", "--out", "merged", code=1)
    assert "one, line 2 and two, line 6: values: hedge on t, seed 0, block 0, has results that differ" in (
        result.stderr
    )
    assert {row.agent for row in read("merged").rows} == {"ftl", "rm+"}


def test_files_that_are_not_there_or_not_files(tmp_path):
    write("one", cell("hedge", regrets(1.0, 2.0)))
    result = invoke("leaderboard", "--results", "one", "--results", "typo", code=1)
    assert "typo does not exist" in result.stderr and "hedge" in result.stdout
    for args in (["leaderboard"], ["run", "--suite", "smoke", "--agents", "hedge"], ["merge", "one"]):
        option = "--out" if args[0] == "merge" else "--results"
        assert "Traceback" not in invoke(*args, option, "", code=2).output
        assert "Traceback" not in invoke(*args, option, tmp_path, code=2).output
    result = invoke("run", "--results", "one", "--results", "two", "--suite", "smoke", code=2)
    assert "results are written to one file" in result.stderr


@pytest.mark.parametrize("command", ["plot", "report", "export", "merge"])
def test_an_output_that_cannot_be_written(command, tmp_path):
    pytest.importorskip("pyarrow" if command == "export" else "matplotlib")
    write("r", cell("hedge", regrets(1.0, 2.0)))
    (tmp_path / "file").write_text("")
    option = "--parquet" if command == "export" else "--out"
    args = ["merge", "r"] if command == "merge" else [command, "--results", "r"]
    result = invoke(*args, option, tmp_path / "file" / "below", code=1)
    assert "Error" in result.stderr and "Traceback" not in result.output


def test_formulas_are_quoted_in_csv():
    write("r", cell("hedge", regrets(1.0, -2.0), task="=1+1"), cell("@x", regrets(-1.0, -2.0), task="=1+1"))
    text = invoke("leaderboard", "--results", "r", "--tasks", "--format", "csv").stdout
    cells = [c for line in csv.reader(io.StringIO(text)) for c in line]
    assert "'=1+1" in cells and "'@x" in cells and "=1+1" not in cells
    assert "-1.5" in cells  # numbers stay numbers
    text = invoke("compare", "hedge", "@x", "--results", "r", "--format", "csv").stdout
    cells = [c for line in csv.reader(io.StringIO(text)) for c in line]
    assert "'=1+1" in cells and not [c for c in cells if c.startswith(("=", "@"))]
