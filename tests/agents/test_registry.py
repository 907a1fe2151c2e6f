"""Agents by name: specs, what they make, and what is said of wrong ones."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regret_envs.agents import AGENTS, BlumMansour, Hedge, RegretMatchingPlus, Uniform
from regret_envs.agents.catalogue import AgentEntry
from regret_envs.agents.registry import (
    AgentImportError,
    MissingExtraError,
    SpecError,
    canonical,
    make,
    parse,
    source_hash,
    split,
)
from regret_envs.agents.specs import _text
from regret_envs.benchmarks.running import planning, runner
from regret_envs.benchmarks.tasks.core import TASKS
from regret_envs.names import UnknownNameError, lookup, near_matches

FIXED = "regret_envs.agents.external.baselines:FixedPolicy"
MINE = """
from __future__ import annotations
from typing import TYPE_CHECKING
from regret_envs.agents import Agent, Uniform
if TYPE_CHECKING:
    from nowhere import Thing

class Mine(Uniform):
    def __init__(self, alpha: float = 1.0, teacher: Agent | None = None, name: str = ""):
        self.alpha, self.teacher, self.name = alpha, teacher, name

class Hinted(Uniform):
    def __init__(self, thing: Thing = 0):
        self.thing = thing

class Half(Agent):
    def act(self): ...

class Über(Mine):
    pass

class Stranger:
    def act(self): ...

def taught(teacher: Agent, alpha: float = 1.0) -> Agent:
    return Mine(alpha, teacher)

def nothing() -> Agent:
    return None

not_a_class = 3
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A package of the user's own; its folder."""
    package = tmp_path / "a_users_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "mine.py").write_text(MINE)
    (package / "broken.py").write_text("import a_module_that_nobody_has\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield package
    for name in [name for name in sys.modules if name.startswith("a_users_package")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("spec", "name", "settings"),
    [
        ("hedge", "hedge", {}),
        (" hedge [ step_size = 0.7 ] ", "hedge", {"step_size": 0.7}),
        ("hedge[step_size=anytime]", "hedge", {"step_size": "anytime"}),
        ("hedge[step_size=None]", "hedge", {"step_size": None}),
        (
            "blum-mansour[copies=hedge[step_size=0.9]]",
            "blum-mansour",
            {"copies": "hedge[step_size=0.9]"},
        ),
        ("my.pkg:Mine[a=(1,2),b=x[c=1,d=2]]", "my.pkg:Mine", {"a": (1, 2), "b": "x[c=1,d=2]"}),
        ("net[checkpoint=runs/my model.pt]", "net", {"checkpoint": "runs/my model.pt"}),
        ("rm+", "rm+", {}),
    ],
)
def test_parse(spec, name, settings):
    assert parse(spec) == (name, settings)
    assert parse(canonical(spec)) == (name, settings)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("hedge", "hedge"),
        ("hedge[ step_size=0.70 ]", "hedge[step_size=0.7]"),
        ("hedge[step_size=1.0]", "hedge[step_size=1]"),
        ("m:A[b=1, a=x[d=(1.0, 2), c=.5]]", "m:A[a=x[c=0.5,d=(1,2)],b=1]"),
        ("m:A[a='0.5']", "m:A[a='0.5']"),
        ("m:A[a=(0.5,)]", "m:A[a=(0.5,)]"),
        ("net[checkpoint=runs/my model.pt]", "net[checkpoint=runs/my model.pt]"),
    ],
)
def test_canonical_is_stable(spec, expected):
    assert canonical(spec) == expected
    assert canonical(expected) == expected


def test_split():
    text = "hedge[step_size=0.7],blum-mansour[copies=m:A[a=1,b=(2,3)]] , mypkg.mine:Mine"
    assert split(text) == ["hedge[step_size=0.7]", "blum-mansour[copies=m:A[a=1,b=(2,3)]]", "mypkg.mine:Mine"]
    with pytest.raises(SpecError, match="empty agent spec in the list 'hedge,,ogd'"):
        split("hedge,,ogd")
    with pytest.raises(SpecError, match=r"'\[' at position 5 is never closed"):
        split("hedge[step_size=1,ogd")


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("", "expected a name at position 0"),
        ("[a=1]", "expected a name at position 0"),
        ("he dge", "expected a name at position 0"),
        ("hedge[step_size=1", "'[' at position 5 is never closed"),
        ("hedge]", "']' at position 5 closes no bracket"),
        ("hedge[step_size=(1]", "']' at position 18 closes no bracket"),
        ("hedge[step_size=1]x", "text after the closing bracket, at position 18"),
        ("hedge[]", "expected key=value at position 6"),
        ("hedge[a=1,b]", "expected key=value at position 10, got 'b'"),
        ("hedge[a=]", "expected key=value at position 6"),
        ("hedge[1a=2]", "expected key=value at position 6"),
        ("hedge[a=1,a=2]", "'a' is given twice, again at position 10"),
    ],
)
def test_malformed_specs_say_where(spec, says):
    with pytest.raises(SpecError, match=re.escape(f"malformed agent spec {spec!r}: {says}")):
        make(spec)


def test_make():
    assert type(make("uniform")) is Uniform
    assert make("hedge[step_size=0.7]").step_size == 0.7
    assert make("hedge-anytime").step_size == "anytime"
    assert make("regret_envs.agents.external.hedge:Hedge[step_size=2]").step_size == 2
    nested = make("blum-mansour[copies=blum-mansour[copies=hedge[step_size=0.9]]]")
    assert repr(nested) == "BlumMansour(copies=BlumMansour(copies=Hedge(step_size=0.9)))"
    assert isinstance(make("blum-mansour-rm+").copies, RegretMatchingPlus)
    assert isinstance(make("blum-mansour-rm+[copies=hedge]").copies, Hedge)
    assert make("hedge") is not make("hedge")


def test_make_custom_agents(mine):
    agent = make("a_users_package.mine:Mine[alpha=2,name=hedge,teacher=hedge[step_size=0.5]]")
    assert (agent.alpha, agent.name, agent.teacher.step_size) == (2, "hedge", 0.5)
    assert make("a_users_package.mine:Mine").teacher is None
    assert make("a_users_package.mine:Über[alpha=3]").alpha == 3
    # An annotation that only a type checker can see does not stand in the way.
    assert make("a_users_package.mine:Hinted[thing=4]").thing == 4
    assert type(make("blum-mansour[copies=a_users_package.mine:Mine]")) is BlumMansour


@pytest.mark.parametrize(
    ("spec", "error", "says"),
    [
        ("hegde", UnknownNameError, "unknown agent 'hegde': did you mean 'hedge'"),
        ("blum-mansour[copies=hegde]", UnknownNameError, "unknown agent 'hegde': did you mean 'hedge'"),
        (
            "hedge[stepsize=1]",
            SpecError,
            "unknown setting 'stepsize' of agent 'hedge'; did you mean 'step_size'? (hedge has step_size)",
        ),
        ("uniform[a=1]", SpecError, "unknown setting 'a' of agent 'uniform' (uniform has no settings)"),
        ("hedge[step_size=-1]", SpecError, "agent 'hedge[step_size=-1]': step_size must be finite"),
        (
            "blum-mansour[copies=3]",
            SpecError,
            "agent 'blum-mansour[copies=3]': copies must be an agent, got 3",
        ),
        (
            "a_users_package.mine:taught[alpha=2]",
            SpecError,
            "'a_users_package.mine:taught' needs teacher: write a_users_package.mine:taught[teacher=...]",
        ),
        ("mine.py", UnknownNameError, "an agent of your own is written module:Class, mine:Class"),
        ("pkg.mine.Mine", UnknownNameError, "an agent of your own is written module:Class, pkg.mine:Mine"),
        ("mine.py:Mine", AgentImportError, "does not import: write the module without .py, mine:Mine"),
        ("hedge rm+", SpecError, "write name or name[key=value], with commas between agents"),
        ("a_module_that_nobody_has:A", AgentImportError, "module 'a_module_that_nobody_has' does not import"),
        ("a_users_package.broken:A", AgentImportError, "module 'a_users_package.broken' does not import"),
        (
            "a_users_package.mine:Mime",
            AgentImportError,
            "module 'a_users_package.mine' has no 'Mime': did you mean 'Mine'",
        ),
        ("a_users_package.mine:not_a_class", AgentImportError, "is not a class"),
        (
            "a_users_package.mine:nothing",
            AgentImportError,
            "made None, which is not a regret_envs.agents.Agent",
        ),
        ("a_users_package.mine:Half", AgentImportError, "it lacks observe, reset"),
        (
            "a_users_package.mine:Stranger",
            AgentImportError,
            "is not an agent: it must subclass regret_envs.agents.Agent; it lacks observe, reset",
        ),
    ],
)
def test_wrong_specs_say_what_is_wrong(mine, spec, error, says):
    with pytest.raises(error, match=re.escape(says)):
        make(spec)


def test_a_function_that_makes_an_agent(mine):
    agent = make("a_users_package.mine:taught[teacher=hedge[step_size=0.7],alpha=2]")
    assert agent.alpha == 2 and agent.teacher.step_size == 0.7


def test_a_module_that_fails_is_the_cause(mine):
    with pytest.raises(AgentImportError) as caught:
        make("a_users_package.broken:A")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    assert caught.value.__cause__.name == "a_module_that_nobody_has"


def test_a_missing_extra_says_what_to_install(mine, monkeypatch):
    monkeypatch.setitem(AGENTS, "deep", AgentEntry("a_users_package.broken:A", "", requires="torch"))
    with pytest.raises(MissingExtraError, match=re.escape('pip install "regret-envs[torch]"')):
        make("deep")


def test_source_hash_follows_the_source(mine):
    assert source_hash("hedge") is None
    assert source_hash("regret_envs.agents.external.hedge:Hedge") is None
    assert source_hash("net[checkpoint=runs/my model.pt]") is None
    spec, module = "a_users_package.mine:Mine", mine / "mine.py"
    first = source_hash(spec)
    assert first is not None
    assert source_hash(f"blum-mansour[copies={spec}[alpha=2]]") == first
    assert "a_users_package.mine" not in sys.modules  # hashing runs no code of the agent
    make(spec)
    module.write_text(MINE + "# edited\n")
    assert source_hash(spec) not in (None, first)
    both = source_hash(f"{spec}[teacher=a_users_package.broken:B]")
    assert both not in (None, source_hash(spec), source_hash("a_users_package.broken:B"))
    with pytest.raises(AgentImportError, match=r"'a_users_package\.nothing' is not found"):
        source_hash("a_users_package.nothing:A")


def test_listing_needs_no_extra():
    code = "import sys; import regret_envs.agents; print({'torch', 'scipy.stats'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


def test_lookup_lists_near_matches_or_all():
    table = {"hedge": 1, "ogd": 2}
    assert lookup("agent", "ogd", table) == 2
    with pytest.raises(UnknownNameError, match="unknown agent 'hedeg': did you mean 'hedge'"):
        lookup("agent", "hedeg", table)
    assert near_matches("zzz", table) == "known: hedge, ogd"


LITERALS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.just(...),
    lambda inner: (
        st.lists(inner) | st.tuples(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner)
    ),
    max_leaves=6,
)


def same(one: object, other: object) -> bool:
    """Equal, of equal types throughout."""
    return repr(one) == repr(other)


@given(LITERALS.filter(lambda value: "inf" not in repr(value) and "Ellipsis" not in repr(value)))
def test_every_literal_arrives_as_it_was_written(value):
    assert same(parse(f"m:A[a={value!r},b=1]"), ("m:A", {"a": value, "b": 1}))
    # In a nested spec too, and beside others in a list of specs.
    inner = f"m:A[a={value!r}]"
    outer = f"n:B[copies={inner},c=2]"
    name, settings = parse(outer)
    assert (name, settings["c"]) == ("n:B", 2)
    assert same(parse(settings["copies"]), ("m:A", {"a": value}))
    assert split(f"hedge,{outer},{inner}") == ["hedge", outer, inner]


@given(LITERALS)
def test_canonical_text_is_stable_and_tells_values_apart(value):
    spec = f"m:A[a={_text(value)}]"
    assert canonical(spec) == canonical(canonical(spec)) == canonical(f"m:A[a={canonical(spec)[6:-1]}]")
    again = parse(canonical(spec))[1]["a"]
    # Whole floats are integers in the key, and equal to them.
    assert again == value and (type(again) is type(value) or isinstance(value, float))


@given(st.text())
def test_text_that_is_quoted_is_text(text):
    _, settings = parse(f"m:A[prompt={text!r},b=1]")
    assert settings == {"prompt": text, "b": 1}
    # Text in parentheses may be a list of specs, of which (a,b) and (a, b) are the same.
    stays = "[" not in text and text[:1] != "("
    assert parse(canonical(f"m:A[prompt={text!r}]"))[1]["prompt"] == text or not stays


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        ("m:A[s='']", ""),
        ("m:A[s=' x ']", " x "),
        ("m:A[s=[8,8]]", [8, 8]),
        ("m:A[s=2.0]", 2.0),
        ("m:A[s='hedge[step_size=1.0]']", "hedge[step_size=1.0]"),
        ("m:A[s='Choose a, b or c']", "Choose a, b or c"),
        ('m:A[s="]["]', "]["),
        ("m:A[s=don't]", "don't"),
        ("m:A[s='it''s']", "its"),
        ("m:A[s=b'a,]']", b"a,]"),
        ("m:A[s={'a,': [1, 2.0]}]", {"a,": [1, 2.0]}),
        ("m:A[s='true']", "true"),
        ("m:A[s=a=b]", "a=b"),
        ("m:A[s='a_b,c']", "a_b,c"),
        ("m:A[s='''it's, \"so\"''']", 'it\'s, "so"'),
    ],
)
def test_values_that_were_changed_on_the_way(spec, value):
    assert same(parse(spec)[1]["s"], value)
    assert canonical(canonical(spec)) == canonical(spec)
    assert split(f"{spec},hedge") == [spec, "hedge"]


def test_the_agent_gets_what_was_written_and_the_key_is_canonical(mine):
    sys.path.insert(0, str(mine.parent))
    (mine / "typed.py").write_text(
        "from regret_envs.agents import Hedge\n"
        "class Typed(Hedge):\n"
        "    def __init__(self, value):\n"
        "        super().__init__()\n"
        "        if type(value) not in (float, list): raise TypeError(f'got {value!r}')\n"
    )
    for value in ("2.0", "[8,8]"):
        spec = f"a_users_package.typed:Typed[value={value}]"
        make(spec)
        [cell] = planning.plan("s", [TASKS["weighted_rps_t20"]], [spec], runs=1, seed=0)
        [row, *_] = runner.measure(pickle.loads(pickle.dumps(cell)))
        assert row.status == "ok" and row.agent == canonical(spec)


def test_one_word_in_parentheses_and_a_list_of_one_have_keys_of_their_own():
    assert canonical("m:A[a=(x)]") == "m:A[a=(x)]" != canonical("m:A[a=(x,)]") == "m:A[a=(x,)]"


def test_text_that_looks_like_code_is_not_looked_for():
    assert source_hash("hedge[step_size='nowhere.at_all:Thing']") is None


def test_text_after_a_bracket():
    with pytest.raises(SpecError, match=r"text after the closing bracket, at position 8"):
        parse("m:A[a=1],   m:B[b=2]")
    with pytest.raises(SpecError, match="text after the closing bracket"):
        parse("m:A[a=1][b=2]")
