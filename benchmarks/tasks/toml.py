"""Tasks as the text of a suite file."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from regret_envs.benchmarks.tasks.task import Task, find_maker
from regret_envs.names import settings_of


def suite_text(tasks: Iterable[Task], summary: str = "") -> str:
    """A suite file that defines copies of the tasks; `suites.read_suite` reads it back.

    The copies are called my_ID, since the ids of built-in tasks are taken. What has its default value is left
    out; a comment names the settings that the world has.

    Raises:
        ValueError: if TOML cannot hold a setting; names the task and the setting.
    """
    blocks = [
        "# Copy this into a file, my.toml, and edit it; regret-envs run --suite my.toml plays it.",
        *([f"summary = {_value(summary)}"] if summary else []),
    ]
    for task in tasks:
        required = {f.name: getattr(task, f.name) for f in msgspec.structs.fields(Task) if f.required}
        plain = Task(**required)
        lines = ["[[task]]"]
        for key, value in msgspec.to_builtins(task).items():
            if key not in required and getattr(task, key) == getattr(plain, key):
                continue
            try:
                text = _value(f"my_{value}" if key == "id" else value)
            except ValueError as error:
                raise ValueError(f"task {task.id!r} cannot be written as TOML: {key}: {error}") from None
            lines.append(f"{key} = {text}{_comment(task) if key == 'world' else ''}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _comment(task: Task) -> str:
    settings = settings_of(find_maker(task.world))
    return f"  # settings: {', '.join(settings)}" if settings else "  # no settings"


def _value(value: Any) -> str:
    """A value in TOML's notation."""
    if isinstance(value, Mapping):
        return (
            "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }" if value else "{}"
        )
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    raise ValueError(f"there is no TOML for {value!r}")


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)
