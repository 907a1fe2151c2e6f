"""Specs: text that names an agent with its settings.

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
import math
import re
import warnings
from typing import Any

CHECKPOINT = "checkpoint:"
TARGET = re.compile(r"[^\W\d][\w.]*:[^\W\d]\w*")


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
        raise SpecError(
            f"malformed agent spec {spec!r}: expected a name at position 0, got {name!r}: write "
            "name or name[key=value], with commas between agents"
        )
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


def is_list(value: Any) -> bool:
    """Whether a setting's value is a list of specs: a tuple or, where one is not a literal, text."""
    return isinstance(value, tuple) or (isinstance(value, str) and value[:1] == "(" and value[-1:] == ")")


def specs_in(value: Any) -> list[str]:
    """The specs in a setting's value, or what may be some."""
    if isinstance(value, str):
        return (
            [p.strip() for p in _pieces(value[1:-1], _masked(value)[1:-1]) if p.strip()]
            if is_list(value)
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
    if is_list(value):
        last = "," if value[:-1].rstrip().endswith(",") else ""
        return f"({','.join(map(_text, specs_in(value)))}{last})"
    try:
        return canonical(value)
    except SpecError:  # a word that is not a spec, such as a path
        return value
