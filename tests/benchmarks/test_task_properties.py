"""Whatever a suite file says: a task that can be planned, or an error that names the file."""

import os

import msgspec
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regret_envs import feedback, games, metrics, streams
from regret_envs.benchmarks.running import planning
from regret_envs.benchmarks.tasks.checks import SuiteError, check_task, fault_of_id, sanitized_id
from regret_envs.benchmarks.tasks.core import TASKS
from regret_envs.benchmarks.tasks.suites import find_tasks, read_suite
from regret_envs.benchmarks.tasks.task import Task
from regret_envs.benchmarks.tasks.toml import suite_text

EXAMPLES = 500 if os.environ.get("HYPOTHESIS_SOAK") else 40  # .ci/soak
FEW = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

FLOATS = st.floats() | st.sampled_from([0.0, 1.0, -1.0, 1e308, 5e-324])
COUNTS = st.integers(-1, 6) | st.sampled_from([-(2**63), 10**9, 10**12, 2**53 + 1, 2**62])
VALUES = st.recursive(
    st.booleans() | COUNTS | FLOATS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
NAMES = st.sampled_from(
    ["num_actions", "scale", "gap", "num_players", "weights", "payoffs", "source", "troops", "game", "seed"]
)
SETTINGS = st.dictionaries(NAMES | st.text(max_size=5), VALUES, max_size=2)
WORLDS = st.sampled_from(
    [*(f"streams.{x}" for x in streams.STREAMS), *(f"games.{x}" for x in games.NAMED_GAMES)]
)
METRICS = st.sampled_from([*metrics.METRICS, "regert"])
LAYERS = st.builds(
    lambda name, of: {"name": name, "settings": of},
    st.sampled_from([*feedback.FEEDBACK, "bandti"]),
    st.dictionaries(
        st.sampled_from(["delay", "scale", "loss_offset", "implicit_exploration"]), VALUES, max_size=1
    ),
)
FIELDS = {
    "id": st.text(max_size=12),
    "version": COUNTS,
    "world": WORLDS | st.text(max_size=8).filter(lambda text: ":" not in text),
    "settings": SETTINGS,
    "horizon": COUNTS,
    "metrics": st.lists(METRICS, max_size=3),
    "loss_scale": FLOATS,
    "feedback": st.lists(LAYERS, max_size=2),
    "opponents": st.lists(st.sampled_from(["hedge", "exp3", "hedge[", "{agent}", "nobody", ""]), max_size=2),
    "seat": st.integers(-1, 3),
    "rounds": st.lists(COUNTS, max_size=3),
    "starting_loss_scale": FLOATS,
    "num_runs": COUNTS,
    "summary": st.text(max_size=8),
}
RIGHT = {
    "id": "t1",
    "world": "games.chicken",
    "horizon": 5,
    "metrics": ["external_regret"],
    "loss_scale": 1.0,
    "summary": "s",
}
# One to three fields of a right task that are anything of their type, or now and then of another.
EDITS = st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, max_size=3, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: FIELDS[name] | VALUES for name in names})
)


def toml(value):
    """A value as TOML, texts by their code points."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return '"' + "".join(f"\\U{ord(char):08x}" for char in value) + '"'
        case dict():
            return "{" + ", ".join(f"{toml(key)} = {toml(x)}" for key, x in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(toml, value)) + "]"
    return repr(value)


def suite_file(*tasks):
    return "\n".join(
        line for task in tasks for line in ("[[task]]", *(f"{key} = {toml(x)}" for key, x in task.items()))
    )


@FEW
@given(edits=EDITS)
def test_a_suite_file_is_read_or_refused_by_name(tmp_path, monkeypatch, edits):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.toml").write_text(suite_file({**RIGHT, **edits}, {**RIGHT, "id": "t2"}))
    problems = []
    try:
        found = find_tasks("my.toml", wrong=problems)
    except SuiteError as error:
        assert "my.toml" in str(error)  # the two have one id, or the file is not TOML
        return
    assert [task.id for task in found][-1:] == ["t2"]
    assert len(found) + len(problems) == 2
    assert all("my.toml, task" in problem and not problem.endswith(": ") for problem in problems)
    for task in found:
        assert np.isfinite(task.loss_scale) and task.loss_scale > 0 and task.horizon >= 1
        same = msgspec.json.decode(msgspec.json.encode(task), type=Task)
        (cell, *_), (again, *_) = (planning.plan("s", [t], ["uniform"], runs=1, seed=0) for t in (task, same))
        assert (cell.key, cell.task_hash) == (again.key, again.task_hash)
        (tmp_path / "copy.toml").write_text(suite_text([task]))
        (copied,) = read_suite("copy.toml")
        assert msgspec.structs.replace(copied, id=task.id) == task


@FEW
@given(text=st.text(max_size=200))
def test_every_name_of_a_file_has_an_id(text):
    assert fault_of_id(sanitized_id(text)) is None


@FEW
@given(
    loss_scale=st.floats(1e-300, 1e300),
    horizon=st.integers(1, 1000),
    id=st.text(max_size=20).map(sanitized_id).filter(lambda id: id not in TASKS),
)
def test_a_right_task_is_taken_as_it_is(loss_scale, horizon, id):
    task = msgspec.convert({**RIGHT, "id": id, "loss_scale": loss_scale, "horizon": horizon}, Task)
    assert check_task(task, "here") == task
