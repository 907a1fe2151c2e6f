"""The API reference: a page for every module whose names are public."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from markdown import table, write

MODULES = {
    "regret_envs": "simulate, and its results",
    "regret_envs.worlds": "what every game and stream is: subclass these for your own",
    "regret_envs.games": "repeated games",
    "regret_envs.streams": "losses that do not come from a game",
    "regret_envs.feedback": "what agents are shown",
    "regret_envs.metrics": "regrets, gaps and the metrics of tasks",
    "regret_envs.play": "rounds and their results",
    "regret_envs.agents": "every agent",
    "regret_envs.agents.registry": "agents by name",
    "regret_envs.agents.attention": "attention models, to train and to play",
    "regret_envs.benchmarks": "evaluate, compare, rank",
    "regret_envs.benchmarks.plotting": "figures",
    "regret_envs.benchmarks.report": "the report, one HTML file",
    "regret_envs.testing": "checks for your own agents, worlds and metrics",
    "regret_envs.experts_v1": "one loss stream, as an environment",
    "regret_envs.biased_gaussian_v1": "Gaussian losses with a bias, as an environment",
    "regret_envs.repeated_game_v1": "any game, as an environment",
    "regret_envs.weighted_rps_v1": "weighted rock–paper–scissors, as an environment",
    "regret_envs.envs.parallel": "the PettingZoo environment",
    "regret_envs.envs.single": "the Gymnasium environment",
    "regret_envs.envs.vector": "the vectorized Gymnasium environment",
    "regret_envs.envs.spaces": "the simplex as a space",
    "regret_envs.envs.actions": "from the output of a policy to the simplex",
    "regret_envs.envs.observations": "what an environment shows",
    "regret_envs.jax": "the suite, compiled",
}
"""The public modules, in the order of the reference."""


@functools.cache
def names() -> Mapping[str, str]:
    """Every public name with the full name under which the reference has it.

    What several modules offer is documented once, where the list of modules has it first.
    """
    documented: dict[int, str] = {}
    found: dict[str, str] = {}
    for module in MODULES:
        imported = importlib.import_module(module)
        for name in _public(imported):
            value = getattr(imported, name)
            full = f"{module}.{name}"
            once = callable(value) and hasattr(value, "__module__")
            found[full] = documented.setdefault(id(value), full) if once else full
    return found


def public_name(value: object) -> str | None:
    """The name under which the reference has a class or function; None where it is not public."""
    for full in names().values():
        module, _, name = full.rpartition(".")
        if getattr(importlib.import_module(module), name) is value:
            return full
    return None


def _public(module: ModuleType) -> list[str]:
    """What a module declares as public, less modules; else what it defines without an underscore."""
    declared = getattr(module, "__all__", None)
    own = [n for n, v in vars(module).items() if not n.startswith("_") and _defined_in(v, module)]
    return [n for n in declared or own if not inspect.ismodule(getattr(module, n))]


def _defined_in(value: object, module: ModuleType) -> bool:
    return getattr(value, "__module__", None) == module.__name__ and callable(value)


def _data(module: str) -> list[str]:
    """The public names of a module that are neither classes nor functions: registries, types, numbers."""
    return [
        full.removeprefix(f"{module}.")
        for full in names()
        if full.rpartition(".")[0] == module and not _documents_itself(full)
    ]


def _documents_itself(full: str) -> bool:
    module, _, name = full.rpartition(".")
    value = getattr(importlib.import_module(module), name)
    return inspect.isclass(value) or inspect.isroutine(value) or hasattr(value, "__wrapped__")


def _described(value: object) -> str:
    if isinstance(value, Mapping):
        return f"A mapping of {len(value)} names: {', '.join(f'`{key}`' for key in value)}."
    return f"``{value!r}``"


def write_pages(folder: Path) -> None:
    """One page per module, and their index."""
    rows = []
    for module, summary in MODULES.items():
        elsewhere = {n.removeprefix(f"{module}."): full for n, full in names().items() if n != full}
        elsewhere = {n: full for n, full in elsewhere.items() if f"{module}.{n}" in names()}
        body = [f".. automodule:: {module}", "   :members:", "   :undoc-members:", "   :show-inheritance:"]
        if hasattr(importlib.import_module(module), "__all__"):
            body.append("   :imported-members:")
        data = {n: getattr(importlib.import_module(module), n) for n in _data(module)}
        body.append(f"   :exclude-members: {', '.join([*elsewhere, *data])}")
        for name, value in data.items():
            body += ["", f".. py:data:: {name}", f"   :module: {module}", "", f"   {_described(value)}"]
        also = ", ".join(f"{{py:obj}}`{n} <{full}>`" for n, full in elsewhere.items())
        write(
            folder / f"{module}.md",
            f"# {module}",
            "```{eval-rst}\n" + "\n".join(body) + "\n```",
            f"Also here: {also}." if also else "",
        )
        rows.append((f"[`{module}`]({module}.md)", summary))
    write(
        folder / "index.md",
        "# API reference",
        "Everything that is public. Shapes are written `(num_runs, num_actions)`; losses are losses, "
        "rewards exist only in the environments.",
        table(("module", "what"), rows),
        "```{toctree}\n:hidden:\n" + "\n".join(MODULES) + "\n```",
    )
