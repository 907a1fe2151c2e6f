"""Checkpoints: a folder of `model.safetensors` and `config.json`, and the agents that play them.

Nothing is ever unpickled. The config holds the whole training recipe.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from regret_envs.agents.attention.model import AttentionModel
from regret_envs.agents.attention.recipe import Recipe, make_model
from regret_envs.agents.base import Agent
from regret_envs.arrays import FloatArray
from regret_envs.files import replacing

if TYPE_CHECKING:
    from regret_envs.agents.attention.training import Trainer

FORMAT = 1
MODEL_FILE, CONFIG_FILE, STATE_FILE = "model.safetensors", "config.json", "training.safetensors"


class CheckpointError(ValueError):
    """A checkpoint is missing, damaged, of a newer version, or not made for what is asked of it."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a checkpoint is.

    Attributes:
        format: version of the checkpoint's form.
        recipe: everything that training depended on, the seed too.
        final_loss: the objective on sequences that training did not see.
        step_size: the deployed effective k of linear and swap attention, else None.
        package_version: of regret-envs, when it was made.
        step: after so many of the recipe's steps; None: after all.
    """

    format: int
    recipe: Recipe
    final_loss: float
    step_size: float | None
    package_version: str
    step: int | None = None


def find_device(name: str) -> torch.device:
    """The torch device of that name.

    Raises:
        ValueError: if it does not exist here; lists the devices that do.
    """
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        there = ["cpu"] + [f"cuda:{i}" for i in range(torch.cuda.device_count())]
        if torch.backends.mps.is_available():
            there.append("mps")
        reason = str(error).splitlines()[0]
        raise ValueError(f"device {name!r} is not there ({reason}); there is {', '.join(there)}") from None
    return device


def save(
    folder: Path, model: AttentionModel, recipe: Recipe, final_loss: float, step: int | None = None
) -> Config:
    """Write a checkpoint, each file whole or not at all, and remove the state that training left."""
    step_size = getattr(model, "step_size", None)
    config = Config(
        format=FORMAT,
        recipe=recipe,
        final_loss=final_loss,
        step_size=None if step_size is None else step_size(),
        package_version=version("regret-envs"),
        step=step,
    )
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: p.detach().cpu().contiguous() for name, p in model.named_parameters()}
    _write_tensors(folder / MODEL_FILE, tensors, {})
    text = msgspec.json.format(msgspec.json.encode(config), indent=2)
    with replacing(folder / CONFIG_FILE) as part:
        part.write_bytes(text + b"\n")
    (folder / STATE_FILE).unlink(missing_ok=True)
    return config


def _write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    with replacing(path) as part:
        save_file(tensors, part, metadata)


def read_config(folder: Path) -> Config:
    """The config of a checkpoint.

    Raises:
        CheckpointError: if it is missing, damaged, from a newer version or has unknown keys.
    """
    path = folder / CONFIG_FILE
    if not path.is_file():
        hint = ""
        if (folder / STATE_FILE).is_file():
            hint = ": its training was interrupted, continue it with --resume"
        elif any(folder.glob("*.pt")) or any(folder.glob("*.p[kt][lh]")):
            hint = ": there are pickles, which are never loaded (they can run any code)"
        raise CheckpointError(f"there is no checkpoint in {folder}, {CONFIG_FILE} is missing{hint}")
    data = path.read_bytes()
    try:
        form = msgspec.json.decode(data, type=dict[str, Any]).get("format")
        if isinstance(form, int) and form > FORMAT:
            raise CheckpointError(
                f"{path} is of format {form}, from a newer regret-envs than this ({version('regret-envs')}, "
                f"format {FORMAT}): update the package"
            )
        return msgspec.json.decode(data, type=Config)
    except msgspec.MsgspecError as error:
        raise CheckpointError(f"{path} is not a config that this version can read: {error}") from error


def _read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    if not path.is_file():
        raise CheckpointError(f"{path} is missing")
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except SafetensorError as error:
        raise CheckpointError(
            f"{path} is not a whole safetensors file ({error}); pickles are never loaded"
        ) from error


def load(folder: str | os.PathLike[str], *, device: str = "cpu") -> tuple[AttentionModel, Config]:
    """Read a checkpoint: the model in eval mode, in float64 where the device has it, and its config.

    Raises:
        CheckpointError: if a file is missing, damaged, from a newer version or does not fit the model.
        ValueError: if the device is not there.
    """
    folder = Path(folder)
    config = read_config(folder)
    where = find_device(device)
    tensors, _ = _read_tensors(folder / MODEL_FILE)
    try:
        model = make_model(config.recipe)
    except ValueError as error:
        raise CheckpointError(f"{folder / CONFIG_FILE}: {error}") from error
    parameters = dict(model.named_parameters())
    if parameters.keys() != tensors.keys() or any(parameters[n].shape != tensors[n].shape for n in tensors):
        differ = sorted(
            name
            for name in parameters.keys() | tensors.keys()
            if name not in parameters or name not in tensors or parameters[name].shape != tensors[name].shape
        )
        raise CheckpointError(f"{folder / MODEL_FILE} does not fit its config: {', '.join(differ)}")
    for name, tensor in tensors.items():
        if not torch.isfinite(tensor).all():
            raise CheckpointError(f"{folder / MODEL_FILE}: parameter {name} is not finite")
    model.load_state_dict(tensors)
    if where.type != "mps":  # which has no float64
        model = model.double()
    return model.to(where).eval(), config


def save_state(folder: Path, trainer: Trainer) -> None:
    """Write what `resume_state` needs."""
    metadata = {
        "recipe": msgspec.json.encode(trainer.recipe).decode(),
        "step": str(trainer.step),
        "seconds": repr(trainer.seconds),
    }
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: tensor.cpu().contiguous() for name, tensor in trainer.tensors().items()}
    _write_tensors(folder / STATE_FILE, tensors, metadata)


def saved_recipe(folder: Path) -> Recipe:
    """The recipe of the interrupted training in a folder.

    Raises:
        CheckpointError: if there is none, or it cannot be read.
    """
    if not (folder / STATE_FILE).is_file():
        raise CheckpointError(f"there is no interrupted training in {folder} to resume")
    _, metadata = _read_tensors(folder / STATE_FILE)
    try:
        return msgspec.json.decode(metadata["recipe"], type=Recipe)
    except (KeyError, msgspec.MsgspecError) as error:
        raise CheckpointError(f"{folder / STATE_FILE} holds no recipe that can be read: {error}") from error


def resume_state(folder: Path, trainer: Trainer) -> None:
    """Put a trainer where an interrupted one was.

    Raises:
        CheckpointError: if there is nothing to resume, or it was made by another recipe.
    """
    recipe = saved_recipe(folder)
    if recipe != trainer.recipe:
        raise CheckpointError(f"the training in {folder} was begun with another recipe: {recipe}")
    tensors, metadata = _read_tensors(folder / STATE_FILE)
    trainer.load(tensors, int(metadata["step"]), float(metadata["seconds"]))


@dataclass(eq=False)
class Checkpoint(Agent):
    """A trained model, played from its folder.

    Args:
        path: the folder.
        device: any torch device.

    Raises:
        CheckpointError: if the checkpoint cannot be read.
        ValueError: if the device is not there.
    """

    path: str
    device: str = "cpu"

    reference = "regret-trained attention"
    guarantee = "none beyond what was trained"

    def __post_init__(self) -> None:
        self._model, self._config = load(self._folder(), device=self.device)

    @property
    def model(self) -> AttentionModel:
        """The trained model."""
        return self._model

    def _folder(self) -> Path:
        return Path(self.path)

    def unsupported(self, num_actions: int, *, horizon: int | None) -> str | None:
        """Another number of actions cannot be played, nor what the model itself cannot."""
        trained = self._config.recipe.num_actions
        if num_actions != trained:
            return (
                f"checkpoint {self.path} was trained for {trained} actions "
                f"and was asked to play {num_actions}"
            )
        return self._model.unsupported(num_actions, horizon=horizon)

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Begin to play.

        Raises:
            CheckpointError: if the checkpoint cannot be read, or cannot play this.
        """
        reason = self.unsupported(num_actions, horizon=horizon)
        if reason is not None:
            raise CheckpointError(reason)
        self._model.reset(num_actions, horizon=horizon, num_runs=num_runs, rng=rng)

    def act(self) -> FloatArray:
        """The model's policies."""
        return self._model.act()

    def observe(self, losses: FloatArray) -> None:
        """Show the model the losses."""
        self._model.observe(losses)
