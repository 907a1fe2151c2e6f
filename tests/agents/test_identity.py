"""An agent's identity covers what decides its play, and is found without running anything of it."""

import subprocess
import sys

import numpy as np
import pytest

from regret_envs.agents import catalogue, identity
from regret_envs.agents.identity import source_hash, tracked
from regret_envs.agents.registry import AgentImportError, make
from regret_envs.agents.sources import sources
from regret_envs.benchmarks.tasks.task import Task, make_world
from regret_envs.plugins import NotAMakerError, maker
from regret_envs.worlds import World

PACKAGE = {
    "mypkg/__init__.py": "from .impl import Mine",
    "mypkg/impl.py": "import numpy as np\nfrom regret_envs.agents import Hedge\nfrom . import constants\n"
    "from .deep.rules import RULE\nraise SystemExit('imported')\nclass Mine(Hedge): ...",
    "mypkg/constants.py": "import importlib\nX = importlib.import_module('helpers')",
    "mypkg/deep/rules.py": "import json, os.path\nRULE = 1",
    "mypkg/unused.py": "",
    "helpers.py": "def f():\n    import lazily",
    "lazily.py": "import mypkg.impl  # a circle",
}
PLAYS = {"mypkg", "mypkg.impl", "mypkg.constants", "mypkg.deep.rules", "helpers", "lazily"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in PACKAGE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_all_that_a_module_imports_is_found_and_nothing_is_run(folder):
    found = sources("mypkg")
    assert set(found.modules) == PLAYS
    assert found.installed == {"numpy": np.__version__}
    assert not {"mypkg", "helpers"} & set(sys.modules)
    assert set(sources("mypkg.impl").modules) == PLAYS  # a package is imported with its modules


@pytest.mark.parametrize("file", [name for name in PACKAGE if name != "mypkg/unused.py"])
def test_an_edit_anywhere_that_plays_changes_the_identity(folder, file):
    before = source_hash("mypkg:Mine")
    (folder / "mypkg" / "unused.py").write_text("x = 1")
    assert source_hash("mypkg:Mine") == before != source_hash("hedge")
    (folder / file).write_text(PACKAGE[file] + "\n# edited")
    assert source_hash("mypkg:Mine") != before
    assert source_hash("blum-mansour[copies=mypkg:Mine]") == source_hash("mypkg:Mine")


def test_another_folder_is_the_same_agent(folder, tmp_path_factory, monkeypatch):
    before = source_hash("mypkg:Mine")
    other = tmp_path_factory.mktemp("other")
    for name, text in PACKAGE.items():
        (other / name).parent.mkdir(parents=True, exist_ok=True)
        (other / name).write_text(text)
    monkeypatch.syspath_prepend(other)
    assert source_hash("mypkg:Mine") == before


def test_versions_of_what_is_used_count(folder, monkeypatch):
    before = source_hash("mypkg:Mine")
    monkeypatch.setattr("regret_envs.agents.sources.version", lambda name: "0.0")
    assert source_hash("mypkg:Mine") != before
    monkeypatch.undo()
    entry = catalogue.AGENTS["hedge"]
    raised = {**catalogue.built_in(), "hedge": catalogue.AgentEntry(entry.target, "", version=7)}
    monkeypatch.setattr(identity, "built_in", lambda: raised)
    monkeypatch.syspath_prepend(folder)
    assert source_hash("mypkg:Mine") != before


def test_what_is_tracked_is_said(folder):
    assert tracked("mypkg:Mine") == ", ".join([*sorted(PLAYS), f"numpy {np.__version__}"])
    assert tracked("hedge") == ""


def test_files_that_are_not_python_or_not_there(folder):
    (folder / "mypkg" / "impl.py").write_text("this is not Python (")
    assert set(sources("mypkg").modules) == {"mypkg", "mypkg.impl"}
    with pytest.raises(AgentImportError, match="not found"):
        sources("mypkg.nowhere")
    with pytest.raises(AgentImportError, match="not found"):
        sources("nowhere.at.all")


def test_only_what_makes_an_agent_or_a_world_is_called(folder):
    (folder / "makers.py").write_text(
        "from __future__ import annotations\nimport functools, os\nfrom typing import TYPE_CHECKING, Any\n"
        "from regret_envs import games, streams\nfrom regret_envs.agents import Agent, Hedge\n"
        "if TYPE_CHECKING:\n    from regret_envs.worlds import World\n"
        "def bare(): raise SystemExit('called')\n"
        "def wrong() -> int: raise SystemExit('called')\n"
        "def any_() -> Any: raise SystemExit('called')\n"
        "def agent() -> Hedge: return Hedge()\n"
        "def world() -> World: return games.chicken()\n"
        "@functools.cache\ndef cached() -> World: return games.chicken()\n"
        "class NotOne:\n    def __init__(self): raise SystemExit('called')\n"
        "mine = games.chicken\nthing = 3\n"
    )
    for name in ("bare", "wrong", "any_", "thing", "NotOne", "os"):
        for target in (f"makers:{name}",):
            with pytest.raises(NotAMakerError, match=f"makers:{name} is not"):
                maker(target, World)
            with pytest.raises(AgentImportError, match=f"makers:{name} is not"):
                make(target)
    with pytest.raises(
        AgentImportError, match="does not say that it makes an Agent: annotate what it returns"
    ):
        make("os:system[command='touch ran']")
    with pytest.raises(NotAMakerError, match="os:system is not called"):
        make_world(task("os:system", command="touch ran"))
    assert not (folder / "ran").exists()
    assert type(make("makers:agent")).__name__ == "Hedge"
    for name in ("world", "cached", "mine"):
        assert isinstance(make_world(task(f"makers:{name}")), World)
    with pytest.raises(NotAMakerError):
        make_world(task("makers:agent"))
    with pytest.raises(AttributeError, match="has no 'wrld': did you mean 'world'"):
        make_world(task("makers:wrld"))


def task(world, **settings):
    return Task(id="t", world=world, settings=settings, horizon=3, metrics=(), loss_scale=1.0, summary="")


def test_hashing_in_a_fresh_process_imports_nothing(folder):
    code = "import sys; from regret_envs.agents.identity import source_hash; print(source_hash('mypkg:Mine'))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, check=True
    )
    assert done.stdout.strip() == source_hash("mypkg:Mine")


@pytest.mark.parametrize(
    ("spec", "safe"),
    [
        ("hedge[step_size=0.5]", True),
        ("blum-mansour[copies=hedge[step_size=0.5]]", True),
        ("hedged[members=(hedge[step_size=0.1],rm+)]", True),
        ("os:system[command='touch ran']", False),
        ("blum-mansour[copies=os:system]", False),
        ("hedged[members=(a-plug-in,rm+)]", False),
        ("blum-mansour[copies=a-plug-in[x=1]]", False),
        ("a-plug-in", False),
        ("llm[model=m]", False),
        ("hedged[members=(llm[model=m],rm+)]", False),
        ("checkpoint:folder", False),
        ("hedge[", False),
    ],
)
def test_which_agents_may_be_made_from_data(monkeypatch, spec, safe):
    plug_in = {**catalogue.AGENTS, "a-plug-in": catalogue.AgentEntry("os:system", "")}
    monkeypatch.setattr(identity, "known_agents", lambda: (plug_in, []))
    assert identity.is_built_in(spec) == safe
