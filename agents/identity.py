"""What decides an agent's play besides its settings, for the identity of its results; nothing is imported."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from regret_envs.agents.catalogue import AGENTS, AgentEntry, built_in, known_agents
from regret_envs.agents.sources import AgentImportError, Sources, source_file, sources
from regret_envs.agents.specs import CHECKPOINT, TARGET, SpecError, is_list, parse, specs_in

_WEIGHTS = ".npz"
_CHECKPOINT_FILES = ("config.json", "model.safetensors")


def source_hash(spec: str) -> str | None:
    """The SHA-256 of the custom agents' sources, the checkpoints and the prompts in a spec, nested ones too.

    A custom agent's sources are its module, the modules that this imports from outside installed
    distributions, the names and versions of the distributions that they import, and the versions of the
    built-in agents that they name.

    Returns:
        None where there are neither.

    Raises:
        AgentImportError: if there is no such module.
        PromptError: if there are no such prompts.
    """
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in _checkpoint_files(spec)]
    digests += _prompts(spec)
    digests += [_digest(sources(module)) for module in custom_modules(spec)]
    digests += _named_files(spec)
    digests.sort()
    if len(digests) < 2:
        return digests[0] if digests else None
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def _named_files(spec: str) -> list[str]:
    """The hashes of the files that settings of custom agents name by absolute paths."""
    paths = [
        Path(value)
        for custom in custom_specs(spec)
        for value in parse(custom)[1].values()
        if isinstance(value, str) and Path(value).is_absolute()
    ]
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths if path.is_file()]


def _digest(found: Sources) -> str:
    used = {
        name: entry.version
        for name, entry in built_in().items()
        if entry.version > 1 and found.words & {name, entry.target.partition(":")[2]}
    }
    content = msgspec.json.encode([found.modules, found.installed, used], order="sorted")
    return hashlib.sha256(content).hexdigest()


def tracked(spec: str) -> str:
    """A line that says what of a custom agent tells its results apart; "" for other agents.

    Raises:
        AgentImportError: if there is no such module.
    """
    found = [sources(module) for module in sorted(custom_modules(spec))]
    modules = sorted({name for one in found for name in one.modules})
    installed = sorted({f"{name} {number}" for one in found for name, number in one.installed.items()})
    return ", ".join([*modules, *installed])


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


def custom_modules(spec: str) -> set[str]:
    """The modules of the custom and plug-in agents in a spec, nested ones too."""
    try:
        name, settings = parse(spec)
    except SpecError:  # the setting is a word that is not a spec, such as a path
        return set()
    if not TARGET.fullmatch(name) and name not in built_in():
        name = known_agents()[0].get(name, AgentEntry("", "")).target
    module = name.partition(":")[0]
    custom = TARGET.fullmatch(name) and not name.startswith((CHECKPOINT, "regret_envs."))
    found = {module} if custom else set()
    nested: set[str] = set()
    nested = nested.union(*map(custom_modules, _nested(name, settings)))
    # Text with a colon in it need not be a spec.
    return found | {name for name in nested if _has_source(name)}


def is_built_in(spec: str) -> bool:
    """Whether a spec names built-in agents alone, nested ones too, none of which asks anybody.

    Specs from results are data: only such agents may be made from them.
    """
    try:
        name, settings = parse(spec)
    except SpecError:
        return False
    others = known_agents()[0].keys() | built_in().keys() - AGENTS.keys()
    inner = [text.partition("[")[0].strip() for text in _nested(name, settings)]
    nested = all(is_built_in(text) for text in _nested(name, settings) if "[" in text)
    return name in AGENTS and ":" not in spec and nested and not (set(inner) & (others - AGENTS.keys()))


def located(spec: str, folder: Path) -> str:
    """The spec with the files and folders that it names as they are found from another folder.

    What does not lie there, and words that name agents, stay as they are written.
    """
    names = {*AGENTS, *built_in()}

    def found(path: str) -> str:
        return path if path in names or not (folder / path).exists() else str(folder / path)

    return _with_paths(spec, found)


def portable(spec: str) -> str:
    """A located spec with the names of its files alone: the same wherever its folder lies."""
    return _with_paths(spec, lambda path: Path(path).name if Path(path).is_absolute() else path)


def _with_paths(spec: str, replaced: Callable[[str], str]) -> str:
    def rewritten(word: re.Match[str]) -> str:
        path = replaced(word[3])
        if path == word[3]:
            return word[0]
        if word[1] != CHECKPOINT:
            return word[1] + repr(path)
        # A name within a spec has no blanks and brackets.
        return word[0] if re.search(r"[\s,=\[\](){}]", path) else CHECKPOINT + path

    return _WORD.sub(rewritten, spec)


_WORD = re.compile(
    rf"""({CHECKPOINT}|=\s*(?!{CHECKPOINT}))(["']?)([^"'\[\](),={{}}\s][^"'\[\](),={{}}]*)\2"""
)


def custom_specs(spec: str) -> list[str]:
    """The custom and plug-in agents in a spec with their settings, nested ones too."""
    try:
        name, settings = parse(spec)
    except SpecError:
        return []
    nested = [custom for inner in _nested(name, settings) for custom in custom_specs(inner)]
    return [spec, *nested] if custom_modules(name) else nested


def _checkpoint_files(spec: str) -> set[Path]:
    """The files of the checkpoints in a spec and in what it stands for."""
    if spec.endswith(_WEIGHTS):
        return {Path(spec)} if Path(spec).is_file() else set()
    try:
        name, settings = parse(spec)
    except SpecError:
        return set()
    paths: set[Path] = set()
    if name.startswith(CHECKPOINT):
        paths.add(Path(name.removeprefix(CHECKPOINT)))
    elif name in AGENTS:
        # Of the entry's settings only lists are specs for sure; a word may be a checkpoint's name.
        members = {key: value for key, value in AGENTS[name].settings.items() if is_list(value)}
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
    return [] if name == "llm" else [spec for value in settings.values() for spec in specs_in(value)]


def _has_source(module: str) -> bool:
    try:
        return bool(source_file(module))
    except AgentImportError:
        return False
