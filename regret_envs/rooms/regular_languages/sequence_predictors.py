"""Agents that predict the label of one sequence after another, learning from each as it comes.

They play the environments EvenPairs-v0 and ParityCheck-v0, whose loss is logarithmic. The labels are
a function of the sequence, so the best predictor in hindsight has no loss and an agent's cumulative
loss is its regret.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from regret_envs.arrays import FloatArray, IntArray
from regret_envs.rooms.regular_languages.transformer import LabeledSequences, OneLayerTransformer
from regret_envs.validation import at_least, positive


class SequencePredictor(ABC):
    """Says how probable the label +1 is, and is shown the label."""

    @abstractmethod
    def reset(self, max_length: int) -> None:
        """Forget everything; sequences will have at most `max_length` tokens."""

    @abstractmethod
    def predict(self, tokens: IntArray) -> float:
        """The probability that the label of `tokens`, shape (length,), is +1."""

    @abstractmethod
    def observe(self, tokens: IntArray, label: int) -> None:
        """Learn that the label of `tokens` is `label`, ±1."""


@dataclass(eq=False)
class UniformPredictor(SequencePredictor):
    """Probability 1/2 always: a loss of ln 2 per round."""

    def reset(self, max_length: int) -> None:
        """Nothing to forget."""

    def predict(self, tokens: IntArray) -> float:
        """1/2."""
        return 0.5

    def observe(self, tokens: IntArray, label: int) -> None:
        """Nothing to learn."""


@dataclass(eq=False)
class TablePredictor(SequencePredictor):
    """Counts labels sequence by sequence: (labels +1 so far + 1/2) / (labels so far + 1).

    The estimator of Krichevsky and Trofimov, "The performance of universal encoding", 1981. It does not
    generalize: on n rounds of one sequence its loss is (ln n)/2 + O(1) nats, for each of the sequences.
    """

    def reset(self, max_length: int) -> None:
        """Forget the counts."""
        self._counts: defaultdict[bytes, int] = defaultdict(int)
        self._positives: defaultdict[bytes, int] = defaultdict(int)

    def predict(self, tokens: IntArray) -> float:
        """The estimate for this sequence."""
        key = _key(tokens)
        return (self._positives[key] + 0.5) / (self._counts[key] + 1)

    def observe(self, tokens: IntArray, label: int) -> None:
        """Count."""
        key = _key(tokens)
        self._counts[key] += 1
        self._positives[key] += label > 0


@dataclass(eq=False)
class TransformerPredictor(SequencePredictor):
    """The one-layer Transformer under streaming gradient descent: P(+1) = 1 / (1 + exp(−T(X))).

    Every label brings one step on that sequence's loss alone.

    Args:
        start: the model to begin with, left as it is; None: u = 0 and W = 0 with `temperature`.
        step_size: η, for u.
        attention_step_size: for W; None: ηλ, which makes up for the division of its gradient by λ.
        temperature: λ where there is not a `start`.

    Raises:
        ValueError: if a setting is not positive and finite.
    """

    start: OneLayerTransformer | None = None
    step_size: float = 1.0
    attention_step_size: float | None = None
    temperature: float = 2.0

    def __post_init__(self) -> None:
        positive("step_size", self.step_size)
        positive("temperature", self.temperature)
        if self.attention_step_size is not None:
            positive("attention_step_size", self.attention_step_size)

    def reset(self, max_length: int) -> None:
        """Begin with a copy of the start.

        Raises:
            ValueError: if it has no room for `max_length` tokens.
        """
        if self.start is None:
            self._model = OneLayerTransformer(max_length, temperature=self.temperature)
        elif self.start.max_length < max_length:
            raise ValueError(f"sequences of up to {max_length} tokens, and {self.start!r} to begin with")
        else:
            self._model = copy.deepcopy(self.start)

    def predict(self, tokens: IntArray) -> float:
        """The logistic function of T(X)."""
        # The label is not used.
        output = self._model.outputs(self._one(tokens, 1))[0]
        return float(np.exp(-np.logaddexp(0, -output)))

    def observe(self, tokens: IntArray, label: int) -> None:
        """One gradient step."""
        _, head_gradient, attention_gradient = self._model.gradient(self._one(tokens, label))
        attention_step_size = self.attention_step_size
        if attention_step_size is None:
            attention_step_size = self.step_size * self._model.temperature
        self._model.head[:] -= self.step_size * head_gradient
        self._model.attention[:] -= attention_step_size * attention_gradient

    def _one(self, tokens: IntArray, label: int) -> LabeledSequences:
        return LabeledSequences([(tokens[None], np.array([label]))], self._model.max_length)


def play(
    predictor: SequencePredictor, env: gymnasium.Env[IntArray, Any], *, num_rounds: int, seed: int
) -> FloatArray:
    """Let a predictor play episodes of EvenPairs-v0 or ParityCheck-v0, one after another.

    Args:
        predictor: reset first, then learns through all episodes.
        env: the environment.
        num_rounds: rounds, not episodes: a chain of thought has several to an episode.
        seed: of the environment.

    Returns:
        The losses in nats, shape (num_rounds,).
    """
    losses = np.empty(at_least("num_rounds", num_rounds, 1))
    observation, _ = env.reset(seed=seed)
    # The last entry of an observation is the length, the others are the padded tokens.
    predictor.reset(len(observation) - 1)
    for t in range(num_rounds):
        tokens = observation[: observation[-1]]
        action = np.array([predictor.predict(tokens)], dtype=np.float32)
        observation, reward, terminated, truncated, info = env.step(action)
        losses[t] = -float(reward)
        predictor.observe(tokens, info["label"])
        if terminated or truncated:
            observation, _ = env.reset()
    return losses


def _key(tokens: IntArray) -> bytes:
    return tokens.astype(np.uint8).tobytes()
