"""A reader of Gambit's strategic-form files, `.nfg`: a title, players, and payoffs or outcomes.

The format is Gambit's ("Game representation formats"), version 1; GAMUT writes it too. Profiles are listed
with the first player's strategy changing fastest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from regret_envs.arrays import FloatArray


class NfgError(ValueError):
    """The text is not a game in the `.nfg` format; says in which line."""


@dataclass(frozen=True)
class NfgGame:
    """The content of a file.

    Attributes:
        title: as it is written.
        players: their names.
        strategies: every player's names of strategies; "1", "2", … where the file has numbers alone.
        payoffs: one array (d_0, …, d_{N−1}) per player.
    """

    title: str
    players: tuple[str, ...]
    strategies: tuple[tuple[str, ...], ...]
    payoffs: tuple[FloatArray, ...]


def parse_nfg(text: str) -> NfgGame:
    """The game that a file's text describes.

    Payoffs are integers, decimals or fractions, each rounded to float64 once. The null outcome, number 0,
    pays nothing.

    Raises:
        NfgError: if it is not such a text.
    """
    tokens = _Tokens(text)
    if tokens.word() != "NFG":
        raise tokens.error("the file must begin with NFG")
    version = tokens.word()
    if version != "1":
        raise tokens.error(f"only version 1 of the format is known, not {version}")
    kind = tokens.word()
    if kind not in ("R", "D"):
        raise tokens.error(f"R or D must follow the version, got {kind!r}")
    title = tokens.quoted("the title")
    players = tuple(tokens.quoted_list("the players' names"))
    if not players:
        raise tokens.error("there are no players")
    strategies = _strategies(tokens, len(players))
    if tokens.peek().startswith('"'):
        tokens.quoted("the comment")
    shape = tuple(map(len, strategies))
    if tokens.peek() == "{":
        outcomes = _outcomes(tokens, len(players))
        profiles = _outcome_profiles(tokens, outcomes, math.prod(shape))
    else:
        profiles = _payoff_profiles(tokens, math.prod(shape), len(players))
    payoffs = tuple(
        np.ascontiguousarray(profiles[:, player].reshape(shape, order="F")) for player in range(len(players))
    )
    return NfgGame(title, players, strategies, payoffs)


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]|,|[^\s{},"]+', re.DOTALL)
_MOST_PROFILES = 1 << 26


class _Tokens:
    """The text token by token: quoted text, braces, and words; commas separate like blanks."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = self._start = 0
        self._next: re.Match[str] | None = None
        self._advance()

    def _advance(self) -> None:
        while True:
            at = self._at
            while at < len(self._text) and self._text[at].isspace():
                at += 1
            self._next = _TOKEN.match(self._text, at)
            if self._next is None:
                self._at = at
                if at < len(self._text):
                    raise self.error("a quotation mark is never closed")
                return
            self._at = self._next.end()
            if self._next[0] != ",":
                return

    def peek(self) -> str:
        """The next token, "" at the end."""
        return self._next[0] if self._next else ""

    def word(self) -> str:
        """The next token, taken."""
        token = self.peek()
        if not token:
            raise self.error("the file ends too early")
        self._start = self._next.start() if self._next else self._at
        self._advance()
        return token

    def expect(self, token: str, what: str) -> None:
        """Take `token`."""
        if self.peek() != token:
            raise self.error(f"{token} expected {what}, got {self.peek() or 'the end of the file'!r}")
        self.word()

    def quoted(self, what: str) -> str:
        """The next token, quoted text, without its quotation marks."""
        if not self.peek().startswith('"'):
            got = self.peek() or "the end of the file"
            raise self.error(f"{what} must be in quotation marks, got {got!r}")
        return re.sub(r"\\(.)", r"\1", self.word()[1:-1], flags=re.DOTALL)

    def quoted_list(self, what: str) -> Iterator[str]:
        """Quoted texts between braces."""
        self.expect("{", f"before {what}")
        while self.peek() != "}":
            yield self.quoted(what)
        self.word()

    def rest(self) -> str:
        """What is left of the text."""
        start = self._next.start() if self._next else len(self._text)
        return self._text[start:]

    def error(self, message: str) -> NfgError:
        """An error that says in which line the next token lies."""
        start = self._next.start() if self._next else min(self._at, len(self._text))
        return NfgError(f"line {self._text.count(chr(10), 0, start) + 1}: {message}")


def _strategies(tokens: _Tokens, num_players: int) -> tuple[tuple[str, ...], ...]:
    """The names of every player's strategies, or their numbers as names."""
    tokens.expect("{", "before the strategies")
    strategies: list[tuple[str, ...]] = []
    while tokens.peek() != "}":
        if tokens.peek() == "{":
            strategies.append(tuple(tokens.quoted_list("a strategy's name")))
            continue
        if not re.fullmatch(r"[0-9]{1,9}", tokens.peek()):
            raise tokens.error(f"a number of strategies or a list of names expected, got {tokens.peek()!r}")
        count = int(tokens.word())
        if count * math.prod(map(len, strategies)) > _MOST_PROFILES:
            raise tokens.error("there are too many profiles to hold in memory")
        strategies.append(tuple(str(1 + i) for i in range(count)))
    tokens.word()
    if len(strategies) != num_players:
        raise tokens.error(f"{num_players} players and the strategies of {len(strategies)}")
    if not all(strategies):
        raise tokens.error("a player has no strategies")
    if math.prod(map(len, strategies)) > _MOST_PROFILES:
        raise tokens.error("there are too many profiles to hold in memory")
    return tuple(strategies)


def _number(tokens: _Tokens, what: str) -> float:
    if tokens.peek() in ("{", "}", "") or tokens.peek().startswith('"'):
        raise tokens.error(f"{what} expected, got {tokens.peek() or 'the end of the file'!r}")
    value = _value(tokens.peek())
    if value is None:
        raise tokens.error(f"{tokens.peek()!r} is not a number")
    tokens.word()
    return value


_RATIONAL = re.compile(r"[+-]?[0-9]+/[0-9]+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


def _value(word: str) -> float | None:
    """A number as float64, or None if it is none or not finite."""
    try:
        if _RATIONAL.fullmatch(word):
            value = float(Fraction(word))
        elif _DECIMAL.fullmatch(word):
            value = float(word)
        else:
            return None
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _outcomes(tokens: _Tokens, num_players: int) -> FloatArray:
    """The payoffs of the outcomes, (1 + outcomes, players); the first pays nothing."""
    outcomes = [[0.0] * num_players]
    tokens.expect("{", "before the outcomes")
    while tokens.peek() != "}":
        tokens.expect("{", "before an outcome")
        tokens.quoted("an outcome's name")
        outcomes.append([_number(tokens, "an outcome's payoff") for _ in range(num_players)])
        tokens.expect("}", "after an outcome's payoffs")
    tokens.word()
    return np.array(outcomes)


def _outcome_profiles(tokens: _Tokens, outcomes: FloatArray, num_profiles: int) -> FloatArray:
    words = tokens.rest().split()
    if len(words) != num_profiles:
        raise tokens.error(f"{num_profiles} profiles need as many outcomes, got {len(words)}")
    for word in words:
        if not re.fullmatch(r"[0-9]+", word) or int(word) >= len(outcomes):
            raise tokens.error(f"{word!r} is not the number of an outcome, 0 … {len(outcomes) - 1}")
    return outcomes[np.array(words, dtype=np.int64)]


def _payoff_profiles(tokens: _Tokens, num_profiles: int, num_players: int) -> FloatArray:
    words = tokens.rest().replace(",", " ").split()
    if len(words) != num_profiles * num_players:
        raise tokens.error(
            f"{num_profiles} profiles of {num_players} players need {num_profiles * num_players} payoffs, "
            f"got {len(words)}"
        )
    if all(map(_INTEGER.fullmatch, words)):  # most files; a fifth of the time
        return np.array(words, dtype=np.float64).reshape(num_profiles, num_players)
    values = list(map(_value, words))
    if None in values:
        raise tokens.error(f"{words[values.index(None)]!r} is not a number")
    return np.array(values, dtype=np.float64).reshape(num_profiles, num_players)


_INTEGER = re.compile(r"[+-]?[0-9]{1,300}", re.ASCII)
