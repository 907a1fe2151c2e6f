import errno
import os
import subprocess
import sys

import msgspec
import pytest

from regret_envs.benchmarks.running import results
from regret_envs.benchmarks.running.results import (
    FORMAT_VERSION,
    ResultsError,
    Row,
    Writer,
    complete_cells,
    read,
)


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


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.jsonl"


def write(path, *rows):
    with Writer(path) as writer:
        writer.append(rows)


def test_rows_come_back_to_the_bit_and_are_only_ever_added(path):
    rows = [row("a"), row("b", values=(1e-300, 0.1 + 0.2)), row("c", status="failed", message="→ ℓ\n")]
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
def test_a_line_that_is_no_row_is_named(path, line, says):
    write(path, row())
    with path.open("ab") as file:
        file.write(line + b"\n")
    with pytest.raises(ResultsError, match=rf"results\.jsonl, line 3 is not a row: .*{says}"):
        read(path)


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
