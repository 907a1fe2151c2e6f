"""Policy evaluation: Markov reward processes, their trajectories, and what can be known of their values.

Everything here is a batch: `num_runs` processes of one size, and one trajectory S_0, R_1, S_1, …, S_n of
each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from regret_envs.arrays import FloatArray, IntArray
from regret_envs.names import lookup
from regret_envs.validation import at_least

FeatureLaw = Literal["random", "one_hot"]


def check_discount(discount: float) -> float:
    """Return γ as a float.

    Raises:
        ValueError: if it is outside [0, 1).
    """
    if not 0 <= discount < 1:
        raise ValueError(f"discount must lie in [0, 1), got {discount!r}")
    return float(discount)


@dataclass(frozen=True, eq=False)
class Context:
    """What one sees of a trajectory: the features of its states, and its rewards.

    Args:
        features: x(S_0), …, x(S_n), shape (num_runs, n + 1, num_features).
        rewards: R_1, …, R_n, shape (num_runs, n).

    Raises:
        ValueError: if n < 1, the shapes do not fit each other, or something is not finite; says where.
    """

    features: FloatArray
    rewards: FloatArray

    def __post_init__(self) -> None:
        features = _finite("features", self.features, ("num_runs", "n + 1", "num_features"))
        rewards = _finite("rewards", self.rewards, ("num_runs", "n"))
        if rewards.shape[1] < 1:
            raise ValueError("a trajectory needs at least one transition, got n = 0 rewards")
        if features.shape[:2] != (len(rewards), rewards.shape[1] + 1):
            raise ValueError(
                f"features have shape {features.shape}, but rewards of shape {rewards.shape} go with "
                f"features of shape ({len(rewards)}, {rewards.shape[1] + 1}, num_features): one state more "
                "than rewards"
            )
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "rewards", rewards)


@dataclass(frozen=True, eq=False)
class MarkovRewardProcess:
    """`num_runs` Markov reward processes with the same number of states.

    Args:
        transitions: P(s → s'), shape (num_runs, num_states, num_states), rows on the simplex.
        rewards: r(s), received on leaving s, shape (num_runs, num_states).
        features: x(s), shape (num_runs, num_states, num_features).
        discount: γ.

    Raises:
        ValueError: if γ is outside [0, 1), a shape is wrong, something is not finite or a row of
            `transitions` is not a distribution; says where.
    """

    transitions: FloatArray
    rewards: FloatArray
    features: FloatArray
    discount: float

    def __post_init__(self) -> None:
        check_discount(self.discount)
        transitions = _finite("transitions", self.transitions, ("num_runs", "num_states", "num_states"))
        rewards = _finite("rewards", self.rewards, ("num_runs", "num_states"))
        features = _finite("features", self.features, ("num_runs", "num_states", "num_features"))
        shape = transitions.shape[:2]
        if transitions.shape[2] != shape[1]:
            raise ValueError(f"transitions must be square, got shape {transitions.shape}")
        if rewards.shape != shape or features.shape[:2] != shape:
            raise ValueError(
                f"with transitions of shape {transitions.shape}, rewards must have shape {shape} and "
                f"features ({shape[0]}, {shape[1]}, num_features); got {rewards.shape} and {features.shape}"
            )
        bad = (transitions < 0).any(2) | (np.abs(transitions.sum(2) - 1) > 1e-9)
        if bad.any():
            run, state = (int(i) for i in np.argwhere(bad)[0])
            raise ValueError(
                f"transitions of run {run} out of state {state} are not a distribution: "
                f"{transitions[run, state]}"
            )
        object.__setattr__(self, "transitions", transitions)
        object.__setattr__(self, "rewards", rewards)
        object.__setattr__(self, "features", features)

    @property
    def num_runs(self) -> int:
        """B."""
        return self.transitions.shape[0]

    @property
    def num_states(self) -> int:
        """S."""
        return self.transitions.shape[1]

    @cached_property
    def values(self) -> FloatArray:
        """The value function v = (I − γ P)⁻¹ r, shape (num_runs, num_states)."""
        return _solve(self.transitions, self.rewards, self.discount)

    @cached_property
    def stationary(self) -> FloatArray:
        """The stationary distribution μ = μ P, shape (num_runs, num_states).

        Raises:
            ValueError: if a process has more than one.
        """
        equations = np.swapaxes(np.eye(self.num_states) - self.transitions, 1, 2).copy()
        equations[:, -1] = 1.0  # one equation is redundant: Σ_s μ(s) = 1 takes its place
        total = np.zeros((*self.rewards.shape, 1))
        total[:, -1] = 1.0
        try:
            return np.asarray(np.linalg.solve(equations, total)[..., 0], dtype=np.float64)
        except np.linalg.LinAlgError:
            raise ValueError("a process has more than one stationary distribution") from None

    def mean_square_value_error(self, estimates: FloatArray) -> FloatArray:
        """MSVE, Σ_s μ(s) (v̂(s) − v(s))² (Sutton and Barto 2018, section 9.2).

        Args:
            estimates: v̂, shape (…, num_runs, num_states).

        Returns:
            Shape (…, num_runs).
        """
        return (self.stationary * (estimates - self.values) ** 2).sum(-1)

    def sample(self, num_transitions: int, *, rng: np.random.Generator) -> Trajectory:
        """A trajectory of every process, begun in its stationary distribution.

        Args:
            num_transitions: n.
            rng: the generator.

        Raises:
            ValueError: if n < 1.
        """
        at_least("num_transitions", num_transitions, 1)
        runs = np.arange(self.num_runs)
        # By inversion: the next state is the number of cumulative probabilities at or below a uniform number.
        cumulative = self.transitions.cumsum(2)[..., :-1]
        uniforms = rng.random((num_transitions + 1, self.num_runs, 1))
        states = np.empty((num_transitions + 1, self.num_runs), dtype=np.int64)
        states[0] = (self.stationary.cumsum(1)[:, :-1] <= uniforms[0]).sum(1)
        for k in range(num_transitions):
            states[k + 1] = (cumulative[runs, states[k]] <= uniforms[k + 1]).sum(1)
        return Trajectory(self, states.T)


@dataclass(frozen=True, eq=False)
class Trajectory:
    """One trajectory of every process of a batch.

    Args:
        process: the processes.
        states: S_0, …, S_n, shape (num_runs, n + 1).
    """

    process: MarkovRewardProcess
    states: IntArray

    @cached_property
    def context(self) -> Context:
        """What an agent sees of it."""
        rewards = np.take_along_axis(self.process.rewards, self.states[:, :-1], 1)
        return Context(np.take_along_axis(self.process.features, self.states[..., None], 1), rewards)

    @property
    def values(self) -> FloatArray:
        """v(S_k), shape (num_runs, n + 1)."""
        return np.take_along_axis(self.process.values, self.states, 1)

    @cached_property
    def certainty_equivalence(self) -> FloatArray:
        """The certainty-equivalence value of every state after n transitions, (num_runs, num_states)."""
        model = EmpiricalModel(self.process.num_runs, self.process.num_states)
        for k, rewards in enumerate(self.context.rewards.T):
            model.observe(self.states[:, k], rewards, self.states[:, k + 1])
        return model.values(self.process.discount)

    @cached_property
    def online_certainty_equivalence(self) -> FloatArray:
        """What the first k transitions alone make of v(S_k), for every k; shape (num_runs, n + 1)."""
        model = EmpiricalModel(self.process.num_runs, self.process.num_states)
        runs = np.arange(self.process.num_runs)
        estimates = np.zeros(self.states.shape)
        for k, rewards in enumerate(self.context.rewards.T):
            model.observe(self.states[:, k], rewards, self.states[:, k + 1])
            estimates[:, k + 1] = model.values(self.process.discount)[runs, self.states[:, k + 1]]
        return estimates


class EmpiricalModel:
    """Transitions and rewards counted: p̂ and r̂, of `num_runs` processes.

    Attributes:
        transition_counts: N(s, s'), shape (num_runs, num_states, num_states).
        reward_sums: the rewards received on leaving s added up, shape (num_runs, num_states).
    """

    def __init__(self, num_runs: int, num_states: int) -> None:
        self.transition_counts = np.zeros((num_runs, num_states, num_states))
        self.reward_sums = np.zeros((num_runs, num_states))

    def observe(self, states: IntArray, rewards: FloatArray, next_states: IntArray) -> None:
        """Count one transition S, R, S' a run; arrays (num_runs,)."""
        runs = np.arange(len(states))
        self.transition_counts[runs, states, next_states] += 1.0
        self.reward_sums[runs, states] += rewards

    def values(self, discount: float) -> FloatArray:
        """The certainty-equivalence value v̂ = (I − γ p̂)⁻¹ r̂: what the process would be worth were the
        empirical model the true one (Sutton and Barto 2018, section 6.3).

        A state that was never left has p̂ = 0 and r̂ = 0, so value 0.

        Returns:
            Shape (num_runs, num_states).
        """
        visits = np.maximum(self.transition_counts.sum(2), 1.0)
        return _solve(self.transition_counts / visits[..., None], self.reward_sums / visits, discount)


def boyan_chains(
    num_runs: int,
    *,
    rng: np.random.Generator,
    discount: float,
    num_states: int = 5,
    features: FeatureLaw = "random",
    num_features: int = 5,
) -> MarkovRewardProcess:
    """Random processes of the shape of Boyan's chain (Boyan 2002), as Wang et al. (2024) draw them.

    State i goes to i + 1 with probability U(0.01, 0.99), else to i + 2; the last but one goes to the last,
    which goes anywhere, with probabilities proportional to U(0.01, 0.99). Rewards are U(−1, 1).

    Args:
        num_runs: processes, B.
        rng: the generator.
        discount: γ.
        num_states: S.
        features: "random", U[−1, 1] independently, or "one_hot".
        num_features: d, of random features.

    Raises:
        UnknownNameError: if there is no such law of features; lists the near ones.
        ValueError: if there are fewer than 2 states, or no run or feature, or γ is outside [0, 1).
    """
    lookup("feature law", features, dict.fromkeys(get_args(FeatureLaw)))
    at_least("num_runs", num_runs, 1)
    at_least("num_states", num_states, 2)
    at_least("num_features", num_features, 1)
    transitions = np.zeros((num_runs, num_states, num_states))
    i = np.arange(num_states - 2)
    transitions[:, i, i + 1] = rng.uniform(0.01, 0.99, (num_runs, num_states - 2))
    transitions[:, i, i + 2] = 1 - transitions[:, i, i + 1]
    transitions[:, -2, -1] = 1.0
    restart = rng.uniform(0.01, 0.99, (num_runs, num_states))
    transitions[:, -1] = restart / restart.sum(1, keepdims=True)
    rewards = rng.uniform(-1, 1, (num_runs, num_states))
    x = (
        rng.uniform(-1, 1, (num_runs, num_states, num_features))
        if features == "random"
        else np.tile(np.eye(num_states), (num_runs, 1, 1))
    )
    return MarkovRewardProcess(transitions, rewards, x, discount)


def _solve(transitions: FloatArray, rewards: FloatArray, discount: float) -> FloatArray:
    """(I − γ P)⁻¹ r; P may be substochastic."""
    equations = np.eye(rewards.shape[1]) - discount * transitions
    return np.asarray(np.linalg.solve(equations, rewards[..., None])[..., 0], dtype=np.float64)


def _finite(name: str, values: npt.ArrayLike, axes: tuple[str, ...]) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != len(axes):
        raise ValueError(f"{name} must have shape ({', '.join(axes)}), got {array.shape}")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} must be finite, but {name}{list(where)} is {array[where]}")
    return array
