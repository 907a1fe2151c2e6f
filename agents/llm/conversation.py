"""One run's conversation with a language model: what it is told, and what is made of its answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regret_envs.agents.llm.answers import AnswerKind, MalformedAnswer, read_policy, schema
from regret_envs.agents.llm.cache import Answer
from regret_envs.agents.llm.client import Client
from regret_envs.agents.llm.prompts import Prompts
from regret_envs.agents.usage import MOST_EXAMPLES, Usage
from regret_envs.arrays import FloatArray

EXAMPLE_CHARACTERS = 200


@dataclass
class Decision:
    """What came of asking for one round's policy.

    Attributes:
        policy: shape (num_actions,), in the world's order of actions.
        messages: the conversation as it was last sent.
        answers: what the model said, each time it was asked.
        problems: what was wrong with all answers but a good last one.
    """

    policy: FloatArray
    messages: list[dict[str, str]]
    answers: list[Answer]
    problems: list[str]

    @property
    def fallback(self) -> bool:
        """Whether no answer could be used, so that uniform play takes its place."""
        return len(self.problems) == len(self.answers)

    @property
    def example(self) -> str:
        """The last answer and what was wrong with it, cut short."""
        said = self.answers[-1].refusal or self.answers[-1].text
        said = said if len(said) <= EXAMPLE_CHARACTERS else f"{said[:EXAMPLE_CHARACTERS]}…"
        return f"{self.problems[-1]}: {said!r}"


def usage_of(decisions: Sequence[Decision], price_in: float | None, price_out: float | None) -> Usage:
    """What decisions have used.

    Args:
        decisions: of any rounds and runs.
        price_in, price_out: of a million tokens of the prompts and of the answers; None: no price.
    """
    answers = [answer for decision in decisions for answer in decision.answers]
    prompt = sum(answer.prompt_tokens for answer in answers)
    completion = sum(answer.completion_tokens for answer in answers)
    free = price_in is None and price_out is None
    return Usage(
        decisions=len(decisions),
        requests=len(answers),
        retries=sum(answer.retries for answer in answers),
        prompt_tokens=prompt,
        completion_tokens=completion,
        seconds=sum(answer.seconds for answer in answers),
        malformed=sum(len(decision.problems) for decision in decisions),
        fallbacks=sum(decision.fallback for decision in decisions),
        cost=None if free else (prompt * (price_in or 0.0) + completion * (price_out or 0.0)) / 1e6,
        examples=tuple(d.example for d in decisions if d.fallback)[:MOST_EXAMPLES],
    )


def past_round(
    number: int, losses: list[float] | None, policy: list[float], loss: float, played: str | None
) -> dict[str, Any]:
    """A round of the history, as templates see it."""
    return {"round": number, "losses": losses, "policy": policy, "loss": loss, "played": played}


@dataclass
class Conversation:
    """The state of one run. Picklable.

    Attributes:
        names: the actions' names in the order in which the run shows them.
        order: the world's index of each of them.
        sample: the number that tells the run's requests from equal ones of other runs.
        rng: draws the actions under bandit feedback.
        history: the rounds whose losses arrived, as templates see them.
        opponent: in a game of two players, the other's play in every round.
        start: losses seen before round 1, in the order of `names`, or None.
    """

    names: tuple[str, ...]
    order: np.ndarray[Any, np.dtype[np.intp]]
    sample: int
    rng: np.random.Generator
    history: list[dict[str, Any]] = field(default_factory=list)
    opponent: list[list[float]] = field(default_factory=list)
    start: list[float] | None = None

    def shown(self, values: FloatArray) -> list[float]:
        """Values of the actions in the order in which the run shows them."""
        return [float(value) for value in values[self.order]]

    def open(self, prompts: Prompts, rules: Mapping[str, Any], payoffs: FloatArray | None) -> None:
        """Render what stays the same in all rounds.

        Args:
            prompts: the templates.
            rules: the horizon, the kind of answer and the opponent's actions, by the names in
                `prompts.VARIABLES`.
            payoffs: in a game of two players, the own payoffs, shape (num_actions, opponent's actions).

        Raises:
            PromptError: as `Prompts.render`.
        """
        self._rules = {**rules, "actions": self.names, "num_actions": len(self.names)}
        if payoffs is not None:
            self._rules["payoffs"] = payoffs[self.order].tolist()
        self._system, self._world = (prompts.render(part, self._rules) for part in ("system", "world"))

    def messages(self, prompts: Prompts, number: int) -> list[dict[str, str]]:
        """The system and the user message of a round; errors as `Prompts.render`."""
        losses = [past["losses"] for past in self.history if past["losses"]]
        history = self.history
        if self.opponent:
            history = [
                {**past, "opponent": other} for past, other in zip(history, self.opponent, strict=False)
            ]
        variables = {
            **self._rules,
            "round": number,
            "history": history,
            "totals": [sum(column) for column in zip(*losses, strict=True)] or [0.0] * len(self.names),
            "total_loss": sum(past["loss"] for past in self.history),
            "start": self.start,
        }
        user = f"{self._world}\n{prompts.render('history', variables)}"
        return [{"role": "system", "content": self._system}, {"role": "user", "content": user}]

    async def decide(
        self,
        client: Client,
        prompts: Prompts,
        settings: Mapping[str, Any],
        *,
        number: int,
        kind: AnswerKind,
        attempts: int,
        stop: asyncio.Event,
    ) -> Decision:
        """Ask for the policy of round `number`, up to `attempts` times.

        Raises:
            PromptError: as `Prompts.render`; and errors as `Client.ask`.
        """
        messages = self.messages(prompts, number)
        wanted = schema(self.names, kind)
        answers: list[Answer] = []
        problems: list[str] = []
        while True:
            answer = await client.ask(messages, settings, wanted, self.sample, stop)
            answers.append(answer)
            try:
                shown = _policy(answer, self.names, kind)
            except MalformedAnswer as error:
                problems.append(str(error))
            else:
                policy = np.empty(len(self.names))
                policy[self.order] = shown
                return Decision(policy, messages, answers, problems)
            if len(answers) == attempts:
                uniform = np.full(len(self.names), 1 / len(self.names))
                return Decision(uniform, messages, answers, problems)
            again = prompts.render("again", {**self._rules, "problem": problems[-1]})
            messages = [
                *messages,
                {"role": "assistant", "content": answer.text or answer.refusal or "(nothing)"},
                {"role": "user", "content": again},
            ]


def _policy(answer: Answer, names: Sequence[str], kind: AnswerKind) -> FloatArray:
    try:
        return read_policy(answer.text, names, kind)
    except MalformedAnswer as error:
        if answer.refusal:
            raise MalformedAnswer("the model refused to answer") from None
        if answer.finish_reason == "length":
            raise MalformedAnswer(f"{error} (the answer was cut off: it must be shorter)") from None
        raise
