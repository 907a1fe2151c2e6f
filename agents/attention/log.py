"""What happened in a training: a CSV file in the folder of the checkpoint, and scalars for TensorBoard."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regret_envs.files import replacing

LOG_FILE = "training.csv"
COLUMNS = ("step", "loss", "held_out_regret", "step_size", "seconds")
_LINES = 100


class TrainingLog:
    """The log of a training, about 100 lines of it.

    Columns: step, optimizer steps done; loss, the objective on the step's batch; held_out_regret, the mean
    regret (external or swap, as the objective) on sequences that training does not see; step_size, the
    deployed effective k of linear and swap attention, empty for other models; seconds, of training so far.

    Args:
        folder: the checkpoint's folder, which exists.
        num_steps: of the whole training.
        step: steps done; lines of later ones, which a resumed training takes again, are dropped.
        tensorboard: also write scalars for TensorBoard, to `folder/tensorboard`.

    Raises:
        ImportError: if TensorBoard is asked for and not installed; names the extra.
    """

    def __init__(self, folder: Path, num_steps: int, *, step: int = 0, tensorboard: bool = False) -> None:
        self._path = folder / LOG_FILE
        self._every = max(1, num_steps // _LINES)
        self._num_steps = num_steps
        self._writer = summary_writer(folder / "tensorboard", step) if tensorboard else None
        kept = read_log(folder) if step and self._path.is_file() else []
        with replacing(self._path) as part, part.open("w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(COLUMNS)
            lines.writerows(map(_cells, (line for line in kept if line[0] <= step)))

    def is_due(self, step: int) -> bool:
        """Whether a step has a line: every hundredth of the training, and the last one."""
        return step % self._every == 0 or step == self._num_steps

    def write(self, step: int, values: Sequence[float | None]) -> None:
        """Append a line.

        Args:
            step: steps done.
            values: what follows in `COLUMNS`; None: empty.
        """
        with self._path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow(_cells([step, *values]))
        if self._writer is not None:
            for name, value in zip(COLUMNS[1:], values, strict=True):
                if value is not None:
                    self._writer.add_scalar(name, value, step)
            self._writer.flush()

    def close(self) -> None:
        """Close TensorBoard's file."""
        if self._writer is not None:
            self._writer.close()


def read_log(folder: Path) -> list[list[float]]:
    """The lines of a training's log, NaN where a cell is empty.

    Raises:
        OSError: if there is none.
        ValueError: if it is not such a file.
    """
    with (folder / LOG_FILE).open(newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file)
        if tuple(header) != COLUMNS:
            raise ValueError(f"{folder / LOG_FILE} is not the log of a training")
        return [[float(cell) if cell else math.nan for cell in line] for line in lines]


def _cells(line: Sequence[float | None]) -> list[str]:
    step, *values = line
    return [
        f"{step:.0f}",
        *("" if value is None or math.isnan(value) else f"{value:.6g}" for value in values),
    ]


def summary_writer(folder: Path, step: int) -> Any:
    """TensorBoard's writer of scalars to a folder; what it holds of steps after `step` no longer counts.

    Raises:
        ImportError: if TensorBoard is not installed; names the extra.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ImportError('TensorBoard is not installed: pip install "regret-envs[tensorboard]"') from error
    return SummaryWriter(str(folder), purge_step=step + 1)
