"""What a trained policy sees: features of the losses so far, computed round by round.

Every feature is a function of the losses alone, so it can be computed before, and apart from, the
network that reads it. Tokens are actions: permuting the actions permutes their features. Losses are
centered over the actions and divided by their root mean square so far, so shifts and scales cancel.
"""

from __future__ import annotations

import math

import numpy as np

from regret_envs.arrays import FloatArray

TIME_SCALES = (2, 4, 8, 16, 32, 64, 128, 256, 512)
NUM_LAGS = 8
_HEDGE_STEPS = (0.5, 1.5, 6.0)
_RECENT = (2, 4, 6)  # the time scales, by index, that three experts follow: 8, 32 and 128 rounds
_SHARING = ((0.15, 0.002), (0.4, 0.02))  # step over the losses' scale and share of two fixed shares

EXPERTS = (
    *(f"Hedge, {step:g} times the standard step" for step in _HEDGE_STEPS),
    "follows the last 8 rounds",
    "follows the last 32 rounds",
    "follows the last 128 rounds",
    "follows the last round",
    "opposes the last round",
    "follows the round before the last",
    "follows the predicted losses",
    *(f"Fixed-Share, step {step:g}, share {share:g}" for step, share in _SHARING),
    "predictive regret matching+",
)
TOKEN_FEATURES = (
    "cumulative loss",
    "cumulative loss, on the scale of the likely actions",
    "cumulative loss above the leader's",
    "cumulative loss above the leader's, on the scale of the likely actions",
    *(f"losses of the last {scale} rounds" for scale in TIME_SCALES),
    "last loss",
    "loss before the last",
    "loss two before the last",
    "predicted loss",
    "last loss times the action's autocorrelation",
    "variance of the action's losses",
    "log-probability of predictive regret matching+",
    "log-probability of Hedge",
    "regret sum of predictive regret matching+",
)
CONTEXT_FEATURES = (
    "log of the number of actions",
    "inverse of the number of actions",
    "log of the rounds so far",
    "inverse root of the rounds so far",
    "share of the rounds that are over",
    "whether the horizon is known",
    "log of the horizon",
    "inverse root of the rounds left",
    "largest loss",
    "scale of the likely actions' losses",
    "scale of the recent losses",
    *(f"autocorrelation at lag {lag}" for lag in (1, 2, 3, 4, 8)),
    *(f"regret of uniform play to: {expert}" for expert in EXPERTS),
    *(f"the same over the last 64 rounds: {expert}" for expert in EXPERTS),
    *(f"the same over the last 8 rounds: {expert}" for expert in EXPERTS),
)

_DECAYS = np.exp(-1.0 / np.array(TIME_SCALES))[:, None, None]
_AUTOCORRELATION_DECAY = math.exp(-1 / 100)
_TRACK_DECAYS = np.exp(-1.0 / np.array([np.inf, 64.0, 8.0]))[:, None, None]
_RECENT_DECAY = math.exp(-1 / 16)
_LONGEST = math.log(1000.0)  # horizons beyond are told apart no more
_NEWEST = 4 + len(TIME_SCALES)  # the last loss among the tokens
# The tokens that the first experts follow, and how steeply.
_FOLLOWED = np.array([0, 0, 0, *(4 + i for i in _RECENT), _NEWEST, _NEWEST, _NEWEST + 1, _NEWEST + 3])
_STEPS = np.array([*_HEDGE_STEPS, 3.0, 3.0, 3.0, 3.0, -3.0, 3.0, 6.0])
_SHARING_STEPS, _SHARES = (np.array(values)[:, None, None] for values in zip(*_SHARING, strict=True))
_LAGS = np.arange(1.0, NUM_LAGS + 1)[:, None]


class LossFeatures:
    """The running features of `num_runs` runs: O(d) numbers per run, and O(d) work per round.

    Args:
        num_actions: d.
        horizon: T, or None if it is unknown.
        num_runs: runs at once.
    """

    def __init__(self, num_actions: int, horizon: int | None, num_runs: int) -> None:
        d, runs = num_actions, num_runs
        self.num_actions, self.horizon, self.t = d, horizon, 0
        self._unit = np.zeros(runs)  # the range of the first round whose losses differ
        self._cumulative = np.zeros((d, runs))
        self._squares = np.zeros(runs)
        self._likely_squares = np.zeros(runs)
        self._recent_squares = np.zeros(runs)
        self._largest = np.zeros(runs)
        self._decayed = np.zeros((len(TIME_SCALES), d, runs))
        self._decayed_norm = np.zeros((len(TIME_SCALES), 1, 1))
        self._last = np.zeros((NUM_LAGS + 1, d, runs))  # the newest first
        self._products = np.zeros((NUM_LAGS + 1, runs))  # autocovariances
        self._own_squares = np.zeros((d, runs))
        self._own_products = np.zeros((d, runs))
        self._shares = np.full((len(_SHARING), d, runs), 1.0 / d)
        self._regrets = np.zeros((d, runs))
        self._predicted_regrets = np.zeros((d, runs))
        self._tracks = np.zeros((len(_TRACK_DECAYS), len(EXPERTS), runs))
        self._track_norms = np.zeros((len(_TRACK_DECAYS), 1, 1))
        self._steps = -_STEPS[:, None, None]
        self._steps[: len(_HEDGE_STEPS)] *= math.sqrt(2 * math.log(d))
        self.tokens = np.zeros((len(TOKEN_FEATURES), d, runs))
        self.context = np.zeros((len(CONTEXT_FEATURES), runs))
        self.experts = np.full((len(EXPERTS), d, runs), 1.0 / d)
        self._set_context(np.zeros(runs), np.zeros((NUM_LAGS, runs)))
        self.tokens[-3:-1] = math.log(1.0 + 0.01)

    def observe(self, losses: FloatArray) -> None:
        """Take in a round's losses, shape (num_actions, num_runs), and renew the features."""
        d = self.num_actions
        centered = losses - losses.min(0)  # first, so that a large common level costs no digits twice
        if not self._unit.all():
            self._unit = np.where(self._unit > 0, self._unit, centered.max(0))
        centered -= centered.sum(0) / d
        centered *= _ratio(1.0, self._unit)
        np.clip(centered, -1e60, 1e60, out=centered)
        self.t += 1

        # Sums.
        own_squares = centered * centered
        squares = own_squares.sum(0) / max(d - 1, 1)
        self._squares += squares
        self._recent_squares += (1 - _RECENT_DECAY) * (squares - self._recent_squares)
        np.maximum(self._largest, np.abs(centered).max(0), out=self._largest)
        lost = np.einsum("kdr,dr->kr", self.experts, centered)  # by the experts
        off = centered - lost[1]
        self._likely_squares += np.einsum("dr,dr,dr->r", self.experts[1], off, off)
        self._cumulative += centered
        self._decayed *= _DECAYS
        self._decayed += centered
        self._decayed_norm = _DECAYS**2 * self._decayed_norm + 1.0
        self._last[1:] = self._last[:-1]
        self._last[0] = centered
        self._products *= _AUTOCORRELATION_DECAY
        self._products += np.einsum("jdr,dr->jr", self._last, centered)
        self._own_squares *= _AUTOCORRELATION_DECAY
        self._own_squares += own_squares
        self._own_products *= _AUTOCORRELATION_DECAY
        self._own_products += centered * self._last[1]
        self._tracks *= _TRACK_DECAYS
        self._tracks -= lost
        self._track_norms = _TRACK_DECAYS**2 * self._track_norms + 1.0
        self._predicted_regrets = lost[-1] - centered
        self._regrets += self._predicted_regrets
        np.maximum(self._regrets, 0.0, out=self._regrets)
        self._renew()

    def _renew(self) -> None:
        """Tokens, context and experts from the sums."""
        d, t, tokens = self.num_actions, self.t, self.tokens
        scale = np.sqrt(self._squares / t)
        inverse = _ratio(1.0, scale)
        likely_scale = np.sqrt(self._likely_squares / t) + 0.03 * scale
        roots = np.array([inverse, _ratio(1.0, likely_scale)])[:, None] / math.sqrt(t)

        # Tokens of the losses.
        above = self._cumulative - self._cumulative.min(0)
        np.multiply(self._cumulative, roots, out=tokens[:2])
        np.multiply(above, roots, out=tokens[2:4])
        k = _NEWEST
        np.multiply(self._decayed, inverse / np.sqrt(self._decayed_norm), out=tokens[4:k])
        np.multiply(self._last[:3], inverse, out=tokens[k : k + 3])
        variance = self._products[0]
        shrunk = _ratio(self._products[1:], variance)
        shrunk *= np.maximum(t - _LAGS, 0.0) / (t + 2.0)
        weights = shrunk * (inverse / (0.3 + np.abs(shrunk).sum(0)))
        np.einsum("jr,jdr->dr", weights, self._last[:-1], out=tokens[k + 3])
        np.multiply(tokens[k], _ratio(self._own_products, self._own_squares), out=tokens[k + 4])
        tokens[k + 4] *= t / (t + 3.0)
        ratio = self._own_squares * _ratio(d, variance)
        ratio += np.where(variance > 0, 0.01, 1.01)
        np.log(ratio, out=tokens[k + 5])

        # The experts.
        experts, logits = self.experts, self.experts[: len(_STEPS)]
        np.clip(tokens[k], -8.0, 8.0, out=tokens[k])
        self._shares *= np.exp(-_SHARING_STEPS * tokens[k])
        self._shares *= (1 - _SHARES) / self._shares.sum(1, keepdims=True)
        self._shares += _SHARES / d
        experts[len(_STEPS) : -1] = self._shares
        np.multiply(tokens.take(_FOLLOWED, 0), self._steps, out=logits)
        logits -= logits.max(1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(1, keepdims=True)
        matching = np.maximum(self._regrets + self._predicted_regrets, 0.0)
        total = matching.sum(0)
        np.multiply(matching, _ratio(1.0, total), out=experts[-1])
        experts[-1] += np.where(total > 0, 0.0, 1.0 / d)

        # Tokens of the experts.
        np.log(experts[-1] * d + 0.01, out=tokens[k + 6])
        np.log(experts[1] * d + 0.01, out=tokens[k + 7])
        np.multiply(self._regrets, roots[0], out=tokens[k + 8])
        np.clip(tokens, -8.0, 8.0, out=tokens)
        self._set_context(inverse, shrunk, likely_scale)

    def _set_context(
        self, inverse: FloatArray, shrunk: FloatArray, likely_scale: FloatArray | None = None
    ) -> None:
        d, t, T, context = self.num_actions, self.t, self.horizon, self.context
        context[0] = min(math.log(d) / 3, 1.2)
        context[1] = 1.0 / d
        context[2] = min(math.log1p(t), _LONGEST) / 5
        context[3] = 1 / math.sqrt(t + 1)
        if T is not None:
            context[4] = min(t / T, 1.0)
            context[5] = 1.0
            context[6] = min(math.log(T), _LONGEST) / 5
            context[7] = 1 / math.sqrt(max(T - t, 0) + 1)
        context[8] = 0.5 * np.log(np.clip(self._largest * inverse, 0.1, 1e4))
        if likely_scale is not None:
            context[9] = np.log(np.clip(likely_scale * inverse, 0.03, 30.0))
            context[10] = np.log(np.clip(np.sqrt(self._recent_squares) * inverse, 0.03, 30.0))
        context[11:15] = shrunk[:4]
        context[15] = shrunk[7]
        tracks = context[16:].reshape(self._tracks.shape)
        np.multiply(self._tracks, inverse / np.sqrt(np.maximum(self._track_norms, 1.0)), out=tracks)
        np.clip(tracks, -4.0, 4.0, out=tracks)


def _ratio(numerator: FloatArray | float, denominator: FloatArray) -> FloatArray:
    """numerator / denominator, 0 where the denominator is 0 (none is negative)."""
    return numerator / np.where(denominator > 0, denominator, np.inf)
