"""The files that a custom agent plays from: those that it declares, and those that it is seen to open.

An agent names its files in `depends_on`. Files that Python opens while the agent's module is imported and
while it is made and reset are added, as are modules that it imports then by names that its source does not
have; extensions open files unseen.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from regret_envs.agents.base import Agent
from regret_envs.agents.identity import custom_modules, custom_specs
from regret_envs.agents.registry import make
from regret_envs.agents.sources import is_installed, source_file, sources
from regret_envs.agents.specs import SpecError, parse

_CODE = {".py", ".pyc", ".pyi", ".so", ".pyd", ".pth", ".dll", ".dylib"}
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/")
_SIZES = (3, 2, 5, 10)


def files_read(spec: str) -> dict[str, str]:
    """SHA-256 of the files that the custom agents in a spec depend on, by path, nested ones too.

    The agents are made and reset, which runs their code.

    Raises:
        SpecError: if a file that is declared is not there; and as `registry.make`, like the other errors.
    """
    found: dict[str, str] = {}
    for custom in custom_specs(spec):
        module = parse(custom)[0].partition(":")[0]
        if module not in sys.modules:
            # What it reads then is of all its agents; `make` says why it does not import.
            before = set(sys.modules)
            with _watching() as opened, contextlib.suppress(Exception):
                importlib.import_module(module)
            _at_import[module] = {path for path in opened if _is_data(path)} | _imported(custom, before)
        before = set(sys.modules)
        with _watching() as opened:
            agent = make(custom)
            _reset(agent)
        seen = {path for path in opened if _is_data(path)} | _imported(custom, before)
        for path in seen | _at_import.get(module, set()) | _declared(agent, module, custom):
            with path.open("rb") as file:
                found[_shown(path)] = hashlib.file_digest(file, "sha256").hexdigest()
    return dict(sorted(found.items()))


_at_import: dict[str, set[Path]] = {}


def _declared(agent: Agent, module: str, spec: str) -> set[Path]:
    """The files of `depends_on`, those in its folders too; from the module's folder, else the working one."""
    files: set[Path] = set()
    for name in agent.depends_on:
        places = [folder / name for folder in (source_file(module).resolve().parent, Path.cwd())]
        path = next((place for place in places if place.exists()), None)
        if path is None:
            raise SpecError(f"agent {spec!r}: depends_on names {name}, and there is no {places[0]}")
        files |= {file for file in path.rglob("*") if file.is_file()} if path.is_dir() else {path}
    return files


def _reset(agent: Agent) -> None:
    """Begin a run of a size that the agent plays; whatever goes wrong is recorded when it is run."""
    if agent.usage is not None:
        return  # it asks somebody else, at a price
    with contextlib.suppress(Exception, SystemExit):
        size = next(d for d in _SIZES if agent.unsupported(d, horizon=10) is None)
        agent.reset(size, horizon=10, num_runs=1, rng=np.random.default_rng(0))


def _imported(spec: str, before: set[str]) -> set[Path]:
    """The files of the user's modules that were imported since, and that the agents' sources do not name."""
    named = {name for module in custom_modules(spec) for name in sources(module).modules}
    new = set(sys.modules) - before - named
    files = [getattr(sys.modules[name], "__file__", None) for name in new]
    return {Path(file) for file in files if file and _is_own(Path(file))}


def _is_data(path: Path) -> bool:
    return path.suffix not in _CODE and _is_own(path)


def _is_own(path: Path) -> bool:
    """Whether a file is the user's."""
    if str(path).startswith(_SYSTEM) or not path.is_file() or is_installed(path):
        return False
    if path.parent.suffix in (".egg-info", ".dist-info"):  # of an editable installation
        return False
    return not any(folder in path.parents for folder in _OURS)


_OURS = (Path(__file__).resolve().parent, Path(sys.modules["regret_envs"].__file__ or "").resolve().parent)


def _shown(path: Path) -> str:
    """The path from the working folder where it lies below it."""
    path = path.resolve()
    return str(path.relative_to(Path.cwd())) if Path.cwd() in path.parents else str(path)


_opened: set[Path] | None = None
_hooked = False


def _see(event: str, args: tuple[Any, ...]) -> None:
    if event == "open" and _opened is not None and isinstance(args[0], (str, bytes, os.PathLike)):
        mode, flags = args[1], args[2]
        if (set(mode) & set("wax")) if isinstance(mode, str) else flags & (os.O_WRONLY | os.O_RDWR):
            return
        with contextlib.suppress(OSError, ValueError):
            _opened.add(Path(os.fsdecode(args[0])).absolute())


@contextlib.contextmanager
def _watching() -> Iterator[set[Path]]:
    """The files that Python opens for reading meanwhile."""
    global _opened, _hooked
    if not _hooked:
        sys.addaudithook(_see)  # there is no way to remove it
        _hooked = True
    opened: set[Path] = set()
    _opened = opened
    try:
        yield opened
    finally:
        _opened = None
