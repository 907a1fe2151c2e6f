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

_DECAYS = np.exp(-1.0 / np.array(TIME_SCALES))
_AUTOCORRELATION_DECAY = math.exp(-1 / 100)
_TRACK_DECAYS = np.exp(-1.0 / np.array([np.inf, 64.0, 8.0]))
_RECENT_DECAY = math.exp(-1 / 16)
_LONGEST = math.log(1000.0)  # horizons beyond are told apart no more
_FLOOR = 1e-12


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
        self._decayed_norm = np.zeros(len(TIME_SCALES))
        self._last = np.zeros((NUM_LAGS + 1, d, runs))  # the newest first
        self._products = np.zeros((NUM_LAGS + 1, runs))  # autocovariances
        self._own_squares = np.zeros((d, runs))
        self._own_products = np.zeros((d, runs))
        self._shares = np.full((len(_SHARING), d, runs), 1.0 / d)
        self._regrets = np.zeros((d, runs))
        self._predicted_regrets = np.zeros((d, runs))
        self._tracks = np.zeros((len(_TRACK_DECAYS), len(EXPERTS), runs))
        self._track_norms = np.zeros(len(_TRACK_DECAYS))
        self.tokens = np.zeros((len(TOKEN_FEATURES), d, runs))
        self.context = np.zeros((len(CONTEXT_FEATURES), runs))
        self.experts = np.full((len(EXPERTS), d, runs), 1.0 / d)
        self._set_context(np.zeros(runs), np.zeros((NUM_LAGS, runs)))
        self.tokens[-3:-1] = math.log(1.0 + 0.01)

    def observe(self, losses: FloatArray) -> None:
        """Take in a round's losses, shape (num_actions, num_runs), and renew the features."""
        d = self.num_actions
        centered = losses - losses.min(0)  # first, so that a large common level costs no digits twice
        new = self._unit == 0
        if new.any():
            self._unit = np.where(new, centered.max(0), self._unit)
        centered -= centered.mean(0)
        unit = np.where(self._unit > 0, self._unit, 1.0)
        centered /= unit
        np.clip(centered, -1e60, 1e60, out=centered)
        self.t += 1

        # Sums.
        squares = (centered * centered).sum(0) / max(d - 1, 1)
        self._squares += squares
        self._recent_squares += (1 - _RECENT_DECAY) * (squares - self._recent_squares)
        np.maximum(self._largest, np.abs(centered).max(0), out=self._largest)
        likely = self.experts[1]
        off = centered - (likely * centered).sum(0)
        self._likely_squares += (likely * off * off).sum(0)
        self._cumulative += centered
        self._decayed *= _DECAYS[:, None, None]
        self._decayed += centered
        self._decayed_norm = _DECAYS**2 * self._decayed_norm + 1.0
        self._last[1:] = self._last[:-1]
        self._last[0] = centered
        self._products *= _AUTOCORRELATION_DECAY
        self._products += (self._last * centered).sum(1)
        self._own_squares *= _AUTOCORRELATION_DECAY
        self._own_squares += centered * centered
        self._own_products *= _AUTOCORRELATION_DECAY
        self._own_products += centered * self._last[1]
        self._tracks *= _TRACK_DECAYS[:, None, None]
        self._tracks -= (self.experts * centered).sum(1)
        self._track_norms = _TRACK_DECAYS**2 * self._track_norms + 1.0
        self._predicted_regrets = (self.experts[-1] * centered).sum(0) - centered
        self._regrets += self._predicted_regrets
        np.maximum(self._regrets, 0.0, out=self._regrets)
        self._renew()

    def _renew(self) -> None:
        """Tokens, context and experts from the sums."""
        d, t, tokens = self.num_actions, self.t, self.tokens
        scale = np.sqrt(self._squares / t)
        inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        likely_scale = np.sqrt(self._likely_squares / t) + 0.03 * scale
        root = inverse / math.sqrt(t)
        likely_root = np.divide(1 / math.sqrt(t), likely_scale, out=np.zeros_like(scale), where=scale > 0)

        tokens[0] = self._cumulative * root
        tokens[1] = self._cumulative * likely_root
        above = self._cumulative - self._cumulative.min(0)
        tokens[2] = above * root
        tokens[3] = above * likely_root
        k = 4 + len(TIME_SCALES)
        np.multiply(self._decayed, inverse / np.sqrt(self._decayed_norm)[:, None, None], out=tokens[4:k])
        np.multiply(self._last[:3], inverse, out=tokens[k : k + 3])
        variance = self._products[0]
        shrunk = np.divide(
            self._products[1:], variance, out=np.zeros((NUM_LAGS, len(scale))), where=variance > 0
        )
        shrunk *= (np.maximum(t - np.arange(1, NUM_LAGS + 1), 0.0) / (t + 2.0))[:, None]
        weights = shrunk / (0.3 + np.abs(shrunk).sum(0))
        np.einsum("jr,jdr->dr", weights, self._last[:-1], out=tokens[k + 3])
        tokens[k + 3] *= inverse
        own = np.divide(
            self._own_products,
            self._own_squares,
            out=np.zeros_like(self._own_squares),
            where=self._own_squares > 0,
        )
        tokens[k + 4] = tokens[k] * own * (t / (t + 3.0))
        mean_squares = variance / d
        ratio = np.divide(
            self._own_squares, mean_squares, out=np.ones_like(self._own_squares), where=mean_squares > 0
        )
        tokens[k + 5] = np.log(ratio + 0.01)

        self._shares *= np.exp(
            np.array([-step for step, _ in _SHARING])[:, None, None] * np.clip(tokens[k], -8, 8)
        )
        self._shares /= self._shares.sum(1, keepdims=True)
        share = np.array([share for _, share in _SHARING])[:, None, None]
        self._shares += share * (1.0 / d - self._shares)

        experts = self.experts
        experts[10:12] = self._shares
        hedge = math.sqrt(2 * math.log(d))
        np.multiply(tokens[0], (-hedge * np.array(_HEDGE_STEPS))[:, None, None], out=experts[:3])
        for e, index in zip((3, 4, 5), _RECENT, strict=True):
            np.multiply(tokens[4 + index], -3.0, out=experts[e])
        np.multiply(tokens[k], -3.0, out=experts[6])
        np.multiply(tokens[k], 3.0, out=experts[7])
        np.multiply(tokens[k + 1], -3.0, out=experts[8])
        np.multiply(tokens[k + 3], -6.0, out=experts[9])
        logits = experts[:10]
        logits -= logits.max(1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(1, keepdims=True)
        matching = np.maximum(self._regrets + self._predicted_regrets, 0.0)
        total = matching.sum(0)
        np.divide(matching, total, out=experts[-1], where=total > 0)
        experts[-1][:, total <= 0] = 1.0 / d

        tokens[k + 6] = np.log(experts[-1] * d + 0.01)
        tokens[k + 7] = np.log(experts[1] * d + 0.01)
        tokens[k + 8] = self._regrets * root
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
        norms = np.sqrt(np.maximum(self._track_norms, 1.0))
        tracks = context[16:].reshape(self._tracks.shape)
        np.multiply(self._tracks, inverse / norms[:, None, None], out=tracks)
        np.clip(tracks, -4.0, 4.0, out=tracks)
