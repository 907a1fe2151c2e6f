"""The training loop: seeded, interruptible, and continued to the bit."""

from __future__ import annotations

import logging
import math
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regret_envs.agents.attention import checkpoint, objectives
from regret_envs.agents.attention.analysis import logit_step_size
from regret_envs.agents.attention.log import TrainingLog
from regret_envs.agents.attention.model import AttentionModel
from regret_envs.agents.attention.recipe import Recipe, make_model, training_world
from regret_envs.agents.attention.rollout import play_batch
from regret_envs.progress import duration, every_minute

_REPORT_SECONDS = 0.25
_EVALUATION_BATCHES = 16
_logger = logging.getLogger(__name__)

_OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": torch.optim.SGD,
}

_REGRETS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "regret": objectives.external_regret,
    "ball-regret": objectives.ball_regret,
    "swap-regret": objectives.swap_regret,
    "block-swap-regret": objectives.block_regret,
}


class DivergedError(ArithmeticError):
    """The loss is not finite any more; says in which step, and what may help."""


@dataclass(frozen=True)
class Progress:
    """How far training is.

    Attributes:
        step: steps done.
        num_steps: of so many.
        loss: of the last batch.
        step_size: what Hedge step the last batch's policies fit best (see `logit_step_size`).
        seconds_left: at the pace so far.
    """

    step: int
    num_steps: int
    loss: float
    step_size: float
    seconds_left: float

    def __str__(self) -> str:
        return (
            f"step {self.step} of {self.num_steps} done, loss {self.loss:.4g}, about "
            f"{duration(self.seconds_left)} left"
        )


class Trainer:
    """A model in training.

    All random numbers of a step come from the recipe's seed and the step's number, so that a run that
    was saved and resumed ends in the same bits as one that was not.

    Args:
        recipe: checked here.
        device: any torch device.

    Attributes:
        step: steps done.
        seconds: spent so far, in this process and before.

    Raises:
        ValueError: if the recipe does not go together, or the device is not there.
    """

    def __init__(self, recipe: Recipe, device: str = "cpu") -> None:
        recipe.check()
        self.recipe = recipe
        self.step = 0
        self.seconds = 0.0
        self.world = training_world(recipe)
        self.model: AttentionModel = make_model(recipe).to(checkpoint.find_device(device))
        self._optimizer = _OPTIMIZERS[recipe.optimizer](self.model.parameters(), lr=recipe.learning_rate)

    def loss(self, step: int, size: int) -> tuple[Tensor, Tensor, Tensor]:
        """The objective on the batch of a step, and the policies and losses that it is of."""
        recipe = self.recipe
        policies, losses = play_batch(self.model, recipe, self.world, step, size)
        if recipe.estimator == "hindsight":
            return objectives.hindsight_brier(policies, losses).mean(), policies, losses
        regrets = _REGRETS[recipe.objective](policies, losses)
        value = objectives.aggregate(
            regrets, recipe.h, worst_of=recipe.worst_of, temperature=recipe.temperature
        )
        return value, policies, losses

    def train_step(self) -> tuple[Tensor, Tensor, Tensor]:
        """One optimizer step.

        Raises:
            DivergedError: if the loss is not finite; the parameters are those before the step.
        """
        began = time.perf_counter()
        self.model.train()
        for group in self._optimizer.param_groups:
            group["lr"] = self._learning_rate()
        value, policies, losses = self.loss(self.step, self.recipe.batch_size)
        if not math.isfinite(value.detach().item()):
            raise DivergedError(
                f"the loss is {value.item()} in step {self.step + 1} of {self.recipe.num_steps}: try a "
                f"smaller learning rate than {self.recipe.learning_rate:g}"
                + (", or h='square'" if self.recipe.h == "exponential" else "")
            )
        self._optimizer.zero_grad(set_to_none=True)
        value.backward()
        self._optimizer.step()
        self.step += 1
        self.seconds += time.perf_counter() - began
        return value.detach(), policies.detach(), losses

    def _learning_rate(self) -> float:
        recipe, done = self.recipe, self.step / self.recipe.num_steps
        rate = recipe.learning_rate
        if recipe.warm_up:
            rate *= min(1.0, (self.step + 1) / recipe.warm_up)
        if recipe.schedule == "cosine":
            return rate * 0.5 * (1 + math.cos(math.pi * done))
        return rate * (1 - done) if recipe.schedule == "linear" else rate

    def final_loss(self) -> float:
        """The objective on sequences that training has not seen."""
        self.model.train()
        steps = range(self.recipe.num_steps, self.recipe.num_steps + _EVALUATION_BATCHES)
        with torch.no_grad():
            values = [self.loss(step, self.recipe.batch_size)[0].item() for step in steps]
        return sum(values) / len(values)

    def held_out_regret(self) -> float:
        """The mean regret, of the objective's kind, on a batch that training has not seen."""
        self.model.train()
        recipe = self.recipe
        with torch.no_grad():
            step = recipe.num_steps + _EVALUATION_BATCHES
            policies, losses = play_batch(self.model, recipe, self.world, step, recipe.batch_size)
            return _REGRETS[recipe.objective](policies, losses).mean().item()

    def tensors(self) -> dict[str, Tensor]:
        """Parameters and the optimizer's moments, by name."""
        state: Mapping[Tensor, Any] = self._optimizer.state
        tensors = {}
        for name, parameter in self.model.named_parameters():
            tensors[f"model/{name}"] = parameter.detach()
            for key, value in state.get(parameter, {}).items():
                if isinstance(value, Tensor):  # SGD without momentum keeps a None
                    tensors[f"{key}/{name}"] = value
        return tensors

    def load(self, tensors: dict[str, Tensor], step: int, seconds: float) -> None:
        """Go back to a saved state."""
        self.step, self.seconds = step, seconds
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(tensors[f"model/{name}"])
                keys = [key for key in ("step", "exp_avg", "exp_avg_sq") if f"{key}/{name}" in tensors]
                if keys:
                    self._optimizer.state[parameter] = {
                        # Adam keeps its step count on the CPU whatever the parameters' device.
                        key: tensors[f"{key}/{name}"].to("cpu" if key == "step" else parameter.device)
                        for key in keys
                    }


def train(
    recipe: Recipe,
    out: Path,
    *,
    device: str = "cpu",
    resume: bool = False,
    keep: Collection[int] = (),
    tensorboard: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> checkpoint.Config:
    """Train a model and write its checkpoint, and what happened, `training.csv` (see `log.TrainingLog`).

    Logs the step, the loss and the time left once a minute at the level INFO.

    Interrupted (KeyboardInterrupt), the state is saved in `out` before the exception propagates.

    Args:
        recipe: what to train, and how.
        out: the checkpoint's folder; it is created.
        device: any torch device.
        resume: continue what was saved in `out`.
        keep: steps after which the model is kept too, each as a checkpoint `out/step-N`.
        tensorboard: whether to write scalars for TensorBoard too.
        progress: called several times a second.

    Returns:
        The checkpoint's config.

    Raises:
        ValueError: if the recipe does not go together, the device is not there, a loss is not finite, or a
            step to keep is none of 1 … num_steps.
        CheckpointError: if there is nothing to resume, or it was made by another recipe.
        DivergedError: if the objective is not finite.
        ImportError: if TensorBoard is asked for and not installed.
    """
    trainer = Trainer(recipe, device)
    for step in keep:
        if not 1 <= step <= recipe.num_steps:
            raise ValueError(f"steps to keep lie in 1 … {recipe.num_steps}, got {step}")
    if resume:
        checkpoint.resume_state(out, trainer)
    out.mkdir(parents=True, exist_ok=True)
    log = TrainingLog(out, recipe.num_steps, step=trainer.step, tensorboard=tensorboard)
    reported = 0.0
    last: Progress | None = None
    first, began = trainer.step, time.perf_counter()
    try:
        with _interrupts_between_steps() as check, every_minute(_logger, lambda: str(last or "")):
            while trainer.step < recipe.num_steps:
                value, policies, losses = trainer.train_step()
                if trainer.step in keep:
                    kept = out / f"step-{trainer.step}"
                    checkpoint.save(kept, trainer.model, recipe, trainer.final_loss(), step=trainer.step)
                now = time.perf_counter()
                if log.is_due(trainer.step):
                    step_size = getattr(trainer.model, "step_size", None)
                    k = None if step_size is None else step_size()
                    log.write(trainer.step, [value.item(), trainer.held_out_regret(), k, trainer.seconds])
                if now - reported > _REPORT_SECONDS or trainer.step == recipe.num_steps:
                    reported = now
                    pace = (now - began) / (trainer.step - first)
                    left = pace * (recipe.num_steps - trainer.step)
                    fitted = logit_step_size(policies, losses)
                    last = Progress(trainer.step, recipe.num_steps, value.item(), fitted, left)
                    if progress is not None:
                        progress(last)
                check()
            final_loss = trainer.final_loss()
            check()
    except KeyboardInterrupt:
        checkpoint.save_state(out, trainer)
        raise
    finally:
        log.close()
    return checkpoint.save(out, trainer.model, recipe, final_loss)


@contextmanager
def _interrupts_between_steps() -> Iterator[Callable[[], None]]:
    """Hold Ctrl-C back until the yielded function is called: half a step could not be resumed."""
    held: list[int] = []

    def check() -> None:
        if held:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield check  # only the main thread is interrupted, and only it may say how
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: held.append(number))
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)
