"""Prediction of regular languages with the logarithmic loss, as Gymnasium environments.

A round shows a sequence and asks for the probability that its label is +1; the reward is minus the
logarithmic loss in nats, never below −ln 10⁶ (`regret_envs.rooms.regular_languages.languages`).

An observation is int64 of shape (max_length + 1,): the tokens (0 is a, 1 is b), padded with 2, and the
sequence's length last. An action is one number in [0, 1], float32 of shape (1,). The length is drawn
uniformly from those there are, the tokens independently with probability 1/2 each.

Infos are numbers, with the same keys at `reset`, where they are 0, and `step`:

| key | holds |
|---|---|
| `label` | the label of the round that was played, ±1 |
| `answer` | what the action answered: +1 if above 1/2, else −1 |
| `loss` | the round's loss |
| `is_success` | 1 in the last round of an episode that ends with the right answer for its sequence, else 0 |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, MultiDiscrete

from regret_envs.arrays import IntArray
from regret_envs.envs.actions import ActionError
from regret_envs.envs.episodes import EpisodeError
from regret_envs.rooms.regular_languages import languages


class _Recognition(gymnasium.Env[IntArray, Any]):
    """A language to recognize, at once or by a chain of thought.

    Args:
        language: the labels of tokens, one of `regret_envs.rooms.regular_languages.languages`.
        max_length: the longest sequence.
        chain_of_thought: ask for even pairs `length − 1` times and append the answers.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self, language: Callable[[IntArray], IntArray], *, max_length: int, chain_of_thought: bool = False
    ) -> None:
        self._language = language
        # A single token leaves nothing to think about.
        self._min_length = 2 if chain_of_thought else 1
        self.max_length = languages.checked_length("max_length", max_length, self._min_length)
        self.chain_of_thought = chain_of_thought
        self.observation_space = MultiDiscrete([languages.PADDING + 1] * max_length + [max_length + 1])
        self.action_space = Box(0.0, 1.0, (1,), np.float32)
        self._rounds_left = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[IntArray, dict[str, float]]:
        """Draw a sequence.

        Args:
            seed: starts the generator anew; None keeps the current one.
            options: there are none.
        """
        super().reset(seed=seed)
        length = int(self.np_random.integers(self._min_length, self.max_length + 1))
        self._tokens: IntArray = self.np_random.integers(2, size=length)
        self._right_answer = int(self._language(self._tokens))
        self._rounds_left = length - 1 if self.chain_of_thought else 1
        return self._observation(), {"label": 0, "answer": 0, "loss": 0.0, "is_success": 0}

    def step(self, action: npt.ArrayLike) -> tuple[IntArray, float, bool, bool, dict[str, float]]:
        """Play a round.

        Args:
            action: the probability that the label is +1.

        Returns:
            The observation (without a chain of thought the same again), minus the loss, terminated (True
            in the last round), truncated (False) and the info.

        Raises:
            EpisodeError: before `reset` and after the last round.
            ActionError: if the action is not one number in [0, 1]. The round has not been played then.
        """
        if not self._rounds_left:
            raise EpisodeError("the episode is over or not begun: call reset()")
        probability = _probability(action)
        label = int(languages.even_pairs(self._tokens)) if self.chain_of_thought else self._right_answer
        loss = float(languages.log_loss(probability, label))
        answer = 1 if probability > 0.5 else -1
        if self.chain_of_thought:
            self._tokens = languages.think(self._tokens, answer)
        self._rounds_left -= 1
        over = not self._rounds_left
        success = int(over and answer == self._right_answer)
        info = {"label": label, "answer": answer, "loss": loss, "is_success": success}
        return self._observation(), -loss, over, False, info

    def _observation(self) -> IntArray:
        observation = np.full(self.max_length + 1, languages.PADDING)
        observation[: len(self._tokens)] = self._tokens
        observation[-1] = len(self._tokens)
        return observation


class EvenPairs(_Recognition):
    """EvenPairs-v0: does the first token equal the last? One round.

    Args:
        max_length: the longest sequence; lengths are 1 … max_length.

    Raises:
        TypeError: if `max_length` is not an integer.
        ValueError: if it is below 1 or above `languages.MAX_LENGTH`.
    """

    def __init__(self, *, max_length: int = 6) -> None:
        super().__init__(languages.even_pairs, max_length=max_length)


class ParityCheck(_Recognition):
    """ParityCheck-v0: is the number of b even?

    One round; or, with a chain of thought, one for every token except the first, each of which asks
    whether the first token of the sequence shown equals its last. The first token is then dropped and the
    agent's own answer appended, a for "equal" (a probability above 1/2) and b for "not", so that after
    right answers the last token is the parity. An early error is carried on: later rounds are scored on
    the sequence as it then is, and `is_success` on the one that was drawn.

    Args:
        max_length: the longest sequence; lengths are 1 … max_length, with a chain of thought from 2 on.
        chain_of_thought: as above.

    Raises:
        TypeError: if `max_length` is not an integer.
        ValueError: if it is below the least length or above `languages.MAX_LENGTH`.
    """

    def __init__(self, *, max_length: int = 6, chain_of_thought: bool = False) -> None:
        super().__init__(languages.parity, max_length=max_length, chain_of_thought=chain_of_thought)


def _probability(action: npt.ArrayLike) -> float:
    try:
        numbers = np.asarray(action, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    # NaN is not within the interval.
    if numbers.size != 1 or not 0 <= numbers[0] <= 1:
        raise ActionError(
            f"the action must be one probability in [0, 1], got {action!r}: clip it, or pass it through "
            "a logistic function"
        )
    return float(numbers[0])
