"""The sources that decide what a custom module does, found without importing anything.

A module, its packages and every module that they import from outside installed distributions are told by
their contents; what they import from installed distributions by name and version. Imports that a program
computes as it runs are not seen.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.machinery
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path


class AgentImportError(ImportError):
    """The module or class that a spec names cannot be imported."""


@dataclass
class Sources:
    """What a module and what it imports consist of.

    Attributes:
        modules: SHA-256 of every module's file, by the module's name.
        installed: versions of the installed distributions that the modules import, by name; regret-envs is
            not among them, since its agents have versions of their own.
        words: every name and text in the modules, to tell which built-in agents they use.
    """

    modules: dict[str, str] = field(default_factory=dict)
    installed: dict[str, str] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)


def sources(module: str) -> Sources:
    """The sources of a module.

    Raises:
        AgentImportError: if it is not found, or has no source file.
    """
    source_file(module)
    found = Sources()
    waiting = [*_packages(module), module]
    while waiting:
        name = waiting.pop()
        if name in found.modules or _is_ours(name):
            continue
        try:
            file = source_file(name)
        except AgentImportError:
            continue  # a name of a module, not a module, or a built-in one
        if name != module and is_installed(file):
            found.installed |= _distributions(name.partition(".")[0])
            continue
        content = file.read_bytes()
        found.modules[name] = hashlib.sha256(content).hexdigest()
        for imported in _imports(name, file, content, found.words):
            waiting += [*_packages(imported), imported]
    return found


def source_file(module: str) -> Path:
    """Where a module's source lies; neither it nor its packages are imported.

    Raises:
        AgentImportError: if it is not found, or has no source file.
    """
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    moved = file is None or not Path(file).is_file()
    if moved and (spec := _find(module)) is not None and spec.has_location:
        file = spec.origin
    if not file or not Path(file).is_file():
        raise AgentImportError(f"module {module!r} is not found, or has no source file")
    return Path(file)


def _find(module: str) -> importlib.machinery.ModuleSpec | None:
    parent = module.rpartition(".")[0]
    path = _folders(parent) if parent else None
    if path == []:
        return None
    for finder in sys.meta_path:
        try:
            found = finder.find_spec(module, path)
        except Exception:  # a finder of somebody else's
            continue
        if found is not None:
            return found
    return None


def _folders(package: str) -> list[str]:
    """Where the modules of a package lie."""
    loaded = sys.modules.get(package)
    if loaded is not None:
        return list(getattr(loaded, "__path__", []))
    spec = _find(package)
    if spec is not None and spec.has_location:
        return list(spec.submodule_search_locations or [])
    # A package without a file of its own is found through its parent, which is not imported.
    parent, _, name = package.rpartition(".")
    below = (Path(folder) / name for folder in (_folders(parent) if parent else sys.path))
    return [str(folder) for folder in below if folder.is_dir()]


def _packages(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:n]) for n in range(1, len(parts))]


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "regret_envs"


@cache
def _installed_folders() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    return tuple({Path(paths[name]).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def is_installed(file: Path) -> bool:
    """Whether a file belongs to Python or to an installed distribution."""
    file = file.resolve()
    return bool({"site-packages", "dist-packages"} & set(file.parts)) or any(
        folder in file.parents for folder in _installed_folders()
    )


def _distributions(package: str) -> dict[str, str]:
    found = {}
    for name in _packages_distributions().get(package, []):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def _packages_distributions() -> dict[str, list[str]]:
    return {name: sorted(set(owners)) for name, owners in packages_distributions().items()}


def _imports(module: str, file: Path, content: bytes, words: set[str]) -> Iterator[str]:
    """The names that a module's source imports, which may be modules; adds to its words."""
    if file.suffix != ".py":
        return
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):
        return
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            up = parts[: len(parts) - node.level + 1] if node.level else []
            base = ".".join([*up, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names if alias.name != "*")
            words |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Call) and node.args:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            first = node.args[0]
            if called in ("import_module", "__import__") and isinstance(first, ast.Constant):
                yield str(first.value)
        elif isinstance(node, ast.Attribute):
            words.add(node.attr)
        elif isinstance(node, ast.Name):
            words.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words.add(node.value)
