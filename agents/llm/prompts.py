"""What a language model is told: Jinja2 templates in a folder that users can copy and change.

A folder of prompts holds `system.jinja` (who the model is), `world.jinja` (the rules and the form of the
answer), `history.jinja` (what happened so far, and the question) and `again.jinja` (after an answer that
cannot be used). What a folder lacks is taken from the shipped `shared` one. The system text is the
system message; world and history together are the user message. System and world are rendered once for
each run, history in every round. Templates run in Jinja2's sandbox and see only the variables in
`VARIABLES`; any other name is an error. Two filters write numbers: `value | number`, and
`values | numbers(names)` for "A 0.1, B 0.9".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regret_envs.names import near_matches

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

SHIPPED = ("plain", "summary", "game", "bandit")
PARTS = ("system", "world", "history", "again")

VARIABLES: dict[str, str] = {
    "actions": "the names of the actions, in the order in which this run shows them",
    "num_actions": "d",
    "horizon": "T, or None where it is unknown",
    "answer": '"policy" or "action": what is asked for',
    "payoffs": "in a game of two players, the own payoffs: payoffs[own action][opponent's action]",
    "opponent_actions": "in a game of two players, the names of the opponent's actions",
    "round": "in history.jinja: the round that is asked for, from 1",
    "history": "in history.jinja: past rounds, each with round, losses, policy, loss, played, opponent",
    "totals": "in history.jinja: the sum of the losses of every action over the history",
    "total_loss": "in history.jinja: the model's own loss, summed over the history",
    "start": "in history.jinja: losses seen before round 1, or None",
    "problem": "in again.jinja: what was wrong with the answer",
}
"""What templates may use. Lists of losses and probabilities are in the order of `actions`."""


class PromptError(ValueError):
    """A folder of prompts is not there, or a template is wrong; names the file and the placeholder."""


class Prompts:
    """The templates of a folder.

    Args:
        folder: the name of shipped prompts (one of `SHIPPED`), or a folder.
        digits: significant digits of every number; 17 loses nothing.

    Raises:
        PromptError: if there is no such folder, or a template has a syntax error or an unknown placeholder.
        ImportError: if Jinja2 is not installed.
    """

    def __init__(self, folder: str, *, digits: int = 4) -> None:
        self._name = folder
        self._digits = digits
        self._sources = _sources(folder)
        for file in self._sources:
            self._check(file)

    def __getstate__(self) -> dict[str, Any]:
        # Compiled templates do not pickle.
        return {name: value for name, value in self.__dict__.items() if name != "_environment"}

    @cached_property
    def _environment(self) -> SandboxedEnvironment:
        import jinja2
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        environment = ImmutableSandboxedEnvironment(
            loader=jinja2.DictLoader(self._sources),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

        def number(value: Any) -> str:
            return format(float(value), f".{self._digits}g")

        def numbers(values: Sequence[Any], names: Sequence[str]) -> str:
            return ", ".join(f"{name} {number(value)}" for name, value in zip(names, values, strict=True))

        environment.filters.update(number=number, numbers=numbers)
        return environment

    def _check(self, file: str) -> None:
        import jinja2
        from jinja2 import meta

        try:
            used = meta.find_undeclared_variables(self._environment.parse(self._sources[file]))
            self._environment.get_template(file)
        except jinja2.TemplateSyntaxError as error:
            raise PromptError(f"{self._name}, {file}, line {error.lineno}: {error.message}") from None
        for name in sorted(used - VARIABLES.keys()):
            raise PromptError(
                f"{self._name}, {file}: there is no placeholder {name!r}; {near_matches(name, VARIABLES)}"
            )

    def render(self, part: str, variables: Mapping[str, Any]) -> str:
        """The text of one of `PARTS`.

        Raises:
            PromptError: if the template uses what this task does not have, or fails.
        """
        import jinja2

        try:
            return self._environment.get_template(f"{part}.jinja").render(variables).strip()
        except jinja2.UndefinedError as error:
            found = re.match(r"'(\w+)' is undefined", str(error))
            absent = VARIABLES.get(found[1]) if found else None
            why = f"{error}: it is not known here ({absent})" if absent else str(error)
            raise PromptError(f"{self._name}, {part}.jinja: {why}") from None
        except (jinja2.TemplateError, ArithmeticError, TypeError, ValueError, LookupError) as error:
            raise PromptError(f"{self._name}, {part}.jinja: {type(error).__name__}: {error}") from None


def chosen(prompts: str | None) -> tuple[str, ...]:
    """The folders that the setting `prompts` stands for: None chooses by the feedback."""
    return ("plain", "bandit") if prompts is None else (prompts,)


def fingerprint(folder: str) -> str:
    """The SHA-256 of the templates of shipped prompts or of a folder.

    Raises:
        PromptError: if there is no such folder.
    """
    digest = hashlib.sha256()
    for name, source in sorted(_sources(folder).items()):
        digest.update(f"{name}\0{source}\0".encode())
    return digest.hexdigest()


def count_tokens(text: str) -> int:
    """About how many tokens a text has: tokenizers differ, and none is needed here.

    Pieces of words, groups of three digits, signs and line ends are counted, which is rather many than few.
    """
    return len(_PIECES.findall(text))


_PIECES = re.compile(r"\d{1,3}|[^\W\d_]{1,5}|[^\w\s]|_|\n")


def _sources(folder: str) -> dict[str, str]:
    """File names to templates: the folder's, and the shared ones that it lacks."""
    shipped = resources.files(__package__) / "prompts_data"
    if folder in SHIPPED:
        chosen: Any = shipped / folder
    else:
        chosen = Path(folder)
        if not chosen.is_dir():
            raise PromptError(
                f"there are no prompts {folder!r}: give one of {', '.join(SHIPPED)}, or a folder with "
                f"{', '.join(f'{part}.jinja' for part in PARTS)} (what it lacks of "
                "system, again and answer is taken from the shipped ones)"
            )
    sources = {}
    for place in (shipped / "shared", chosen):
        for file in place.iterdir():
            if file.name.endswith(".jinja"):
                try:
                    sources[file.name] = file.read_text(encoding="utf-8")
                except (OSError, ValueError) as error:
                    raise PromptError(f"{folder}, {file.name} cannot be read: {error}") from None
    for part in PARTS:
        if f"{part}.jinja" not in sources:
            raise PromptError(f"the folder of prompts {folder} has no {part}.jinja")
    return sources
