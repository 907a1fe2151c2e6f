"""The metrics of play, as data: how each is measured, in what unit, which direction is better.

A third-party package adds a metric through the entry point `regret_envs.metrics`, which names a `Metric`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.names import lookup
from regret_envs.plugins import PluginError, plugins

if TYPE_CHECKING:
    from regret_envs.play import Play

Need = Literal["recorded", "realized actions", "game", "two players", "outcomes"]
"""What play must provide: every round's policies and losses, drawn actions, a game, a game of two players
given by its arrays, or the outcome of the game that has the metric's name (`Game.outcome_names`)."""

Normalize = Literal["regret", "gap", "loss", "none"]
"""How a value becomes comparable across tasks; see `normalization`."""


def regret_unit(loss_scale: float, horizon: int, num_actions: int) -> float:
    """loss_scale · sqrt(T ln d / 2): Hedge's guarantee for losses of that range at its best step."""
    return loss_scale * float(np.sqrt(horizon * np.log(num_actions) / 2))


def normalization(kind: Normalize, *, loss_scale: float, horizon: int, num_actions: int) -> float:
    """The value that a score counts as 1: a score is the metric's value divided by it.

    - "regret": loss_scale · sqrt(T ln d / 2), see `regret_unit`; 0 with one action;
    - "gap": that over T, since a gap times T is a regret;
    - "loss": loss_scale, the range of the losses;
    - "none": 1, the value is its own score.

    Args:
        kind: which.
        loss_scale: ρ, the range of the losses, or the standard deviation of Gaussian ones.
        horizon: T.
        num_actions: d.
    """
    if kind in ("regret", "gap"):
        return regret_unit(loss_scale, horizon, num_actions) / (horizon if kind == "gap" else 1)
    return loss_scale if kind == "loss" else 1.0


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A number per run that says how play went.

    Attributes:
        name: what tasks, result rows and commands call it.
        of: from a play to shape (num_runs,), or (num_players, num_runs) where each player has its own.
        unit: the unit of a value, for tables and axes.
        summary: one line for lists.
        higher_is_better: the direction.
        needs: what the play must provide.
        normalize: how a value becomes a score.
        label: the field's name for axes and captions; none: the name with spaces.
    """

    name: str
    of: Callable[[Play], FloatArray]
    unit: str
    summary: str
    higher_is_better: bool = False
    needs: tuple[Need, ...] = ()
    normalize: Normalize = "none"
    label: str = ""

    @property
    def title(self) -> str:
        """The name for tables and axes."""
        return self.label or self.name.replace("_", " ")

    @property
    def sign(self) -> int:
        """−1 where higher is better, else 1: sign × value is what an agent wants to be low."""
        return -1 if self.higher_is_better else 1

    def ranked(self, values: FloatArray, seat: int | None) -> FloatArray:
        """The values of the ranked agent, shape (num_runs,).

        Args:
            values: what `of` returned.
            seat: the ranked agent's seat; None: it plays all of them, and the worst one counts.
        """
        if values.ndim == 1:
            return values
        if seat is not None:
            return values[seat]
        return values.min(0) if self.higher_is_better else values.max(0)


def _realized(play: Play) -> Play:
    if play.realized is None:
        raise ValueError(
            "a realized metric needs drawn actions: a task whose feedback has the layer 'bandit'"
        )
    return play.realized


_TOTAL, _ROUND = "loss over all rounds", "loss per round"
_OUTCOMES: tuple[Need, ...] = ("game", "outcomes")


def _regret(name: str, summary: str, of: Callable[[Play], FloatArray], *needs: Need) -> Metric:
    return Metric(name=name, of=of, unit=_TOTAL, summary=summary, needs=needs, normalize="regret")


def _gap(name: str, label: str, summary: str, of: Callable[[Play], FloatArray], *needs: Need) -> Metric:
    return Metric(name=name, of=of, unit=_ROUND, summary=summary, needs=needs, normalize="gap", label=label)


_ALL = (
    _regret("external_regret", "against the best fixed action", lambda play: play.regret("external")),
    _regret("swap_regret", "against the best map of actions to actions", lambda play: play.regret("swap")),
    _gap("cce_gap", "CCE gap", "coarse correlated equilibrium, largest gain over players",
         lambda play: play.gaps().cce.max, "game"),
    _gap("ce_gap", "CE gap", "correlated equilibrium, largest gain of one swap over players",
         lambda play: play.gaps().ce.max, "game"),
    _gap("swap_gap", "full-swap CE gap", "correlated equilibrium, largest gain of a full swap over players",
         lambda play: play.gaps().swap.max, "game"),
    _gap("nash_conv", "NashConv", "the players' gains from deviating from the average policies, summed",
         lambda play: play.nash_conv(), "game"),
    _regret("realized_regret", "external regret of the drawn actions",
            lambda play: _realized(play).regret("external"), "realized actions"),
    _regret("realized_swap_regret", "swap regret of the drawn actions",
            lambda play: _realized(play).regret("swap"), "realized actions"),
    _gap("realized_cce_gap", "realized CCE gap", "CCE gap of the drawn actions",
         lambda play: _realized(play).gaps().cce.max, "game", "realized actions"),
    _gap("realized_ce_gap", "realized CE gap", "CE gap of the drawn actions",
         lambda play: _realized(play).gaps().ce.max, "game", "realized actions"),
    _regret("tracking_regret_4", "against the best sequence of actions with at most 4 switches",
            lambda play: play.tracking_regret(min(4, play.t - 1)), "recorded"),
    _regret("tracking_regret_9", "against the best sequence of actions with at most 9 switches",
            lambda play: play.tracking_regret(min(9, play.t - 1)), "recorded"),
    _regret("adaptive_regret", "external regret over the worst interval of rounds",
            lambda play: play.adaptive_regret(), "recorded"),
    Metric(name="payoff", unit="payoff per round", summary="mean payoff", higher_is_better=True,
           of=lambda play: np.stack([-np.trace(m, axis1=1, axis2=2) / play.t for m in play.play_losses]),
           normalize="loss"),
    Metric(name="extraction", unit="payoff per round", normalize="loss", needs=("game", "two players"),
           summary="what the leader in seat 0 gets above its Stackelberg value",
           of=lambda play: play.extraction()),
    _regret("follower_regret", "external regret of the agent in seat 1",
            lambda play: play.regret("external")[1], "game"),
    _regret("follower_swap_regret", "swap regret of the agent in seat 1",
            lambda play: play.regret("swap")[1], "game"),
    Metric(name="social_cost", unit=_ROUND, normalize="loss", needs=("game",),
           summary="the players' losses, summed", of=lambda play: play.social_cost()),
    Metric(name="potential", unit=_ROUND, normalize="loss", needs=_OUTCOMES,
           summary="the potential of a potential game", of=lambda play: play.outcomes["potential"]),
    Metric(name="revenue", unit="payoff per round", normalize="loss", needs=_OUTCOMES, higher_is_better=True,
           summary="what bidders pay the seller", of=lambda play: play.outcomes["revenue"]),
    Metric(name="efficiency", unit="share", needs=_OUTCOMES, higher_is_better=True,
           summary="welfare as a share of the best", of=lambda play: play.outcomes["efficiency"]),
    Metric(name="contribution", unit="contributed per round", needs=_OUTCOMES, higher_is_better=True,
           summary="what the players contribute, summed", of=lambda play: play.outcomes["contribution"]),
)  # fmt: skip

METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _ALL}
"""The built-in metrics by name. Regrets and payoffs are a player's own; gaps are the maximum over players.
Realized ones are of the drawn actions, under bandit feedback."""


def make_metric(name: str) -> Metric:
    """The metric of that name, built in or of a plug-in (which is imported).

    Raises:
        UnknownNameError: if there is none (lists the near matches).
        PluginError: if a plug-in cannot be imported, or what it names is not a `Metric` of that name.
    """
    if name in METRICS:
        return METRICS[name]
    offered = plugins("metrics", METRICS)[0]
    lookup("metric", name, {**METRICS, **offered})
    metric = offered[name].load()
    if not isinstance(metric, Metric) or metric.name != name:
        raise PluginError(f"{offered[name]} is {metric!r}, not a Metric named {name!r}")
    return metric
