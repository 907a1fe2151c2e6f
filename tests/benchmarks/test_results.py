import dataclasses
import errno
import os
import re
import subprocess
import sys

import msgspec
import pytest

from regret_envs.benchmarks.running import results
from regret_envs.benchmarks.running.results import FORMAT_VERSION, ResultsError, Writer, read
from regret_envs.benchmarks.running.rows import Row, complete_cells


def row(key="k", part=0, parts=1, **fields):
    given = {
        "key": key,
        "identity": f"i{key}",
        "part": part,
        "parts": parts,
        "status": "ok",
        "suite": "s",
        "task": "t",
        "task_version": 1,
        "agent": "hedge",
        "seed": 0,
        "block": 0,
        "num_runs": 2,
        "num_actions": 3,
        "loss_scale": 1.0,
        "metric": "external_regret",
        "round": 20,
        "values": (0.1, 1 / 3),
        "code_version": "0",
    }
    return Row(**{**given, **fields})


def failed(key, **fields):
    return row(key, status="failed", metric=None, round=None, values=(), **fields)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.jsonl"


def write(path, *rows):
    with Writer(path) as writer:
        writer.append(rows)


def test_rows_come_back_to_the_bit_and_are_only_ever_added(path):
    rows = [row("a"), row("b", values=(1e-300, 0.1 + 0.2)), failed("c", message="→ ℓ\n")]
    write(path, *rows[:2])
    before = path.read_bytes()
    write(path, rows[2])
    assert path.read_bytes().startswith(before)
    contents = read(path)
    assert contents.rows == rows and contents.torn is None
    assert len(path.read_text().splitlines()) == 4


def test_no_file_and_an_empty_one_hold_nothing(path):
    assert read(path).rows == []
    path.touch()
    assert read(path).rows == []
    write(path, row())
    assert read(path).rows == [row()]


def test_the_folder_is_made(tmp_path):
    write(tmp_path / "new" / "folder" / "r.jsonl", row())
    assert read(tmp_path / "new" / "folder" / "r.jsonl").rows == [row()]


def test_a_file_torn_anywhere_is_read_and_gone_on_with(path):
    write(path, row("a"), row("b"))
    whole = path.read_bytes()
    line_ends = [i for i, byte in enumerate(whole) if byte == ord("\n")]
    for size in {
        *range(0, len(whole), 37),
        *(i + k for i in line_ends for k in (0, 1, 2) if i + k <= len(whole)),
    }:
        path.write_bytes(whole[:size])
        contents = read(path)
        lines = whole[:size].count(b"\n")
        assert contents.rows == [row("a"), row("b")][: max(lines - 1, 0)]
        assert (contents.torn is not None) == (not whole[:size].endswith(b"\n") and size > 0)
        write(path, row("c"))
        assert read(path).rows == [*contents.rows, row("c")] and read(path).torn is None


def test_a_file_that_is_not_ours(path):
    for content in (
        b"a,b\n1,2\n",
        b"{}\n",
        b'{"format": "other", "version": 1}\n',
        b"\xff\xfe\n",
        b"no newline",
    ):
        path.write_bytes(content)
        with pytest.raises(ResultsError, match=r"results\.jsonl is not a results file"):
            read(path)
        with pytest.raises(ResultsError):
            Writer(path)
        assert path.read_bytes() == content


def test_a_newer_version(path):
    header = {"format": "regret-envs results", "version": FORMAT_VERSION + 1, "more": True}
    path.write_bytes(msgspec.json.encode(header) + b"\n{}\n")
    with pytest.raises(ResultsError, match=f"newer version .*format {FORMAT_VERSION + 1}.*upgrade"):
        read(path)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (msgspec.json.encode({**msgspec.to_builtins(row()), "extra": 1}), "extra"),
        (msgspec.json.encode({**msgspec.to_builtins(row()), "seed": "0"}), "seed"),
        (b"garbage", "malformed"),
        (b"{}", "key"),
    ],
)
def test_a_line_that_is_not_a_row_is_named_and_skipped(path, line, says):
    write(path, row())
    with path.open("ab") as file:
        file.write(line + b"\n")
    write(path, row("b"))
    contents = read(path)
    assert contents.rows == [row(), row("b")]
    (problem,) = contents.skipped
    assert re.search(rf"results\.jsonl, line 3: not a row: .*{says}.*; skipped", problem)


def test_only_whole_cells_count_and_the_last_one_wins():
    def cell(key, parts, value, upto=None):
        return [row(key, i, parts, values=(value, i)) for i in range(parts if upto is None else upto)]

    rows = [
        *cell("torn", 3, 0.0, upto=2),
        *cell("a", 2, 1.0),
        *cell("b", 1, 2.0),
        *cell("torn again", 3, 3.0, upto=2),
        *cell("torn again", 3, 4.0),
        *cell("a", 2, 5.0),
        *cell("b", 1, 6.0, upto=0),
        *cell("a", 2, 7.0, upto=1),
    ]
    cells = complete_cells(rows)
    assert list(cells) == ["b", "torn again", "a"]
    assert cells["a"] == cell("a", 2, 5.0)
    assert cells["b"] == cell("b", 1, 2.0)
    assert cells["torn again"] == cell("torn again", 3, 4.0)


def test_a_file_that_another_process_writes_to_is_refused(path):
    with Writer(path) as writer:
        writer.append([row()])
        with pytest.raises(ResultsError, match=rf"being written by process {os.getpid()} of .* since 20"):
            Writer(path)
        assert read(path).rows == [row()]
    assert {p.name for p in path.parent.iterdir()} == {path.name, path.name + ".lock"}
    write(path, row("b"))
    # What says who it was may be missing; the lock counts.
    with Writer(path):
        path.with_name(path.name + ".holder").unlink()
        with pytest.raises(ResultsError, match="being written by another process"):
            Writer(path)


def test_the_lock_ends_with_a_process_that_is_killed(path):
    script = (
        "import sys, time; from regret_envs.benchmarks.running.results import Writer; "
        f"w = Writer({str(path)!r}); print('locked', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(ResultsError, match=f"process {process.pid}"):
            Writer(path)
        process.kill()
    write(path, row())
    assert read(path).rows == [row()]


def test_a_full_disk_loses_nothing(path):
    # A limit on the size of files is met as a full disk is: by a short write, then an error.
    write(path, row("a"))
    size = path.stat().st_size
    script = f"""
import resource, signal
from regret_envs.benchmarks.running.results import ResultsError, Writer, read
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({size + 500}, {size + 500}))
rows = read({str(path)!r}).rows
with Writer({str(path)!r}) as writer:
    try:
        for key in "bcdef":
            writer.append([*rows, *rows])
        print("written")
    except ResultsError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "results.jsonl cannot be written: File too large; earlier results are intact" in done.stdout
    assert path.stat().st_size < size + 500
    contents = read(path)
    assert contents.torn is None and set(contents.rows) == {row("a")}


def test_a_write_that_is_cut_short_is_gone_on_with(path):
    class Slow:
        """Takes 7 bytes at a time."""

        def __init__(self, file):
            self.file = file

        def write(self, data):
            return self.file.write(data[:7])

        def __getattr__(self, name):
            return getattr(self.file, name)

    with Writer(path) as writer:
        writer._file = Slow(writer._file)
        writer.append([row("a"), row("b")])
    assert read(path).rows == [row("a"), row("b")]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="folders are not read-only for root")
def test_a_read_only_folder(path):
    path.parent.chmod(0o500)
    with pytest.raises(PermissionError, match=path.name):
        Writer(path)
    path.parent.chmod(0o700)


def test_a_folder_without_locks_and_a_user_without_a_name(path, monkeypatch):
    def no_locks(self, timeout):
        raise OSError(errno.ENOLCK, "No locks available")

    def no_name():
        raise KeyError("uid not found")

    monkeypatch.setattr(results.getpass, "getuser", no_name)
    with Writer(path), pytest.raises(ResultsError, match=r"process \d+ of \? on"):
        Writer(path)
    monkeypatch.setattr(results.filelock.FileLock, "acquire", no_locks)
    write(path, row())
    assert read(path).rows == [row()]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"agent": ""}, "agent: '' is not a name"),
        ({"agent": "a\x1b[31m"}, r"agent: 'a\\x1b\[31m' is not a name"),
        ({"task": "a\0b"}, r"task: 'a\\x00b' is not a name"),
        ({"task": "t" * 201}, "task: 't+…' is longer than 200 characters"),
        ({"key": " "}, "key: ' ' is not a name"),
        ({"block": -1}, "block: -1 is not within 0 … "),
        ({"seed": -1}, "seed: -1 is not within 0 … "),
        ({"num_runs": 0}, "num_runs: 0 is not within 1 … "),
        ({"num_actions": 0}, "num_actions: 0 is not within 1 … "),
        ({"parts": 0}, "parts: 0 is not within 1 … "),
        ({"part": 1}, "part: 1 is not within 0 … 0"),
        ({"round": 0}, "round: 0 is not within 1 … "),
        ({"round": None}, "round: missing"),
        ({"seat": 2, "seats": ("a", "b")}, "seat: 2 is not within 0 … 1"),
        ({"seats": ("a", "")}, "seats: an agent has no name"),
        ({"loss_scale": 0.0}, "loss_scale: 0.0 is not finite and positive"),
        ({"loss_scale": 1e999}, "loss_scale: inf is not finite and positive"),
        ({"metric": None}, "metric: missing"),
        ({"metric": "foo"}, "metric: 'foo' is not built in"),
        ({"values": (1.0, 2.0, 3.0)}, "values: 3 for 2 runs"),
        ({"values": (1.0, float("inf"))}, "values: not all are finite"),
        ({"status": "failed", "values": (), "metric": None}, "message: missing, and the cell is failed"),
        ({"status": "n/a", "message": "why"}, "values: the cell is n/a and has some"),
        ({"date": "3 May"}, "date: '3 May' is not a day"),
        ({"schema": 3}, "schema: 3 is of a newer version"),
    ],
)
def test_values_that_cannot_be_are_not_written_and_are_skipped_where_they_are(path, fields, says):
    wrong = row(**{"key": "wrong", **fields})
    with Writer(path) as writer, pytest.raises(ResultsError, match=says):
        writer.append([row("a"), wrong])
    assert read(path).rows == []
    write(path, row("a"))
    line = msgspec.json.encode(msgspec.to_builtins(wrong))
    line = line.replace(b'"loss_scale":null', b'"loss_scale":1e999').replace(b",null]", b",1e999]")
    with path.open("ab") as file:
        file.write(line + b"\n" + line + b"\n")
    write(path, row("b"))
    contents = read(path)
    assert contents.rows == [row("a"), row("b")] and len(contents.skipped) == 1
    assert re.search(rf"results\.jsonl, lines 3 to 4: .*{says.split(':')[0]}", contents.skipped[0])


def test_a_metric_of_a_plug_in_says_its_direction(path):
    write(path, row(metric="mine", higher_is_better=True, unit="", normalize="none"))
    assert read(path).skipped == ()


def test_files_that_are_joined(path):
    one, two = path.with_name("one"), path.with_name("two")
    write(one, row("a", date="2026-05-04"), failed("b", message="why"), row("d"))
    write(two, row("c", date="2026-05-03"), row("b"), row("d", values=(0.1, 1 / 3 + 1e-12)))
    path.write_bytes(one.read_bytes() + two.read_bytes())
    together = read(one, two)
    assert together.skipped == () and read(path) == dataclasses.replace(together, size=path.stat().st_size)
    cells = complete_cells(together.rows)
    assert [(key, cell[0].status) for key, cell in cells.items()] == [
        ("b", "ok"),
        ("d", "ok"),
        ("c", "ok"),
        ("a", "ok"),
    ]
    write(path, row("e"))  # a joined file is written to as any other
    assert {r.key for r in read(path).rows} == set("abcde")


def test_doubles_must_agree(path):
    one, two = path.with_name("one"), path.with_name("two")
    write(one, row("a"), row("b"))
    write(two, row("x"), row("b", values=(0.1, 0.2)))
    contents = read(one, two)
    assert [r.key for r in contents.rows] == ["a", "x"]
    (problem,) = contents.skipped
    assert "one, line 3 and " in problem and "two, line 3: values: hedge on t, seed 0, block 0" in problem
    # Within what one process wrote, the later counts: it was run again.
    write(one, row("b", values=(0.1, 0.2)))
    assert read(one).skipped == () and complete_cells(read(one).rows)["b"][0].values == (0.1, 0.2)


def test_a_cell_without_a_metric_that_others_have_is_left_out(path):
    def measured(key, *metrics):
        return [row(key, i, len(metrics), metric=m) for i, m in enumerate(metrics)]

    both = ("external_regret", "swap_regret")
    write(path, *measured("a", *both), *measured("b", "external_regret"), *measured("c", *both))
    contents = read(path)
    assert {r.key for r in contents.rows} == {"a", "c"}
    assert "line 4: metric: the cell of hedge on t lacks swap_regret" in contents.skipped[0]


def test_what_was_appended_is_counted(path):
    write(path, row("a"))
    with Writer(path) as writer:
        writer.append([row("a"), row("b"), row("c", parts=2)])
        assert writer.appended() == 2


def test_a_cell_that_lacks_rows_is_named(path):
    write(path, row("a"), row("b", 0, 3), row("b", 1, 3), row("c"))
    (problem,) = read(path).unfinished
    assert "line 3: parts: 2 of the 3 rows of hedge on t, seed 0, block 0; the cell is left out" in problem
    write(path, *(row("b", i, 3) for i in range(3)))  # run again
    assert read(path).unfinished == () == read(path).skipped
