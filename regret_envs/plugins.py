"""Plug-ins: third-party packages register agents, tasks and suites through entry points.

A distribution names its agents, tasks and suites in its pyproject.toml:

    [project.entry-points."regret_envs.agents"]
    lazy-hedge = "my_package.agents:LazyHedge"
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Literal, TypeVar, cast, get_type_hints

from regret_envs.names import near_matches

T = TypeVar("T")

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


class NotAMakerError(TypeError):
    """What "module:name" names is neither a class of the right kind nor a function that says it makes one."""


def maker(target: str, kind: type[T]) -> Callable[..., T]:
    """The class or function that "module:name" names, which makes a `kind`; nothing is called.

    The module is imported, which runs its code. A function must say in its annotation what it returns, so
    that one that does something else (`os.system`) is never called.

    Args:
        target: "module:Class" or "module:function".
        kind: what it makes.

    Raises:
        NotAMakerError: if it is neither a subclass of `kind` nor a function annotated to return one.
        AttributeError: if the module has nothing of that name; lists the near matches.
        Exception: whatever importing the module raises.
    """
    module_name, _, attribute = target.partition(":")
    module = importlib.import_module(module_name)
    if not hasattr(module, attribute):
        near = near_matches(attribute, [name for name, value in vars(module).items() if callable(value)])
        raise AttributeError(f"module {module_name!r} has no {attribute!r}: {near}")
    found: Any = getattr(module, attribute)
    wanted = f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"
    if isinstance(found, type):
        if not issubclass(found, kind):
            raise NotAMakerError(f"{target} is not a subclass of {kind.__module__}.{kind.__name__}")
    elif not callable(found):
        raise NotAMakerError(f"{target} is not a class, nor a function that makes {wanted}")
    elif not _returns(found, kind):
        raise NotAMakerError(
            f"{target} is not called, since it does not say that it makes {wanted}: annotate what it "
            f"returns, def {attribute}(...) -> {kind.__name__}"
        )
    return cast("Callable[..., T]", found)


def _returns(function: Callable[..., Any], kind: type) -> bool:
    try:
        hint = get_type_hints(function).get("return")
    except Exception:  # an annotation that exists for the type checker alone
        text = getattr(function, "__annotations__", {}).get("return")
        hint = {c.__name__: c for c in _subclasses(kind)}.get(str(text).rpartition(".")[2])
    return isinstance(hint, type) and issubclass(hint, kind)


def _subclasses(kind: type) -> Iterator[type]:
    yield kind
    below: type
    for below in kind.__subclasses__():
        yield from _subclasses(below)


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
