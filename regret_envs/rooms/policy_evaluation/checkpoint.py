"""Checkpoints of trained softmax Transformers: a folder of `model.safetensors` and `config.json`.

Nothing is ever unpickled. The config holds the whole training.
"""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import msgspec
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save_file

from regret_envs.agents.attention.checkpoint import CONFIG_FILE, MODEL_FILE, CheckpointError
from regret_envs.files import replacing
from regret_envs.rooms.policy_evaluation.softmax_td import SoftmaxTransformer
from regret_envs.rooms.policy_evaluation.training import SoftmaxTDTraining


class SoftmaxTDConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a checkpoint is.

    Attributes:
        model: tells it apart from other checkpoints.
        format: version of the checkpoint's form.
        training: everything that training depended on, the seed too.
        package_version: of regret-envs, when it was made.
    """

    model: Literal["softmax-td"] = "softmax-td"
    format: Literal[1] = 1
    training: SoftmaxTDTraining
    package_version: str


def save(folder: Path, transformer: SoftmaxTransformer, training: SoftmaxTDTraining) -> None:
    """Write a checkpoint, each file whole or not at all; the folder is created."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {"attention": transformer.attention, "value_weights": transformer.value_weights}
    config = SoftmaxTDConfig(training=training, package_version=version("regret-envs"))
    with replacing(folder / MODEL_FILE) as part:
        save_file(tensors, part)
    with replacing(folder / CONFIG_FILE) as part:
        part.write_bytes(msgspec.json.format(msgspec.json.encode(config), indent=2) + b"\n")


def load(folder: str | os.PathLike[str]) -> tuple[SoftmaxTransformer, SoftmaxTDConfig]:
    """Read a checkpoint; `InContextTransformer` makes an agent of the Transformer.

    Raises:
        CheckpointError: if a file is missing, damaged, from a newer version, of another model or does not
            fit the config.
    """
    folder = Path(folder)
    try:
        config = msgspec.json.decode((folder / CONFIG_FILE).read_bytes(), type=SoftmaxTDConfig)
        tensors = load_tensors((folder / MODEL_FILE).read_bytes())
        transformer = SoftmaxTransformer(
            tensors["attention"], tensors["value_weights"], config.training.num_layers
        )
    except FileNotFoundError as error:
        raise CheckpointError(f"there is no checkpoint in {folder}: {error.filename} is missing") from None
    except (msgspec.MsgspecError, SafetensorError, KeyError, ValueError) as error:
        raise CheckpointError(
            f"{folder} holds no softmax-td checkpoint that this version can read: {error}"
        ) from error
    if transformer.num_features != config.training.features_read:
        raise CheckpointError(
            f"{folder / MODEL_FILE} reads {transformer.num_features} features, its config says "
            f"{config.training.features_read}"
        )
    return transformer, config
