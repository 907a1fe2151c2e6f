"""Plug-ins: third-party packages register agents, tasks and suites through entry points.

A distribution names its agents, tasks and suites in its pyproject.toml:

    [project.entry-points."regret_envs.agents"]
    lazy-hedge = "my_package.agents:LazyHedge"
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Collection
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Literal

Kind = Literal["agents", "tasks", "suites", "metrics"]


class PluginError(ImportError):
    """A plug-in could not be loaded."""


@dataclass(frozen=True)
class Plugin:
    """An entry point.

    Attributes:
        kind: what it is.
        name: its name.
        target: "module:object".
        distribution: who offers it, with the version.
    """

    kind: Kind
    name: str
    target: str
    distribution: str

    def load(self) -> Any:
        """Import the object.

        Raises:
            PluginError: if that fails; one line that says whose it is and why.
        """
        module, _, attribute = self.target.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except Exception as error:
            raise PluginError(f"{self} could not be loaded: {error!r}") from error

    def __str__(self) -> str:
        return f"the plug-in {self.kind.removesuffix('s')} {self.name!r} of {self.distribution}"


def plugins(kind: Kind, built_in: Collection[str] = ()) -> tuple[dict[str, Plugin], list[str]]:
    """The plug-ins of a kind by name, and a line about each that cannot be used.

    Args:
        kind: what to look for.
        built_in: names that are taken; built-in names win.
    """
    found: dict[str, Plugin] = {}
    problems = []
    for point in entry_points(group=f"regret_envs.{kind}"):
        owner = f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown distribution"
        plugin = Plugin(kind, point.name, point.value, owner)
        if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", point.value):
            problems.append(f'{plugin} is left out: {point.value!r} is not a "module:object"')
        elif re.search(r"[\s,=\[\](){}]|^$", point.name):
            problems.append(f"{plugin} is left out: names cannot contain spaces, commas or brackets")
        elif point.name in built_in:
            problems.append(f"{plugin} is left out: the built-in one of that name wins")
        elif found.setdefault(point.name, plugin) != plugin:
            problems.append(f"{plugin} is left out: {found[point.name]} has that name")
    return found, problems
