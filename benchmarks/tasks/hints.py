"""What to write instead, for mistakes in suite files and names of suites."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from regret_envs.benchmarks.tasks.task import Layer, Task
from regret_envs.games import NAMED_GAMES
from regret_envs.names import UnknownNameError, near_matches

_OWN = ("payoffs", "action_names")
_LINES = {
    "id": 'id = "NAME", a name for the results',
    "world": 'world = "games.NAME", "streams.NAME" or "module:factory", or payoffs = [[...], [...]], one '
    "array per player",
    "horizon": "horizon = 1000, the number of rounds",
    "metrics": 'metrics = ["external_regret"]; regret-envs list --metrics has them all',
    "loss_scale": "loss_scale = 1.0, the range of the losses",
    "summary": 'summary = "a line for lists"',
}


def form_hint(message: str, whole: type[msgspec.Struct]) -> str:
    """What to write instead of what a msgspec error is about, a clause that begins with ";", or "".

    Args:
        message: the error's.
        whole: the structure that was read.
    """
    if "Expected `array`, got `object` - at `$.task`" in message:
        return "; write [[task]], with two brackets, above every task"
    if "Expected `str`, got `object` - at `$.tasks" in message:
        return "; tasks = [...] names tasks that exist; write [[task]] above every task of your own"
    if found := re.search(r"Expected `(?:int|float)`, got `str` - at `\$(?:\.task\[\d+\])?\.(\w+)`", message):
        return f"; write {found[1]} without quotes"
    if found := re.search(r"missing required field `(\w+)`", message):
        return f"; write {_LINES[found[1]]}" if found[1] in _LINES else ""
    if found := re.search(r"Expected `array`, got `str` - at `\$(?:\.task\[\d+\])?\.(\w+)`", message):
        return f'; write a list, {found[1]} = ["…"]'
    found = re.search(r"unknown field `([^`]*)`(?: - at `\$\.(\S*)`)?", message)
    if not found:
        return ""
    name, path = found.groups()
    if not path and whole is not Task:
        if name in (*Task.__struct_fields__, *_OWN):
            return f"; write {name} below a line [[task]], which begins a task"
        return f"; {near_matches(name, whole.__struct_fields__)}"
    if path and "feedback" in path:
        return f"; {near_matches(name, Layer.__struct_fields__)}"
    if name == "game":
        return '; write world = "games.NAME"'
    fields = [*Task.__struct_fields__, *_OWN]
    near = near_matches(name, fields)
    if difflib.get_close_matches(name, fields, cutoff=0.5):
        return f"; {near}"
    return f"; a setting of the world is written as settings = {{ {name} = … }}; {near}"


def unknown_suite(name: str, known: Mapping[str, Any]) -> UnknownNameError:
    """The error for a name that is not that of a suite or task; says what else it may be."""
    if name.removeprefix("games.") in NAMED_GAMES or Path(name).suffix in (".nfg", ".efg"):
        return UnknownNameError(f"{name} is a game, not a suite or task: give --game {name}")
    if difflib.get_close_matches(name, known, cutoff=0.5):
        return UnknownNameError(f"unknown suite or task {name!r}: {near_matches(name, known)}")
    return UnknownNameError(
        f"unknown suite or task {name!r}: regret-envs list suites and regret-envs list tasks name them; a "
        "suite file of your own ends in .toml"
    )
