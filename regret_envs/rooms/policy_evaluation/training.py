"""Training the softmax Transformer of `softmax_td` by TD over random processes. Needs torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from regret_envs.arrays import FloatArray
from regret_envs.rooms.policy_evaluation.markov import (
    FeatureLaw,
    MarkovRewardProcess,
    Trajectory,
    boyan_chains,
    check_discount,
)
from regret_envs.rooms.policy_evaluation.softmax_td import SoftmaxTransformer
from regret_envs.validation import at_least

# Processes are drawn for this many steps at once: a trajectory is a loop over its transitions.
_STEPS_DRAWN = 50


@dataclass(frozen=True, kw_only=True)
class SoftmaxTDTraining:
    """How the Transformer is trained.

    Every step draws `batch_size` fresh processes and takes a semi-gradient step of TD on the transition that
    follows the context, S_n → S_{n+1}: with the values v_L that the Transformer reads in the first n
    transitions,

        loss = mean (R_{n+1} + γ stop-gradient(v_L(S_{n+1})) − v_L(S_n))²,

    by Adam, its learning rate falling to 0 by a cosine and the gradient's norm clipped, from parameters
    N(0, init_scale²). Trained are A's feature block and the three entries of V, shared by the layers.

    Raises:
        ValueError: if γ is outside [0, 1), or a number is too small.
    """

    num_layers: int = 10
    discount: float = 0.5
    num_states: int = 5
    features: FeatureLaw = "random"
    num_features: int = 5
    context_length: int = 50
    batch_size: int = 64
    num_steps: int = 1500
    learning_rate: float = 1e-2
    clip_norm: float = 1.0
    init_scale: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        check_discount(self.discount)
        for name in ("num_layers", "context_length", "batch_size", "num_steps"):
            at_least(name, getattr(self, name), 1)
        at_least("num_states", self.num_states, 2)
        at_least("num_features", self.num_features, 1)
        at_least("seed", self.seed, 0)
        for name in ("learning_rate", "clip_norm", "init_scale"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)!r}")

    @property
    def features_read(self) -> int:
        """The number of features of a state: `num_features`, or `num_states` of one-hot features."""
        return self.num_states if self.features == "one_hot" else self.num_features

    def processes(self, num_runs: int, *, rng: np.random.Generator) -> MarkovRewardProcess:
        """Processes such as it is trained on."""
        return boyan_chains(
            num_runs,
            rng=rng,
            discount=self.discount,
            num_states=self.num_states,
            features=self.features,
            num_features=self.num_features,
        )


def layer_values(
    attention: torch.Tensor,
    value_weights: torch.Tensor,
    features: torch.Tensor,
    rewards: torch.Tensor,
    *,
    discount: float,
    num_layers: int,
) -> torch.Tensor:
    """v_L at all columns, as `SoftmaxTransformer.layer_values` computes it, for automatic differentiation.

    Args:
        attention: A's feature block, (num_features, num_features).
        value_weights: (3,).
        features: of the n + 1 states of the trajectory and then of queries, (num_runs, n + 1 + m,
            num_features).
        rewards: (num_runs, n).
        discount: γ.
        num_layers: L.

    Returns:
        Shape (num_runs, n + 1 + m).
    """
    n = rewards.shape[1]
    weights = torch.softmax(features[:, :n] @ attention @ features.transpose(1, 2), dim=1)
    reward, target, value = value_weights
    rewarded = reward * rewards[:, None]
    v = features.new_zeros(len(features), 1, features.shape[1])
    for _ in range(num_layers):
        errors = rewarded + target * discount * v[..., 1 : n + 1] + value * v[..., :n]
        v = v + errors @ weights
    return v[:, 0]


def train(
    config: SoftmaxTDTraining, *, progress: Callable[[int, float], None] | None = None
) -> SoftmaxTransformer:
    """Train a Transformer; on one machine, the same config gives the same parameters.

    Args:
        config: how.
        progress: called after every step with the number of steps done and the loss.

    Returns:
        The parameters after the last step.

    Raises:
        FloatingPointError: if the loss is no longer finite; says in which step.
    """
    rng = np.random.default_rng(config.seed)
    d = config.features_read
    attention = torch.from_numpy(config.init_scale * rng.standard_normal((d, d))).requires_grad_()
    weights = torch.from_numpy(config.init_scale * rng.standard_normal(3)).requires_grad_()
    optimizer = torch.optim.Adam([attention, weights], config.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, config.num_steps)
    n, discount = config.context_length, config.discount
    for step, (features, rewards) in enumerate(_batches(config, rng), start=1):
        v = layer_values(
            attention, weights, features, rewards[:, :n], discount=discount, num_layers=config.num_layers
        )
        errors = rewards[:, n] + discount * v[:, n + 1].detach() - v[:, n]
        loss = (errors**2).mean()
        if not torch.isfinite(loss):
            raise FloatingPointError(
                f"the loss is {loss.item()} in step {step}: "
                f"a learning_rate below {config.learning_rate} may help"
            )
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([attention, weights], config.clip_norm)
        optimizer.step()
        schedule.step()
        if progress is not None:
            progress(step, loss.item())
    return SoftmaxTransformer(attention.detach().numpy(), weights.detach().numpy(), config.num_layers)


def _batches(
    config: SoftmaxTDTraining, rng: np.random.Generator
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """For every step, features and rewards of `batch_size` fresh trajectories of n + 1 transitions."""
    for first in range(0, config.num_steps, _STEPS_DRAWN):
        steps = min(_STEPS_DRAWN, config.num_steps - first)
        processes = config.processes(steps * config.batch_size, rng=rng)
        context = processes.sample(config.context_length + 1, rng=rng).context
        for batch in np.split(np.arange(len(context.rewards)), steps):
            yield torch.from_numpy(context.features[batch]), torch.from_numpy(context.rewards[batch])


def expected_update(transformer: SoftmaxTransformer, trajectory: Trajectory) -> FloatArray:
    """The update of TD that is to be expected, E[Σ_s μ(s) (r(s) + γ Σ_{s'} P(s → s') v_L(s') − v_L(s)) ∇
    v_L(s)].

    The mean is over the processes; v_L is what the Transformer reads in each one's trajectory, and the
    transition that follows is averaged over exactly. Training can rest only where this is zero; its norm is
    the NEU objective (Sutton et al. 2009).

    Args:
        transformer: the parameters.
        trajectory: the contexts.

    Returns:
        By A's feature block, row by row, and V's three entries: shape (num_features² + 3,).
    """
    context, process = trajectory.context, trajectory.process
    attention = torch.from_numpy(transformer.attention).requires_grad_()
    weights = torch.from_numpy(transformer.value_weights).requires_grad_()
    v = layer_values(
        attention,
        weights,
        torch.from_numpy(np.concatenate([context.features, process.features], axis=1)),
        torch.from_numpy(context.rewards),
        discount=process.discount,
        num_layers=transformer.num_layers,
    )[:, -process.num_states :]
    estimates = v.detach().numpy()
    targets = process.rewards + process.discount * (process.transitions @ estimates[..., None])[..., 0]
    errors = torch.from_numpy(process.stationary * (targets - estimates))
    gradients = torch.autograd.grad((errors * v).sum(1).mean(), [attention, weights])
    return np.concatenate([g.numpy().ravel() for g in gradients])
