"""A one-layer Transformer that recognizes regular languages, with its gradient, in numpy.

A sequence w_1 … w_L is embedded as x_l = E_l^{w_l}, with E_l^a and E_l^b the basis vectors of number
2l − 1 and 2l of R^{2 max_length}. The query is the last token and nothing is masked:

    T(X) = u · Σ_l φ_l x_l,    φ = softmax_l( x_lᵀ W x_L / λ ),

and sign T(X) is the answer, −1 where T(X) = 0. The loss is Σ_n c_n ln(1 + exp(−y_n T(X_n))), with
weights c_n under which every group of sequences weighs 1.

Huang, Liang and Yang, "How Transformers Learn Regular Language Recognition: A Theoretical Study on
Training Dynamics and Implicit Bias", 2025. In code u is `head`, W `attention`, φ `scores`, λ
`temperature`.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from os import PathLike

import numpy as np

from regret_envs.arrays import FloatArray, IntArray
from regret_envs.rooms.regular_languages import languages
from regret_envs.validation import at_least, positive


class LabeledSequences:
    """Groups of labeled sequences; the sequences of a group are as long as one another.

    Args:
        groups: pairs of tokens, shape (num_sequences, length), and labels ±1, shape (num_sequences,).
            Every group has the weight 1, shared equally by its sequences.
        max_length: the length that the embedding has room for.

    Attributes:
        lengths, labels, weights: shape (num_sequences in all,).

    Raises:
        TypeError: if `max_length` is not an integer.
        ValueError: if there is no sequence, a group is not a matrix of 0 and 1 with at most
            `max_length` columns, or its labels are not one ±1 per row; says which group.
    """

    def __init__(self, groups: Iterable[tuple[IntArray, IntArray]], max_length: int) -> None:
        self.max_length = languages.checked_length("max_length", max_length)
        tokens, lengths, labels, weights = [], [], [], []
        for n, (group, group_labels) in enumerate(groups):
            group, group_labels = np.asarray(group), np.asarray(group_labels)
            if group.ndim != 2 or not group.size or not ((group == 0) | (group == 1)).all():
                raise ValueError(f"group {n}: tokens must be rows of 0 (a) and 1 (b), got {group!r}")
            num_sequences, length = group.shape
            if length > max_length:
                raise ValueError(f"group {n}: sequences of length {length}, max_length is {max_length}")
            if group_labels.shape != (num_sequences,) or not (np.abs(group_labels) == 1).all():
                raise ValueError(f"group {n}: labels must be one +1 or −1 a sequence, got {group_labels!r}")
            padded = np.full((max_length, num_sequences), languages.PADDING)
            padded[:length] = group.T
            tokens.append(padded)
            lengths.append(np.full(num_sequences, length))
            labels.append(group_labels)
            weights.append(np.full(num_sequences, 1 / num_sequences))
        if not tokens:
            raise ValueError("there are no sequences")
        self.lengths: IntArray = np.concatenate(lengths)
        self.labels: IntArray = np.concatenate(labels)
        self.weights: FloatArray = np.concatenate(weights)

        # Where u and W of every token lie. Padding points one past the end of both, where the model
        # keeps 0 and −∞: it has no attention and no gradient. Positions first, so that the sums over
        # them are sums of contiguous rows.
        all_tokens = np.concatenate(tokens, axis=1)
        dim = 2 * max_length
        token = 2 * np.arange(max_length)[:, None] + all_tokens
        query = token[self.lengths - 1, np.arange(len(self.lengths))]
        is_padding = all_tokens == languages.PADDING
        self._token = np.where(is_padding, dim, token)
        self._pair = np.where(is_padding, dim * dim, token * dim + query)

    def __len__(self) -> int:
        return len(self.lengths)


def even_pairs_set(max_length: int = 6) -> LabeledSequences:
    """All sequences of lengths 1 … `max_length` with their even-pairs labels, a group a length."""
    lengths = range(1, languages.checked_length("max_length", max_length) + 1)
    all_tokens = [languages.sequences(length) for length in lengths]
    return LabeledSequences([(tokens, languages.even_pairs(tokens)) for tokens in all_tokens], max_length)


def parity_chain_set(num_tokens: int = 4, *, regularized: bool = True) -> LabeledSequences:
    """The steps of an untruncated chain of thought for the parity of `num_tokens` = L_0 tokens.

    Step t = 1 … L_0 − 1 has all sequences of length L_0 + t − 1; the label is +1 where the last token
    equals token t. The regularizer adds the even-pairs sets of the lengths below L_0.

    Raises:
        TypeError: if `num_tokens` is not an integer.
        ValueError: if it is below 2, or the last step's length above `languages.MAX_LENGTH`.
    """
    last = 2 * at_least("num_tokens", num_tokens, 2) - 2
    max_length = languages.checked_length("the length of the last step", last)
    groups = []
    for length in range(1 if regularized else num_tokens, max_length + 1):
        tokens = languages.sequences(length)
        compared = tokens[:, max(length - num_tokens, 0) :]
        groups.append((tokens, languages.even_pairs(compared)))
    return LabeledSequences(groups, max_length)


class OneLayerTransformer:
    """The model that is defined at the top of this module, with the gradient written out. Picklable.

    Args:
        max_length: the longest sequence that there are embeddings for.
        temperature: λ.

    Attributes:
        head: u, shape (2 max_length,), all 0 at first; change it in place.
        attention: W, shape (2 max_length, 2 max_length), likewise.

    Raises:
        TypeError: if `max_length` is not an integer.
        ValueError: if it is out of bounds or the temperature is not positive and finite.
    """

    def __init__(self, max_length: int = 6, *, temperature: float = 2.0) -> None:
        self.max_length = languages.checked_length("max_length", max_length)
        self.temperature = positive("temperature", temperature)
        dim = 2 * max_length
        self._head = np.zeros(dim + 1)
        self._attention = np.zeros(dim * dim + 1)
        self._attention[-1] = -np.inf

    def __repr__(self) -> str:
        return f"OneLayerTransformer(max_length={self.max_length}, temperature={self.temperature})"

    @classmethod
    def load(cls, path: str | PathLike[str]) -> OneLayerTransformer:
        """Read what `save` wrote.

        Raises:
            OSError: if the file cannot be read.
            ValueError: if it is not such a file; says what is wrong.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                head, attention, temperature = file["head"], file["attention"], float(file["temperature"])
            model = cls(len(head) // 2, temperature=temperature)
            model.head[:], model.attention[:] = head, attention
        except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} does not hold a one-layer Transformer: {error}") from error
        return model

    def save(self, path: str | PathLike[str]) -> None:
        """Write `head`, `attention` and `temperature` as a numpy archive (.npz) at exactly `path`."""
        with open(path, "wb") as file:
            np.savez(file, head=self.head, attention=self.attention, temperature=self.temperature)

    @property
    def head(self) -> FloatArray:
        return self._head[:-1]

    @property
    def attention(self) -> FloatArray:
        dim = 2 * self.max_length
        return self._attention[:-1].reshape(dim, dim)

    def scores(self, data: LabeledSequences) -> FloatArray:
        """φ, shape (max_length, num_sequences), 0 past a sequence's length.

        Raises:
            ValueError: if the sequences were laid out for another `max_length`.
        """
        if data.max_length != self.max_length:
            raise ValueError(f"sequences of max_length {data.max_length}, a model of {self.max_length}")
        scores = self._attention[data._pair]
        scores /= self.temperature
        scores -= np.maximum.reduce(scores, axis=0)
        np.exp(scores, out=scores)
        scores /= np.add.reduce(scores, axis=0)
        return scores

    def outputs(self, data: LabeledSequences) -> FloatArray:
        """T(X_n), shape (num_sequences,)."""
        return np.add.reduce(self.scores(data) * self._head[data._token], axis=0)

    def features(self, data: LabeledSequences) -> FloatArray:
        """z_n = Σ_l φ_l x_l, what the head sees, shape (num_sequences, 2 max_length)."""
        scores, dim = self.scores(data), 2 * self.max_length
        cell = data._token + (dim + 1) * np.arange(len(data))
        flat = _sum_at(cell, scores, (dim + 1) * len(data))
        return flat.reshape(len(data), dim + 1)[:, :dim]

    def gradient(self, data: LabeledSequences) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The margins y_n T(X_n), shape (num_sequences,), and the gradients in u and in W, shaped like them.

        With g_n = −c_n y_n / (1 + exp(y_n T_n)), the chain rule gives ∂/∂u = Σ_n g_n Σ_l φ_l x_l and
        ∂/∂W = (1/λ) Σ_n g_n Σ_l φ_l (u·x_l − T_n) x_l x_Lᵀ.
        """
        scores = self.scores(data)
        values = self._head[data._token]
        outputs = np.add.reduce(scores * values, axis=0)
        margins = data.labels * outputs
        scores *= data.weights * data.labels * -np.exp(-np.logaddexp(0, margins))
        head = _sum_at(data._token, scores, len(self._head))[:-1]
        values -= outputs
        values *= scores
        attention = _sum_at(data._pair, values, len(self._attention))[:-1]
        attention /= self.temperature
        return margins, head, attention.reshape(self.attention.shape)


def chain_of_thought(model: OneLayerTransformer, tokens: IntArray, *, truncate: bool = True) -> IntArray:
    """The parities that a chain of thought arrives at, with the model's answers appended as tokens.

    Args:
        model: recognizes even pairs, or the steps of `parity_chain_set` if not truncated.
        tokens: shape (num_sequences, length); length − 1 steps are made.
        truncate: drop the first token in every step, so that every input has the same length, and the
            model compares its first with its last token. Else it compares token t with the last in
            step t, and inputs grow to length 2 length − 2.

    Returns:
        ±1, shape (num_sequences,): the last appended token, or of a single token what it is.

    Raises:
        ValueError: if an input is longer than the model's `max_length`.
    """
    tokens = np.asarray(tokens)
    unknown = np.ones(len(tokens), dtype=np.int64)
    for _ in range(tokens.shape[1] - 1):
        outputs = model.outputs(LabeledSequences([(tokens, unknown)], model.max_length))
        tokens = languages.think(tokens, np.where(outputs > 0, 1, -1), truncate=truncate)
    return languages.parity(tokens[:, -1:])


def _sum_at(index: IntArray, values: FloatArray, size: int) -> FloatArray:
    """The sums of the values that share an index, shape (size,)."""
    return np.bincount(index.ravel(), values.ravel(), size).astype(np.float64, copy=False)
