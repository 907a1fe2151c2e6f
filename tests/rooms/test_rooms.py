"""Rooms register themselves, so that deleting a room's folder deletes the room and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import regret_envs
from regret_envs import rooms

ROOT = Path(__file__).parents[2]
ROOMS = rooms.rooms()
LIST = """
import gymnasium, regret_envs
from click.testing import CliRunner
from regret_envs.benchmarks.cli.main import main
from regret_envs.rooms import rooms

assert regret_envs.__file__.startswith({folder!r}), regret_envs.__file__
print(*rooms())
print(*(name for name in gymnasium.registry if name.startswith("regret_envs/")))
for command in (["list"], ["train", "--help"], ["reproduce", "--help"]):
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    print(result.output)
"""


def listing(site):
    """What the package in the folder `site` says that it has."""
    code = LIST.format(folder=str(site))
    # -S: without the installed package's own path hooks.
    paths = [str(site), *(p for p in sys.path if p.endswith("site-packages"))]
    code = f"import sys; sys.path[:0] = {paths!r}\n" + code
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=site, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def site(tmp_path):
    """The package as a wheel holds it."""
    ignore = shutil.ignore_patterns("__pycache__", "checkpoints")
    shutil.copytree(ROOT / "regret_envs", tmp_path / "regret_envs", ignore=ignore)
    for folder in ("agents", "benchmarks"):
        shutil.copytree(ROOT / folder, tmp_path / "regret_envs" / folder, ignore=ignore)
    return tmp_path


def offered(room):
    return {*room.environments, *room.reproductions, *room.train_commands}


@pytest.mark.parametrize("name", ROOMS)
def test_a_room_is_deleted_with_its_folder(name, site):
    own = offered(ROOMS[name])
    with_it = listing(site)
    assert own and all(n in with_it for n in own)
    shutil.rmtree(site / "regret_envs" / "rooms" / name)
    without = listing(site)
    assert not any(n in without for n in own)
    kept = {n for other, room in ROOMS.items() if other != name for n in offered(room)}
    assert all(n in without for n in kept | {"regret_envs/Experts-v1", "linear-attention", "fig1"})


def test_what_rooms_name_is_there():
    for room in ROOMS.values():
        targets = [*(e.module for e in room.environments.values()), *room.train_commands.values()]
        targets += [entry.target for entry in room.reproductions.values()]
        for target in targets:
            module, _, attribute = target.partition(":")
            file = Path(regret_envs.__file__).parent / (module.partition(".")[2].replace(".", "/") + ".py")
            source = file.read_text("utf8")
            assert f"def {attribute}(" in source or f"class {attribute}(" in source, target


def test_two_rooms_of_one_name_are_an_error(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(
            "from regret_envs.rooms import Reproduction, Room\n"
            "ROOM = Room(reproductions={'fig': Reproduction('m:f', '')})\n"
        )
    monkeypatch.setattr(rooms, "__path__", [str(tmp_path)])
    with pytest.raises(ValueError, match="the rooms one and two both offer 'fig'"):
        rooms.rooms.__wrapped__()
