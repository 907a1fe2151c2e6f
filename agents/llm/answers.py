"""What a language model answers: the JSON it is asked for, and how a policy is read from its text."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from regret_envs.arrays import FloatArray

AnswerKind = Literal["policy", "action"]

SUM_TOLERANCE = 0.02
"""Probabilities whose sum is this close to 1 are rescaled: models round to two decimals."""

MOST_CHARACTERS = 100_000


class MalformedAnswer(ValueError):
    """A text from which no policy can be read; the message says what was wrong, to the model too."""


def schema(actions: Sequence[str], kind: AnswerKind) -> dict[str, Any]:
    """The JSON schema of an answer, for servers that hold models to one (`response_format`).

    Args:
        actions: the actions' names, in the order in which the model sees them.
        kind: "policy", a probability for every action, or "action", the name of one.
    """
    if kind == "action":
        properties: dict[str, Any] = {"action": {"type": "string", "enum": list(actions)}}
    else:
        properties = {name: {"type": "number"} for name in actions}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_policy(text: str, actions: Sequence[str], kind: AnswerKind) -> FloatArray:
    """The policy that a model's text states.

    The last JSON object that has an action's name as a key (or the key "action") is the answer, so a model
    may think aloud before it.

    Args:
        text: what the model said.
        actions: the actions' names, d of them.
        kind: "policy" or "action", as in `schema`.

    Returns:
        Shape (num_actions,), on the simplex; of kind "action" a unit vector.

    Raises:
        MalformedAnswer: if no policy can be read.
    """
    if len(text) > MOST_CHARACTERS:
        raise MalformedAnswer(f"the answer has {len(text)} characters: keep it below {MOST_CHARACTERS}")
    if not text.strip():
        raise MalformedAnswer("the answer is empty")
    wanted = {"action"} if kind == "action" else set(actions)
    found: dict[str, Any] | None = None
    for candidate in _objects(text):
        if wanted & candidate.keys():
            found = candidate
    if kind == "action":
        return _pure(text if found is None else found["action"], actions)
    if found is None:
        raise MalformedAnswer(f"the answer holds no JSON object with the keys {_listed(actions)}")
    return _mixed(found, actions)


def _pure(said: Any, actions: Sequence[str]) -> FloatArray:
    name = said.strip().strip(".\"'`*") if isinstance(said, str) else said
    if name not in actions:
        shown = said if len(str(said)) <= 40 else "it"
        raise MalformedAnswer(f"{shown!r} is not the name of an action: the actions are {_listed(actions)}")
    policy = np.zeros(len(actions))
    policy[list(actions).index(name)] = 1.0
    return policy


def _mixed(found: dict[str, Any], actions: Sequence[str]) -> FloatArray:
    if missing := [name for name in actions if name not in found]:
        raise MalformedAnswer(f"there is no probability for {_listed(missing)}")
    if unknown := [name for name in found if name not in actions]:
        raise MalformedAnswer(f"{_listed(unknown)} is not an action: the actions are {_listed(actions)}")
    for name in actions:
        value = found[name]
        # A bool is an int in Python, and a huge int has no float.
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not _finite(value):
            raise MalformedAnswer(f"the probability of {name!r} is not a finite number")
        if value < 0:
            raise MalformedAnswer(f"the probability of {name!r} is negative")
    policy = np.array([float(found[name]) for name in actions])
    total = policy.sum()
    if not abs(total - 1) <= SUM_TOLERANCE:
        raise MalformedAnswer(f"the probabilities sum to {total:.6g}, not to 1")
    return policy / total


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The outermost JSON objects in a text, in order."""
    decoder = json.JSONDecoder(object_pairs_hook=_no_repeats, parse_constant=_no_constant)
    at = text.find("{")
    while at >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
        except MalformedAnswer:
            raise
        except RecursionError:
            raise MalformedAnswer("the JSON in the answer is nested too deeply") from None
        except ValueError:
            at += 1
        else:
            yield value
        at = text.find("{", at)


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise MalformedAnswer("a key occurs twice in the JSON object")
    return found


def _no_constant(name: str) -> float:
    raise MalformedAnswer(f"{name} is not a number that JSON has")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
