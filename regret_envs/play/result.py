"""The result of play: regrets, gaps and anytime curves of many runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from regret_envs import metrics
from regret_envs.arrays import FloatArray
from regret_envs.games import TensorEpisode
from regret_envs.games.stackelberg import stackelberg
from regret_envs.metrics import tracking
from regret_envs.names import lookup
from regret_envs.worlds import Episode, GameEpisode


@dataclass(frozen=True)
class Play:
    """The result of `num_runs` runs of play, up to round `t`.

    Attributes:
        t: rounds played.
        seed: the seed.
        play_losses: one play–loss matrix Σ_s π_s ℓ_sᵀ per player, arrays (num_runs, d, d).
        mean_policies: the average policy T⁻¹ Σ_s π_s of every player, arrays (num_runs, d).
        policies: recorded on request: one array (t, num_runs, d) per player, else None.
        losses: likewise.
        realized: where actions were drawn (bandit feedback), the same play with the drawn actions
            in place of the policies, for the regrets and gaps of what was actually played. Else None.
        outcomes: where they were asked for, the game's own outcomes (potential, revenue, …), expected and
            averaged over the rounds: arrays (num_runs,) by name.
        outstanding: how many rounds' losses every player has not been shown yet (delayed feedback).
        earlier: the play up to each earlier round asked for, by round.
    """

    t: int
    seed: int
    play_losses: tuple[FloatArray, ...]
    mean_policies: tuple[FloatArray, ...]
    policies: tuple[FloatArray, ...] | None = None
    losses: tuple[FloatArray, ...] | None = None
    realized: Play | None = None
    outcomes: dict[str, FloatArray] = field(default_factory=dict)
    outstanding: tuple[int, ...] = ()
    earlier: dict[int, Play] = field(default_factory=dict)
    _episode: Episode | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"<Play: {self.t} rounds, {self.num_players} players, {self.num_runs} runs, seed {self.seed}>"

    @property
    def num_players(self) -> int:
        """N."""
        return len(self.play_losses)

    @property
    def num_runs(self) -> int:
        """B."""
        return len(self.play_losses[0])

    def regret(self, kind: str = "external") -> FloatArray:
        """Regret, shape (num_players, num_runs), in units of loss.

        Args:
            kind: "external", "swap" or "internal".

        Raises:
            UnknownNameError: for another kind.
        """
        regret = lookup("regret", kind, metrics.REGRETS)
        return np.stack([regret(m) for m in self.play_losses])

    def tracking_regret(self, max_switches: int) -> FloatArray:
        """Regret against the best sequence of actions with at most S switches, (num_players, num_runs).

        Args:
            max_switches: S; as in `tracking.tracking_regret`.

        Raises:
            ValueError: if policies and losses were not recorded, or S lies outside 0 … t − 1.
        """
        return np.stack([tracking.tracking_regret(*p, max_switches) for p in self._recorded()])

    def adaptive_regret(self, length: int | None = None) -> FloatArray:
        """The largest external regret of any interval of rounds, (num_players, num_runs).

        Args:
            length: rounds of every interval, None: any; as in `tracking.adaptive_regret`.

        Raises:
            ValueError: if policies and losses were not recorded, or `length` lies outside 1 … t.
        """
        return np.stack([tracking.adaptive_regret(*p, length) for p in self._recorded()])

    def _recorded(self) -> list[tuple[FloatArray, FloatArray]]:
        """Policies and losses of every player."""
        if self.policies is None or self.losses is None:
            raise ValueError(
                'this needs play that was recorded: simulate(..., record=("policies", "losses"))'
            )
        return list(zip(self.policies, self.losses, strict=True))

    def gaps(self) -> metrics.EquilibriumGaps:
        """CCE, pairwise CE and full-swap gaps of the time-averaged joint play."""
        return self._gaps

    @cached_property
    def _gaps(self) -> metrics.EquilibriumGaps:
        return metrics.EquilibriumGaps(self.play_losses, self.t)

    def social_cost(self) -> FloatArray:
        """The sum of the players' losses per round, Σ_n tr M_n / T, shape (num_runs,)."""
        return np.sum([np.trace(m, axis1=-2, axis2=-1) for m in self.play_losses], axis=0) / self.t

    def nash_conv(self) -> FloatArray:
        """NashConv of the average policies, Σ_n max_a [u_n(a, π̄_{−n}) − u_n(π̄)], shape (num_runs,).

        Raises:
            ValueError: if the world is not a game.
        """
        if not isinstance(self._episode, GameEpisode):
            raise ValueError("NashConv is defined in games; this play was against a stream")
        return metrics.nash_conv(self._episode.step(self.mean_policies), self.mean_policies)

    def extraction(self, leader: int = 0) -> FloatArray:
        """What `leader` got per round above its Stackelberg value, shape (num_runs,).

        Against an agent without swap regret it is at most o(1), whatever the leader plays (Deng,
        Schneider and Sivan, "Strategizing against No-Regret Learners", NeurIPS 2019).

        Raises:
            ValueError: if the world is not one game of two players.
        """
        if not isinstance(self._episode, TensorEpisode):
            raise ValueError("a Stackelberg value is defined in games of two players given by their arrays")
        value = stackelberg(self._episode.losses, leader).value
        return -np.trace(self.play_losses[leader], axis1=1, axis2=2) / self.t - value

    def at(self, t: int) -> Play:
        """The play up to round `t`, one of the `rounds` passed to `simulate`, or the last.

        Raises:
            KeyError: if that round was not asked for.
        """
        if t == self.t:
            return self
        if t not in self.earlier:
            raise KeyError(f"round {t} was not recorded; there are {[*self.earlier, self.t]}")
        return self.earlier[t]
