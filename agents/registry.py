"""Agents by name: any agent with its settings from a spec.

A spec is a name, a `"module:Class"` target (or `"module:function"`, where it makes an agent) or
`checkpoint:` and a folder, with settings in brackets where they differ from the defaults:

    hedge
    hedge[step_size=0.7]
    checkpoint:runs/lsa
    blum-mansour[copies=hedge[step_size=0.9]]
    hedged[members=(hedge[step_size=0.1],rm+)]
    mypkg.mine:Mine[alpha=2]

A setting's value is a Python literal (`0.7`, `None`, `(0.5, 0.5)`), `true` or `false`, else a word; where
the class takes an `Agent` it is a spec again, and where it takes several, specs in parentheses.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, get_args, get_type_hints

from regret_envs.agents.base import Agent
from regret_envs.agents.catalogue import AGENTS as AGENTS
from regret_envs.agents.catalogue import AgentEntry as AgentEntry
from regret_envs.agents.catalogue import built_in
from regret_envs.agents.catalogue import known_agents as known_agents
from regret_envs.agents.identity import custom_modules as custom_modules
from regret_envs.agents.identity import source_hash as source_hash
from regret_envs.agents.identity import versions as versions
from regret_envs.agents.sources import AgentImportError as AgentImportError
from regret_envs.agents.specs import CHECKPOINT, TARGET, is_list, specs_in
from regret_envs.agents.specs import SpecError as SpecError
from regret_envs.agents.specs import canonical as canonical
from regret_envs.agents.specs import parse as parse
from regret_envs.agents.specs import split as split
from regret_envs.names import UnknownNameError, lookup, near_matches
from regret_envs.plugins import NotAMakerError, maker


class MissingExtraError(ImportError):
    """The agent needs an optional dependency that is not installed."""


def make(spec: str, *, objects: Mapping[str, Agent] | None = None) -> Agent:
    """The agent that `spec` describes, not yet reset.

    Args:
        spec: the spec.
        objects: agents that go by a name of their own; they are copied, and nested specs know them too.

    Raises:
        UnknownNameError: if there is no such agent; lists the near matches.
        SpecError: if the spec is malformed, or the agent has no such setting (lists the near
            matches) or refuses the settings.
        MissingExtraError: if the agent needs an extra that is not installed; says how to install it.
        AgentImportError: if the module does not import (the cause is chained), has no such class,
            or the class is not an agent (says what is missing), or the function made none.
    """
    name, given = parse(spec)
    if objects and name in objects:
        return copy.deepcopy(objects[name])
    if name.startswith(CHECKPOINT):
        entry = AgentEntry(
            "regret_envs.agents.attention.checkpoint:Checkpoint",
            "",
            {"path": name.removeprefix(CHECKPOINT)},
            requires="torch",
        )
    elif TARGET.fullmatch(name):
        entry = AgentEntry(name, "")
    else:
        ours = built_in()
        agents = ours if name in ours else {**known_agents()[0], **ours}
        if name not in agents and (own := _OWN_CLASS.fullmatch(name)):
            raise UnknownNameError(
                f"unknown agent {name!r}: an agent of your own is written module:Class, "
                f"{own[1]}:{own[2] or 'Class'}"
            )
        entry = lookup("agent", name, agents)
    try:
        cls = _load(entry.target, entry.requires)
    except AgentImportError as error:
        if name in AGENTS or entry.target == name:
            raise
        raise AgentImportError(f"agent {name!r}, {entry.summary}: {error}") from error.__cause__
    settings = {**entry.settings, **given}
    known = inspect.signature(cls).parameters
    for key in settings:
        if key not in known:
            has = f"{name} has {', '.join(known)}" if known else f"{name} has no settings"
            near = f"; {near_matches(key, known)}" if known else ""
            raise SpecError(f"unknown setting {key!r} of agent {name!r}{near} ({has})")
    for key, parameter in known.items():
        if parameter.default is parameter.empty and parameter.kind in _NAMED and key not in settings:
            raise SpecError(f"agent {name!r} needs {key}: write {name}[{key}=...]")
    for key in _agent_settings(cls) & settings.keys():
        if is_list(settings[key]):
            settings[key] = tuple(make(inner, objects=objects) for inner in specs_in(settings[key]))
        elif isinstance(settings[key], str):
            settings[key] = make(settings[key], objects=objects)
    try:
        agent = cls(**settings)
    except (TypeError, ValueError) as error:
        raise SpecError(f"agent {spec!r}: {error}") from error
    except ModuleNotFoundError as error:
        if entry.requires is None:
            raise
        raise _missing_extra(error, entry.requires) from error
    if not isinstance(agent, Agent):
        raise AgentImportError(f"{name} made {agent!r}, which is not a regret_envs.agents.Agent")
    return agent


# "mine.py" and "pkg.Mine" for a module and its class.
_OWN_CLASS = re.compile(r"([^\W\d][\w.]*)\.(?:py|([A-Z]\w*))")
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _load(target: str, requires: str | None) -> Callable[..., Agent]:
    module_name, class_name = target.split(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        if requires and isinstance(error, ModuleNotFoundError):
            raise _missing_extra(error, requires) from error
        why = f"{type(error).__name__}: {error}"
        if isinstance(error, ModuleNotFoundError) and module_name.endswith(".py"):
            why = f"write the module without .py, {module_name.removesuffix('.py')}:{class_name}"
        raise AgentImportError(f"module {module_name!r} does not import: {why}") from error
    cls = getattr(module, class_name, None)
    if cls is None:
        raise AgentImportError(
            f"module {module_name!r} has no {class_name!r}: {near_matches(class_name, _classes(module))}"
        )
    if not isinstance(cls, type):
        try:
            return maker(target, Agent)  # type: ignore[type-abstract]
        except NotAMakerError as error:
            raise AgentImportError(str(error)) from None
    missing = [m for m in ("reset", "act", "observe") if not callable(getattr(cls, m, None))]
    missing = sorted(getattr(cls, "__abstractmethods__", missing))
    if missing or not issubclass(cls, Agent):
        lacks = f"; it lacks {', '.join(missing)}" if missing else ""
        raise AgentImportError(f"{target} is not an agent: it must subclass regret_envs.agents.Agent{lacks}")
    return cls


def _missing_extra(error: ModuleNotFoundError, extra: str) -> MissingExtraError:
    return MissingExtraError(
        f'{error.name} is not installed: pip install "regret-envs[{extra}]"', name=error.name
    )


def _classes(module: ModuleType) -> list[str]:
    return [name for name, value in vars(module).items() if isinstance(value, type)]


def _agent_settings(cls: Any) -> set[str]:
    """The settings of a class or function that are agents themselves."""
    try:
        hints = get_type_hints(cls.__init__ if isinstance(cls, type) else cls)  # type: ignore[misc]
    except NameError:  # an annotation that exists for the type checker alone
        return set()
    return {
        key
        for key, hint in hints.items()
        if key != "return" and any(map(_is_agent, get_args(hint) or (hint,)))
    }


def _is_agent(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Agent)
