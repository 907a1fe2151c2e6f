"""The import rules, read from the syntax of every file; CONTRIBUTING.md states them."""

from __future__ import annotations

import ast
import graphlib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "regret_envs": "regret_envs",
    "agents": "regret_envs.agents",
    "benchmarks": "regret_envs.benchmarks",
}
# Doors: modules that lie in a package's folder and gather what lies in the folders below it.
DOORS = {
    *(
        f"regret_envs.{name}_v{version}"
        for name in ("experts", "biased_gaussian", "repeated_game", "weighted_rps")
        for version in (0, 1)
    ),
    "regret_envs.agents.registry",
    "regret_envs.agents.identity",
    "regret_envs.agents.inputs",
}
ATTENTION = ("regret_envs.agents.attention.", "regret_envs.rooms.")
# Of the benchmarks, those that train, reproduce or time attention; nothing else imports them but on demand.
ABOUT_ATTENTION = (
    "regret_envs.benchmarks.cli.train",
    "regret_envs.benchmarks.reproduce.",
    "regret_envs.benchmarks.speed.",
)
COMPILED = ("regret_envs.jax", "regret_envs.benchmarks.running.compiled", "regret_envs.benchmarks.speed.")
ADAPTERS = ("regret_envs.envs.rsl_rl",)  # a library's own tensors
HEAVY = {"torch": ATTENTION + ABOUT_ATTENTION + ADAPTERS, "safetensors": ATTENTION, "jax": COMPILED}


@dataclass(frozen=True)
class Import:
    """`module` imports `name` in a line; `typing` if for type checkers alone."""

    module: str
    name: str
    line: int
    typing: bool

    def __str__(self):
        return f"{self.module}, line {self.line}, imports {self.name}"


def modules_below(root):
    """Modules by their installed names, each with its file."""
    found = {}
    for folder, package in PACKAGES.items():
        for file in sorted((root / folder).rglob("*.py")):
            parts = file.relative_to(root / folder).with_suffix("").parts
            found[".".join((package, *(part for part in parts if part != "__init__")))] = file
    return found


def imports_of(module, source, known):
    """What a module imports: modules of ours by their full names, others by what follows `import`."""
    tree = ast.parse(source)
    typing = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            typing |= set(ast.walk(node))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}, line {node.lineno}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in known else node.module for name in names]
        else:
            continue
        for name in names:
            yield Import(module, name, node.lineno, node in typing)


MODULES = modules_below(ROOT)
IMPORTS = [i for name, file in MODULES.items() for i in imports_of(name, file.read_text("utf8"), MODULES)]


def layer(module):
    """0 the world, 1 agents, 2 the suite in JAX, which translates them, 3 benchmarks, 4 the side rooms."""
    above = ("regret_envs.agents", "regret_envs.jax", "regret_envs.benchmarks", "regret_envs.rooms.")
    return next((1 + n for n, name in enumerate(above) if module.startswith(name)), 0)


def folder(module):
    """The folder a module lies in; doors and `__init__` modules are nodes of their own."""
    if module in DOORS or MODULES[module].name == "__init__.py":
        return f"{module} (door)"
    return module.rpartition(".")[0]


def test_the_rules_see_the_files():
    assert len(MODULES) > 100 and set(MODULES) >= DOORS
    source = "import torch\nif TYPE_CHECKING:\n    from regret_envs import worlds\n"
    assert list(imports_of("m", source, MODULES)) == [
        Import("m", "torch", 1, False),
        Import("m", "regret_envs.worlds", 3, True),
    ]


def test_what_is_imported_of_ours_is_there():
    ours = [i for i in IMPORTS if i.name.partition(".")[0] in PACKAGES]
    assert [str(i) for i in ours if i.name not in MODULES] == []


def test_imports_point_one_way():
    """`regret_envs ← agents ← jax ← benchmarks ← rooms`, in functions too."""
    ours = [i for i in IMPORTS if i.name in MODULES]
    assert [str(i) for i in ours if layer(i.name) > layer(i.module)] == []


def test_no_room_imports_another():
    def room(module):
        return ".".join(module.split(".")[:3]) if layer(module) == 4 else ""

    assert [str(i) for i in IMPORTS if room(i.name) and room(i.name) != room(i.module)] == []


def test_no_circle_between_folders():
    """In functions neither; what only type checkers import is not imported."""
    graph = defaultdict(set)
    for i in IMPORTS:
        if i.name in MODULES and not i.typing and folder(i.name) != folder(i.module):
            graph[folder(i.module)].add(folder(i.name))
    list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError, which names the circle


@pytest.mark.parametrize("library", HEAVY)
def test_heavy_libraries_stay_in_their_folders(library):
    found = [i for i in IMPORTS if i.name.partition(".")[0] == library]
    outside = [i for i in found if not i.module.startswith(HEAVY[library])]
    assert [str(i) for i in outside] == []


def test_every_folder_says_what_belongs_in_it():
    for name, file in MODULES.items():
        if file.name == "__init__.py":
            assert ast.get_docstring(ast.parse(file.read_text("utf8"))), f"{name} has no docstring"
