"""Agents by name: specs that name any agent with its settings.

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

import ast
import copy
import hashlib
import importlib
import importlib.util
import inspect
import math
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

from regret_envs.agents.base import Agent
from regret_envs.agents.catalogue import AGENTS as AGENTS
from regret_envs.agents.catalogue import AgentEntry as AgentEntry
from regret_envs.agents.catalogue import built_in
from regret_envs.names import lookup, near_matches
from regret_envs.plugins import plugins


class SpecError(ValueError):
    """An agent's spec is malformed, or names a setting that the agent does not have.

    What may be a secret in the message (a user name, password or query in an address, a key in place of the
    name of its variable) is left out.
    """

    def __init__(self, message: str) -> None:
        for secret, shown in _SECRETS:
            message = secret.sub(shown, message)
        super().__init__(message)


_SECRETS = (
    (re.compile(r"://[^/\s,\]]*@"), "://…@"),
    (re.compile(r"(://[^\s,\]?#]*)[?#][^\s,\]]*"), r"\1…"),
    (re.compile(r"(api_key\w*\s*=\s*)(?![A-Z_][A-Z0-9_]*\s*[,\]])[^\s,\]]*"), r"\1…"),
)


class AgentImportError(ImportError):
    """The module or class that a spec names cannot be imported."""


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
    if name.startswith(_CHECKPOINT):
        entry = AgentEntry(
            "regret_envs.agents.attention.checkpoint:Checkpoint",
            "",
            {"path": name.removeprefix(_CHECKPOINT)},
            requires="torch",
        )
    elif _TARGET.fullmatch(name):
        entry = AgentEntry(name, "")
    else:
        ours = built_in()
        entry = lookup("agent", name, ours if name in ours else {**known_agents()[0], **ours})
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
    for key in _agent_settings(cls) & settings.keys():
        if _is_list(settings[key]):
            settings[key] = tuple(make(inner, objects=objects) for inner in _specs(settings[key]))
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


def known_agents() -> tuple[dict[str, AgentEntry], list[str]]:
    """The built-in agents, then those of plug-ins; and a line about each plug-in that is left out."""
    found, problems = plugins("agents", built_in())
    offered = {
        name: AgentEntry(plugin.target, f"a plug-in of {plugin.distribution}")
        for name, plugin in found.items()
    }
    return {**AGENTS, **offered}, problems


def parse(spec: str) -> tuple[str, dict[str, Any]]:
    """The name (or target) of a spec and its settings; nested specs stay text.

    Raises:
        SpecError: if the spec is malformed; says at which position.
    """
    masked = _masked(spec)
    _check_brackets(spec, masked)
    start = masked.find("[")
    bracket = start >= 0
    name = (spec[:start] if bracket else spec).strip()
    if not name or re.search(r"[\s,=\](){}]", name):
        raise SpecError(f"malformed agent spec {spec!r}: expected a name at position 0, got {name!r}")
    end = _closing(masked, start) if bracket else len(spec)
    if spec[end + 1 :].strip():
        at = end + 1 + len(spec[end + 1 :]) - len(spec[end + 1 :].lstrip())
        raise SpecError(f"malformed agent spec {spec!r}: text after the closing bracket, at position {at}")
    settings: dict[str, Any] = {}
    at = start + 1
    for part in _pieces(spec[at:end], masked[at:end]) if bracket else []:
        key, equals, value = (text.strip() for text in part.partition("="))
        if not (equals and key.isidentifier() and value):
            raise SpecError(
                f"malformed agent spec {spec!r}: expected key=value at position {at}, got {part!r}"
            )
        if key in settings:
            raise SpecError(f"malformed agent spec {spec!r}: {key!r} is given twice, again at position {at}")
        settings[key] = _literal(value)
        at += len(part) + 1
    return name, settings


def canonical(spec: str) -> str:
    """The spec with its settings sorted and its numbers in their shortest form, nested ones too.

    It is for keys and for comparing specs. An agent is made from the spec as it was written, since 2 and 2.0
    have the same canonical text.

    Raises:
        SpecError: if the spec is malformed.
    """
    name, settings = parse(spec)
    inside = ",".join(f"{key}={_text(settings[key])}" for key in sorted(settings))
    return f"{name}[{inside}]" if inside else name


def split(specs: str) -> list[str]:
    """The specs of a comma-separated list; commas within brackets do not separate.

    Raises:
        SpecError: if brackets do not match or a spec is empty.
    """
    masked = _masked(specs)
    _check_brackets(specs, masked)
    pieces = [piece.strip() for piece in _pieces(specs, masked)]
    if not all(pieces):
        raise SpecError(f"an empty agent spec in the list {specs!r}")
    return pieces


def source_hash(spec: str) -> str | None:
    """The SHA-256 of the custom agents' modules, the checkpoints and the prompts in a spec, nested ones too.

    Returns:
        None where there are neither.

    Raises:
        AgentImportError: if there is no such module.
        PromptError: if there are no such prompts.
    """
    files = [_source_file(m) for m in custom_modules(spec)]
    files += _checkpoint_files(spec)
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    digests = sorted([*digests, *_prompts(spec)])
    if len(digests) < 2:
        return digests[0] if digests else None
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def versions(spec: str) -> dict[str, int]:
    """The built-in agents in a spec whose version is above 1, nested ones too."""
    try:
        name, settings = parse(spec)
    except SpecError:  # a word that is not a spec, such as a path
        return {}
    entry = built_in().get(name)
    found = {name: entry.version} if entry and entry.version > 1 else {}
    values = [*(entry.settings.values() if entry else ()), *settings.values()]
    for text in values:
        # A setting may be a word that happens to be the agent's own name, such as a checkpoint's.
        if isinstance(text, str) and text != name:
            found |= versions(text)
    return found


_CHECKPOINT = "checkpoint:"
_WEIGHTS = ".npz"
_CHECKPOINT_FILES = ("config.json", "model.safetensors")
_TARGET = re.compile(r"[^\W\d][\w.]*:[^\W\d]\w*")
_CLOSING = {"[": "]", "(": ")", "{": "}"}


_QUOTED = re.compile(
    r"(?:[rRbBuU]|[rR][bB]|[bB][rR])?"
    r"(?:\'\'\'(?:[^\\]|\\.)*?\'\'\'|\"\"\"(?:[^\\]|\\.)*?\"\"\"|\'(?:[^\'\\\n]|\\.)*\'|\"(?:[^\"\\\n]|\\.)*\")",
    re.DOTALL,
)


def _masked(text: str) -> str:
    """The text with "_" for every character of a quoted string, so that what is left is structure.

    A quotation mark begins a string only where a value may begin: don't is a word.
    """
    masked, at, before = [], 0, ""
    while at < len(text):
        quoted = _QUOTED.match(text, at) if before and before in "=,[({:_" else None
        length = quoted.end() - at if quoted else 1
        masked.append("_" * length if quoted else text[at])
        if not text[at].isspace():
            # One string may follow another, as in Python.
            before = "_" if quoted else "." if text[at] == "_" else text[at]
        at += length
    return "".join(masked)


def _check_brackets(text: str, masked: str) -> None:
    """Raise `SpecError` with the position of the first bracket that does not match."""
    opened: list[int] = []
    for at, char in enumerate(masked):
        if char in _CLOSING:
            opened.append(at)
        elif char in _CLOSING.values() and (not opened or _CLOSING[masked[opened.pop()]] != char):
            raise SpecError(f"malformed agent spec {text!r}: {char!r} at position {at} closes no bracket")
    if opened:
        at = opened[-1]
        raise SpecError(f"malformed agent spec {text!r}: {text[at]!r} at position {at} is never closed")


def _closing(masked: str, start: int) -> int:
    """Where the bracket that opens at `start` closes; brackets match."""
    depth = 0
    for at in range(start, len(masked)):
        depth += (masked[at] in _CLOSING) - (masked[at] in _CLOSING.values())
        if not depth:
            return at
    raise AssertionError("the brackets were checked")


def _pieces(text: str, masked: str) -> list[str]:
    """`text` cut at the commas outside brackets and quoted strings."""
    pieces, depth = [""], 0
    for char, structure in zip(text, masked, strict=True):
        depth += (structure in _CLOSING) - (structure in _CLOSING.values())
        if structure == "," and not depth:
            pieces.append("")
        else:
            pieces[-1] += char
    return pieces


def _literal(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    try:
        with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
            return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text


def _is_list(value: Any) -> bool:
    """Whether a setting's value is a list of specs: a tuple or, where one is not a literal, text."""
    return isinstance(value, tuple) or (isinstance(value, str) and value[:1] == "(" and value[-1:] == ")")


def _specs(value: Any) -> list[str]:
    """The specs in a setting's value, or what may be some."""
    if isinstance(value, str):
        return (
            [p.strip() for p in _pieces(value[1:-1], _masked(value)[1:-1]) if p.strip()]
            if _is_list(value)
            else [value]
        )
    return [inner for inner in value if isinstance(inner, str)] if isinstance(value, tuple) else []


def _text(value: Any) -> str:
    """A setting's value as `parse` reads it back, except that whole floats are written as integers."""
    return _string_text(value) if isinstance(value, str) else _literal_text(value)


def _literal_text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({','.join(map(_literal_text, value))}{',' * (len(value) == 1)})"
    if isinstance(value, list):
        return f"[{','.join(map(_literal_text, value))}]"
    if isinstance(value, dict):
        pairs = (f"{_literal_text(key)}:{_literal_text(of)}" for key, of in value.items())
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, set):
        return f"{{{','.join(sorted(map(_literal_text, value)))}}}" if value else "set()"
    if value is ...:
        return "..."
    if isinstance(value, float) and math.isinf(value):
        return "1e999" if value > 0 else "-1e999"
    return repr(value).removesuffix(".0") if isinstance(value, float) else repr(value)


def _string_text(value: str) -> str:
    """A word as it is where it can stand without quotes, a spec in canonical form, and else quoted."""
    try:
        bare = parse(f"agent[word={value}]")[1] == {"word": value}
    except SpecError:
        bare = False
    if not bare:
        return repr(value)
    if _is_list(value):
        inner = _specs(value)
        return f"({','.join(map(_text, inner))}{',' * (len(inner) == 1)})"
    try:
        return canonical(value)
    except SpecError:  # a word that is not a spec, such as a path
        return value


def _load(target: str, requires: str | None) -> Callable[..., Agent]:
    module_name, class_name = target.split(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        if requires and isinstance(error, ModuleNotFoundError):
            raise _missing_extra(error, requires) from error
        raise AgentImportError(f"module {module_name!r} does not import: {error!r}") from error
    cls = getattr(module, class_name, None)
    if cls is None:
        raise AgentImportError(
            f"module {module_name!r} has no {class_name!r}: {near_matches(class_name, _classes(module))}"
        )
    if not isinstance(cls, type):
        if callable(cls):
            return cls  # a function that makes an agent; `make` looks at what it made
        raise AgentImportError(f"{target} is not a class, nor a function that makes an agent")
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


def custom_modules(spec: str) -> set[str]:
    """The modules of the custom and plug-in agents in a spec, nested ones too."""
    try:
        name, settings = parse(spec)
    except SpecError:  # the setting is a word that is not a spec, such as a path
        return set()
    if not _TARGET.fullmatch(name) and name not in built_in():
        name = known_agents()[0].get(name, AgentEntry("", "")).target
    module = name.partition(":")[0]
    custom = _TARGET.fullmatch(name) and not name.startswith((_CHECKPOINT, "regret_envs.agents."))
    found = {module} if custom else set()
    nested: set[str] = set()
    nested = nested.union(*map(custom_modules, _nested(name, settings)))
    # Text with a colon in it need not be a spec.
    return found | {name for name in nested if _has_source(name)}


def _checkpoint_files(spec: str) -> set[Path]:
    """The files of the checkpoints in a spec and in what it stands for."""
    if spec.endswith(_WEIGHTS):
        return {Path(spec)} if Path(spec).is_file() else set()
    try:
        name, settings = parse(spec)
    except SpecError:
        return set()
    paths: set[Path] = set()
    if name.startswith(_CHECKPOINT):
        paths.add(Path(name.removeprefix(_CHECKPOINT)))
    elif name in AGENTS:
        # Of the entry's settings only lists are specs for sure; a word may be a checkpoint's name.
        members = {key: value for key, value in AGENTS[name].settings.items() if _is_list(value)}
        settings = {**members, **settings}
        if shipped := AGENTS[name].checkpoint:
            paths.add(Path(__file__).parent / "attention" / "checkpoints" / shipped)
        if weights := AGENTS[name].weights:
            paths.add(Path(__file__).parent / "universal" / "weights" / f"{weights}{_WEIGHTS}")
    files = {p / name for p in paths for name in _CHECKPOINT_FILES} | paths
    inner = map(_checkpoint_files, _nested(name, settings))
    return {file for file in files if file.is_file()}.union(*inner)


def _prompts(spec: str) -> list[str]:
    """The hashes of the prompts of the language models in a spec."""
    try:
        name, settings = parse(spec)
    except SpecError:
        return []
    if name != "llm":
        return [digest for nested in _nested(name, settings) for digest in _prompts(nested)]
    from regret_envs.agents.llm import prompts

    return [prompts.fingerprint(folder) for folder in prompts.chosen(settings.get("prompts"))]


def _nested(name: str, settings: dict[str, Any]) -> list[str]:
    """The settings that may be specs of agents; those of a language model are names and addresses."""
    return [] if name == "llm" else [spec for value in settings.values() for spec in _specs(value)]


def _has_source(module: str) -> bool:
    try:
        return bool(_source_file(module))
    except AgentImportError:
        return False


def _source_file(module: str) -> Path:
    """Where a module's source lies; its packages are imported, the module is not."""
    try:
        loaded = sys.modules.get(module)
        spec = loaded.__spec__ if loaded else importlib.util.find_spec(module)
    except Exception as error:
        raise AgentImportError(f"module {module!r} does not import: {error!r}") from error
    file = getattr(loaded, "__file__", None) or (spec and spec.origin)
    if not file:
        raise AgentImportError(f"module {module!r} is not found, or has no source file")
    return Path(file)
