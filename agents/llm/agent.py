"""A language model as an agent: it is told the history, asked for a policy, and what it says is played."""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regret_envs.agents.base import Agent
from regret_envs.agents.llm import client, transcripts
from regret_envs.agents.llm.answers import AnswerKind
from regret_envs.agents.llm.conversation import Conversation, Decision, past_round, usage_of
from regret_envs.agents.llm.credentials import (
    DEFAULT_BASE_URL,
    check_base_url,
    check_key_variable,
    current_trust,
)
from regret_envs.agents.llm.prompts import SHIPPED, Prompts, chosen, count_tokens
from regret_envs.agents.usage import Expense, Usage
from regret_envs.arrays import FloatArray
from regret_envs.feedback import Takes
from regret_envs.games import NormalFormGame
from regret_envs.validation import at_least, non_negative
from regret_envs.worlds import World


class ContextError(ValueError):
    """A history that would not fit into the model's context; says how many tokens are needed."""


@dataclass(eq=False)
class LanguageModel(Agent):
    """A language model behind an OpenAI-compatible server, asked in every round for its policy.

    Every run is a conversation of its own; the runs of a round are asked concurrently. Answers are kept on
    disk and never paid for twice (`regret_envs.agents.llm.cache`). An answer from which no policy can be
    read is sent back with what was wrong, and after `attempts` of them the run plays uniform in that round,
    which `usage` counts. Whether such agents have regret is asked by Park, Liu, Ozdaglar and Zhang, "Do LLM
    Agents Have Regret?", ICLR 2025.

    Args:
        model: the model's name on the server.
        base_url: the server's address, up to /v1.
        api_key_env: the environment variable that holds the key. None: OPENAI_API_KEY for the default
            host, and no key for any other.
        prompts: shipped prompts ("plain", "summary", "game", "bandit") or your own folder. None:
            "plain", and in a task with bandit feedback "bandit".
        answer: "policy", a probability for every action, or "action", one of them, played purely.
        actions: the actions' names. None: the game's own, else A, B, ….
        shuffle: whether every run shows the actions in an order of its own, since models prefer what
            comes first; the policy is put back in order before it is played.
        digits: significant digits of the numbers in prompts; 17 loses nothing.
        attempts: how often a round is asked for before uniform play takes its place.
        context: tokens that the model can take, the prompt and its answer together.
        temperature, top_p: sent where they are given.
        max_tokens: tokens of an answer at most, those of its thinking included.
        seed: sent plus the number of the run's sample, so that runs differ; None: none is sent.
        timeout: seconds for a request.
        max_retries: how often a request that failed (429, 5xx, no answer) is made again, after waits that
            double, or as long as the server says.
        concurrency: requests in flight at a time on this machine.
        price_in, price_out: of a million tokens of the prompts and of the answers, for the cost.

    Raises:
        ValueError: if a setting is out of its range, or `base_url` or `api_key_env` may hold a secret.
        PromptError: if there are no such prompts, or one names an unknown placeholder.
        ImportError: if the extra `llm` is not installed.
    """

    model: str
    _: KW_ONLY
    base_url: str = DEFAULT_BASE_URL
    api_key_env: str | None = None
    prompts: str | None = None
    answer: AnswerKind = "policy"
    actions: tuple[str, ...] | None = None
    shuffle: bool = False
    digits: int = 4
    attempts: int = 3
    context: int = 8192
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int = 1024
    seed: int | None = None
    timeout: float = 120.0
    max_retries: int = 8
    concurrency: int = 8
    price_in: float | None = None
    price_out: float | None = None

    reference = "Park, Liu, Ozdaglar and Zhang 2025"

    def __post_init__(self) -> None:
        # Found missing here, where the extra is named, and not in the first round.
        import jinja2  # noqa: F401
        import openai  # noqa: F401

        self.model = str(self.model)
        check_base_url(self.base_url)
        if self.api_key_env is not None:
            check_key_variable(self.api_key_env)
        if self.answer not in ("policy", "action"):
            raise ValueError(f'answer is "policy" or "action", got {self.answer!r}')
        if not isinstance(self.shuffle, bool):
            raise ValueError(f"shuffle is true or false, got {self.shuffle!r}")
        for name, least in {"attempts": 1, "context": 1, "max_tokens": 1, "max_retries": 0, "concurrency": 1,
                            "digits": 1}.items():  # fmt: skip
            at_least(name, getattr(self, name), least)
        for name in ("temperature", "top_p", "price_in", "price_out"):
            if getattr(self, name) is not None:
                non_negative(name, getattr(self, name))
        if not non_negative("timeout", self.timeout) > 0:
            raise ValueError("timeout must be above 0 seconds")
        if self.seed is not None:
            at_least("seed", self.seed, 0)
        if self.actions is not None and (
            len(set(self.actions)) < len(self.actions)
            or not all(isinstance(name, str) and name.strip() for name in self.actions)
        ):
            raise ValueError(f"actions are names, each another, got {self.actions!r}")
        self._trust = current_trust()
        self._task = ""
        self._folder: Path | None = None
        self._used = Usage()
        self._prompts = {name: Prompts(name, digits=self.digits) for name in chosen(self.prompts)}
        self._seat = 0
        self._payoffs: FloatArray | None = None
        self._bandit = self.prompts == "bandit"

    def __repr__(self) -> str:
        return f"LanguageModel({self.model!r})"

    @property
    def takes(self) -> Takes:  # type: ignore[override]
        """What the prompts tell: the drawn action's loss or all losses."""
        return "bandit" if self._bandit else "full"

    @property
    def usage(self) -> Usage:  # type: ignore[override]
        """What play has used since `reset`."""
        return self._used

    def as_copy(self, num_copies: int) -> Agent:
        """Not supported: every copy would be asked in every round.

        Raises:
            ValueError: always.
        """
        raise ValueError("a language model plays for itself, not as a copy within another agent")

    def prepare(self, task: str, *, hides_losses: bool, transcripts: Path | None = None) -> None:
        """See `Asking.prepare`."""
        self._task, self._folder = task, transcripts
        if self.prompts not in SHIPPED:
            self._bandit = hides_losses

    def describe(self, world: World, seat: int) -> None:
        """Learn the payoffs of a game of two players."""
        self._seat, self._payoffs = seat, None
        if isinstance(world, NormalFormGame) and world.num_players == 2:
            self._payoffs = -(world.losses[0] if seat == 0 else world.losses[1].T)

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Begin every run's conversation; nothing is asked yet.

        Raises:
            ValueError: if `actions` names another number of actions.
        """
        names = self._names(num_actions)
        self._horizon = horizon
        self._runs = []
        # Drawn in this order, so that run r of a seed is the same however many runs there are.
        task = int.from_bytes(hashlib.sha256(self._task.encode()).digest()[:4]) >> 1
        samples = rng.integers(1 << 31, size=num_runs) ^ task
        for sample, own in zip(samples, rng.spawn(num_runs), strict=True):
            order = own.permutation(num_actions) if self.shuffle else np.arange(num_actions)
            shown = tuple(names[k] for k in order)
            self._runs.append(Conversation(shown, order, int(sample), own))
        self._waiting: deque[tuple[FloatArray, list[Decision]]] = deque()
        self._round = 0
        self._used = Usage()

    def expense(self, num_actions: int, *, horizon: int, num_runs: int) -> Expense:
        """One request for each run and round, and about how many tokens they have with their answers.

        Raises:
            PromptError: if the prompts use what the task does not have.
        """
        # Prompts grow evenly, or stop growing.
        tokens = sum(self._prompt_tokens(num_actions, horizon)) * horizon // 2 + self.max_tokens * horizon
        return Expense(num_runs * horizon, num_runs * tokens)

    def _prompt_tokens(self, num_actions: int, horizon: int) -> list[int]:
        """About how many tokens the first and the last prompt have."""
        names = self._names(num_actions)
        run = Conversation(names, np.arange(num_actions), 0, np.random.default_rng(0))
        run.open(self._templates(), self._rules(horizon), self._payoffs)
        typical = [-0.123456789] * num_actions
        others = [0.123456789] * (0 if self._payoffs is None else self._payoffs.shape[1])
        sizes = []
        for length in (0, horizon - 1):
            run.history = [
                past_round(k, None if self._bandit else typical, typical, -0.123456789, names[0])
                for k in range(1, length + 1)
            ]
            run.opponent = [others] * length
            messages = run.messages(self._templates(), length + 1)
            sizes.append(sum(count_tokens(message["content"]) + 4 for message in messages))
        return sizes

    def observe_start(self, losses: FloatArray) -> None:
        """Losses shown before round 1; nothing is asked."""
        for run, row in zip(self._runs, losses, strict=True):
            run.start = run.shown(row)

    def act(self) -> FloatArray:
        """Ask for every run's policy, all runs concurrently.

        Raises:
            LanguageModelError, CredentialsError, CacheError: if one of them has no answer; what the others
                were answered is kept.
            PromptError: if a template fails, or uses what the task does not have.
            ContextError: before anything is asked, if the longest prompt and its answer would not fit into
                the context.
        """
        if self._round == 0:
            self._open()
        self._round += 1
        decisions = client.run(self._decide())
        self._used += usage_of(decisions, self.price_in, self.price_out)
        policies = np.stack([decision.policy for decision in decisions])
        if self._bandit:
            # One action is played, so that the estimate that is shown is its loss itself.
            for run, policy in zip(self._runs, policies, strict=True):
                drawn = run.rng.choice(len(policy), p=policy)
                policy[:] = 0.0
                policy[drawn] = 1.0
        self._waiting.append((policies, decisions))
        return policies

    def observe(self, losses: FloatArray) -> None:
        """Add the round's losses to the history."""
        policies, decisions = self._waiting.popleft()
        number = self._round - len(self._waiting)
        for r, (run, policy, loss, decision) in enumerate(
            zip(self._runs, policies, losses, decisions, strict=True)
        ):
            drawn = run.names[int(np.flatnonzero(policy[run.order])[0])] if self._bandit else None
            own = float(loss @ policy)
            run.history.append(
                past_round(number, None if self._bandit else run.shown(loss), run.shown(policy), own, drawn)
            )
            if self._folder is not None:
                shown = {drawn: own} if drawn else dict(zip(run.names, run.shown(loss), strict=True))
                transcripts.append(
                    self._folder / f"run-{r}.jsonl",
                    transcripts.Exchange(
                        round=number,
                        messages=decision.messages,
                        answers=[answer.text or answer.refusal or "" for answer in decision.answers],
                        fallback=decision.fallback,
                        policy=dict(zip(run.names, run.shown(policy), strict=True)),
                        losses=shown,
                    ),
                )

    def watch(self, played: Sequence[FloatArray]) -> None:
        """See what all seats played: of a game of two players, the other's play is shown in the history."""
        if len(played) == 2 and self._payoffs is not None:
            for run, opponent in zip(self._runs, played[1 - self._seat], strict=True):
                run.opponent.append([float(value) for value in opponent])

    def _open(self) -> None:
        """Render what stays the same, and see that the last round's prompt will fit."""
        num_actions = len(self._runs[0].names)
        for run in self._runs:
            run.open(self._templates(), self._rules(self._horizon), self._payoffs)
        if self._horizon is not None:
            self._check_context(max(self._prompt_tokens(num_actions, self._horizon)))

    async def _decide(self) -> list[Decision]:
        server = client.client_of(self._server())
        stop = asyncio.Event()
        asked = [self._ask(server, run, stop) for run in self._runs]
        decisions = await asyncio.gather(*asked, return_exceptions=True)
        failures = [d for d in decisions if isinstance(d, BaseException)]
        for failure in sorted(failures, key=lambda f: isinstance(f, client.GivenUpError)):
            raise failure
        return [d for d in decisions if isinstance(d, Decision)]

    async def _ask(self, server: client.Client, run: Conversation, stop: asyncio.Event) -> Decision:
        try:
            return await run.decide(
                server,
                self._templates(),
                self._settings(run.sample),
                number=self._round,
                kind=self.answer,
                attempts=self.attempts,
                stop=stop,
            )
        except Exception:
            stop.set()
            raise

    def _rules(self, horizon: int | None) -> dict[str, Any]:
        """What templates see that does not change."""
        rules: dict[str, Any] = {"horizon": horizon, "answer": self.answer}
        if self._payoffs is not None:
            rules["opponent_actions"] = [_letter(k).lower() for k in range(self._payoffs.shape[1])]
        return rules

    def _settings(self, sample: int) -> dict[str, Any]:
        """What is sent beside the messages."""
        # The default host calls it so; most others know the older name alone.
        limit = "max_completion_tokens" if self.base_url == DEFAULT_BASE_URL else "max_tokens"
        settings = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            limit: self.max_tokens,
            "seed": None if self.seed is None else (self.seed + sample) % (1 << 31),
        }
        return {name: value for name, value in settings.items() if value is not None}

    def _server(self) -> client.Server:
        return client.Server(
            base_url=self.base_url.rstrip("/"),
            model=self.model,
            api_key_env=self.api_key_env,
            trust=self._trust,
            timeout=self.timeout,
            max_retries=self.max_retries,
            concurrency=self.concurrency,
        )

    def _templates(self) -> Prompts:
        return self._prompts[self.prompts or ("bandit" if self._bandit else "plain")]

    def _names(self, num_actions: int) -> tuple[str, ...]:
        names = self.actions or tuple(_letter(k) for k in range(num_actions))
        if len(names) != num_actions:
            raise ValueError(f"actions has {len(names)} names, and there are {num_actions} actions")
        return names

    def _check_context(self, prompt_tokens: int) -> None:
        needed = prompt_tokens + self.max_tokens
        if needed > self.context:
            raise ContextError(
                f"{self._horizon} rounds need about {needed} tokens ({prompt_tokens} of the longest prompt "
                f"and max_tokens={self.max_tokens} of its answer), and context={self.context}: give the "
                "model's own context, or prompts=summary, which shows sums and the last rounds alone"
            )


def _letter(k: int) -> str:
    return chr(ord("A") + k) if k < 26 else f"A{k}"
