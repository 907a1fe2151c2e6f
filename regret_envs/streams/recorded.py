"""Losses that were recorded: arrays, files, and the daily price relatives of stock markets."""

from __future__ import annotations

import csv
import hashlib
import math
import os
import zipfile
import zlib
from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property
from importlib import resources
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from regret_envs.arrays import FloatArray, IntArray
from regret_envs.names import lookup, near_matches
from regret_envs.seeding import RunSeeds
from regret_envs.validation import at_least
from regret_envs.worlds import Stream, StreamEpisode


class Recorded(Stream):
    """A recorded sequence of losses, held in memory and read once.

    Args:
        source: an array of shape (rounds, num_actions), or the path of a file that holds one: `.npy`,
            `.npz`, `.csv` (commas; a first row without any number names the columns) or `.parquet`
            (a column an action; needs the extra `parquet`).
        loss_scale: the scale of the recorded losses, their range or standard deviation. They are
            **divided** by it, so the stream's own `loss_scale` is 1.
        window: None: every run plays the sequence from its first round. n: run r plays the r-th full
            window of n rounds; what is left at the end is not played.
        block_length: None: the rounds come as they were recorded. n: every run plays the blocks of n rounds
            (the last one may be shorter) in an order of its own, drawn at random: what lies within n
            rounds of each other stays, what is further apart is lost.
        key: which array of an `.npz` file that holds several.
        name: shown by `repr` and in errors; the file's name by default.

    Attributes:
        losses: shape (rounds, num_actions), divided by the scale, float64, read-only.
        num_windows: how many different runs there are: full windows, or 1 without `window`.

    Raises:
        ValueError: if the file's format is unknown or its content unreadable, the losses are not a
            table of at least one row, or a cell is missing, text or not finite (the message names row
            and column); if `loss_scale` is not positive, or `window` or `block_length` below 1 or
            longer than the sequence, or both are given.
        UnknownNameError: if there is no array `key`; lists the near matches.
        FileNotFoundError: if there is no such file.
        ImportError: if the format needs an extra that is not installed; names it.
    """

    def __init__(
        self,
        source: npt.ArrayLike | os.PathLike[str],
        *,
        loss_scale: float = 1.0,
        window: int | None = None,
        block_length: int | None = None,
        key: str | None = None,
        name: str | None = None,
    ) -> None:
        if not (np.isfinite(loss_scale) and loss_scale > 0):
            raise ValueError(f"loss_scale must be finite and positive, got {loss_scale!r}")
        if isinstance(source, (str, os.PathLike)):
            path = Path(source)
            self.name = name or path.name
            losses = _read(path, key)
        elif key is not None:
            raise ValueError(f"key={key!r} names an array of an .npz file, but the source is an array")
        else:
            self.name = name or "recorded losses"
            losses = _table(source, self.name)
        self.losses = losses / loss_scale
        self.losses.flags.writeable = False
        num_rounds, self.num_actions = losses.shape
        if window is not None and at_least("window", window, 1) > num_rounds:
            raise ValueError(f"{self.name} holds {num_rounds} rounds, less than one window of {window}")
        if block_length is not None and at_least("block_length", block_length, 1) > num_rounds:
            raise ValueError(f"{self.name} holds {num_rounds} rounds, less than one block of {block_length}")
        if window is not None and block_length is not None:
            raise ValueError("window and block_length exclude each other: give one of them")
        self.window = window
        self.block_length = block_length
        self.num_windows = 1 if window is None else num_rounds // window
        self._divisor = loss_scale

    @property
    def loss_scale(self) -> float:
        """1: the losses are in units of the scale they were divided by."""
        return 1.0

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the shape and the bytes of `losses`, in hexadecimal: the same losses, the same hash."""
        digest = hashlib.sha256(repr(self.losses.shape).encode())
        digest.update(self.losses.astype("<f8").tobytes())
        return digest.hexdigest()

    def start(self, *, num_agents: int, horizon: int, seeds: RunSeeds) -> StreamEpisode:
        """Begin an episode.

        Raises:
            ValueError: if there are fewer rounds than the horizon, or fewer windows than runs.
        """
        available = self.window or len(self.losses)
        if horizon > available:
            held = "rounds" if self.window is None else "rounds a window"
            raise ValueError(
                f"horizon {horizon} is longer than the recorded stream: {self.name} has {available} {held}"
            )
        if self.window is not None and seeds.runs.stop > self.num_windows:
            raise ValueError(
                f"{self.name} has {self.num_windows} full windows of {self.window} rounds, one a run: "
                f"run {seeds.runs.stop - 1} (counted from 0) is not there"
            )
        return super().start(num_agents=num_agents, horizon=horizon, seeds=seeds)

    def start_run(self, rng: np.random.Generator, *, run: int, horizon: int) -> int | IntArray:
        """The row where the run begins, or the rows that it plays."""
        if self.block_length is None:
            return 0 if self.window is None else run * self.window
        rows = np.arange(len(self.losses))
        blocks = np.split(rows, rows[self.block_length :: self.block_length])
        return np.concatenate([blocks[k] for k in rng.permutation(len(blocks))])

    def draw(self, rng: np.random.Generator, state: int | IntArray, t: int, num_rounds: int) -> FloatArray:
        """The next rows."""
        if isinstance(state, np.ndarray):
            return self.losses[state[t : t + num_rounds]]
        return self.losses[state + t : state + t + num_rounds]

    def __repr__(self) -> str:
        shape = f"{len(self.losses)} rounds × {self.num_actions} actions"
        window = "" if self.window is None else f", window={self.window}"
        block = "" if self.block_length is None else f", block_length={self.block_length}"
        return f"<{self.name}, {shape}, loss_scale={self._divisor:g}{window}{block}>"


MARKETS: dict[str, str] = {
    "nyse_o": "36 stocks of the New York Stock Exchange, 5,651 days of 1962–1984",
    "djia": "30 stocks of the Dow Jones Industrial Average, 507 days of 2001–2003",
}


def prices(
    market: str, *, loss_scale: float = 1.0, window: int | None = None, block_length: int | None = None
) -> Recorded:
    """Daily losses −log x_t(i) of holding stock i, where x_t(i) is the day's price relative.

    The sets that online portfolio selection is tested on since Cover, "Universal Portfolios", 1991;
    `regret_envs/data/README.md` states where they are from. A loss is a few per cent: divide by
    `loss_scale` to bring it to the size that default step sizes are made for.

    Args:
        market: "nyse_o" or "djia", see `MARKETS`.
        loss_scale: divides the losses.
        window: as in `Recorded`; NYSE(O) has 22 full windows of 250 rounds.
        block_length: as in `Recorded`.

    Raises:
        UnknownNameError: if there is no such market; lists the near matches.
        ValueError: as in `Recorded`.
    """
    lookup("market", market, MARKETS)
    file = resources.files("regret_envs").joinpath("data", "price_relatives.npz")
    with file.open("rb") as opened, np.load(opened) as arrays:
        relatives = arrays[market].astype(np.float64)
    return Recorded(
        -np.log(relatives), loss_scale=loss_scale, window=window, block_length=block_length, name=market
    )


def _read(path: Path, key: str | None) -> FloatArray:
    suffix = path.suffix.lower()
    if suffix not in _FORMATS:
        raise ValueError(
            f"{path}: unknown format {suffix!r} of recorded losses, {near_matches(suffix, _FORMATS)}"
        )
    if key is not None and suffix != ".npz":
        raise ValueError(f"key={key!r} names an array of an .npz file, but {path.name} is {suffix}")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file of recorded losses at {path}")
    if suffix == ".csv":
        return _read_csv(path)
    if suffix == ".parquet":
        return _read_parquet(path)
    try:
        arrays = _read_numpy(path, key)
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path} cannot be read as {suffix}: {error}") from error
    if suffix == ".npy":
        return _table(arrays[""], path.name)
    if key is None and len(arrays) != 1:
        raise ValueError(f"{path} holds {len(arrays)} arrays, choose one by key=: {list(arrays)}")
    key = next(iter(arrays)) if key is None else key
    return _table(lookup(f"array of {path.name}", key, arrays), f"{path.name}[{key!r}]")


_FORMATS = (".npy", ".npz", ".csv", ".parquet")


def _read_numpy(path: Path, key: str | None) -> dict[str, Any]:
    """The array of an .npy file under the empty name, or of an .npz file the one asked for beside names."""
    with path.open("rb") as file:
        if path.suffix.lower() == ".npy":
            return {"": np.lib.format.read_array(file, allow_pickle=False)}
        with np.lib.npyio.NpzFile(file, allow_pickle=False) as arrays:
            # What lies beside it need not be numbers.
            wanted = arrays.files[0] if key is None and len(arrays.files) == 1 else key
            return {name: arrays[name] if name == wanted else None for name in arrays.files}


_MISSING = {"", "na", "n/a", "nan", "null", "none"}


def _read_csv(path: Path) -> FloatArray:
    """Rows are named as a person counts them in the file: from 1, a header and blank lines included."""
    rows: list[list[float]] = []
    names: list[str] | None = None
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, strict=True)
        try:
            for cells in filter(None, reader):
                if names is None:
                    names = cells if not any(_is_missing_or_number(cell) for cell in cells) else []
                    width = len(cells)
                    if width == 1 and any(other in cells[0] for other in ";\t"):
                        where = f"{path.name}: row {reader.line_num}"
                        raise ValueError(f"{where}: cells must lie between commas, got {cells[0]!r}")
                    if names:
                        continue
                if len(cells) != width:
                    raise ValueError(
                        f"{path.name}: row {reader.line_num} has {len(cells)} cells, the first has {width}"
                    )
                rows.append([])
                for column, cell in enumerate(cells, start=1):
                    named = f" ({names[column - 1]!r})" if names else ""
                    where = f"{path.name}: row {reader.line_num}, column {column}{named}"
                    if cell.strip().lower() in _MISSING:
                        raise ValueError(f"{where}: the value is missing ({cell!r})")
                    try:
                        value = float(cell)
                    except ValueError:
                        raise ValueError(f"{where}: {cell!r} is not a number") from None
                    if not math.isfinite(value):
                        raise ValueError(f"{where}: {value} is not finite")
                    rows[-1].append(value)
        except (UnicodeDecodeError, csv.Error) as error:
            raise ValueError(f"{path} cannot be read as .csv: {error}") from error
    return _table(rows, path.name)


def _is_missing_or_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.strip().lower() in _MISSING
    return True


def _read_parquet(path: Path) -> FloatArray:
    try:
        import pyarrow as pa  # type: ignore[import-untyped, import-not-found, unused-ignore]
        import pyarrow.parquet as pq  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise ImportError(
            f'{path.name}: reading Parquet needs the extra "parquet": pip install "regret-envs[parquet]"'
        ) from error
    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path} cannot be read as .parquet: {error}") from error
    columns = [_dates_as_text(column.to_numpy()) for column in table.columns]
    return _table(np.stack(columns, axis=1) if columns else [], path.name, table.column_names)


def _dates_as_text(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Dates and durations as text cells; NumPy makes numbers of some of them."""
    return array.astype(str).astype(object) if array.dtype.kind in "mM" else array


def _table(source: npt.ArrayLike, name: str, columns: Sequence[str] | None = None) -> FloatArray:
    """A copy of `source` as float64 (rounds, num_actions), or what is wrong with it and where."""
    if np.ma.is_masked(source):
        source = np.ma.filled(np.ma.asarray(source).astype(np.float64), np.nan)
    try:
        array = _dates_as_text(np.asarray(source))
    except ValueError as error:
        raise ValueError(f"{name} is not a table of (rounds, num_actions): {error}") from error
    if len(array.shape) > 0 and len(array) == 0:
        raise ValueError(f"{name} has no rows")
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"{name} must have shape (rounds, num_actions), got {array.shape}")

    def where(row: int, column: int) -> str:
        named = f" ({columns[column]!r})" if columns else ""
        return f"{name}: row {row}, column {column}{named}, counted from 0"

    if array.dtype.kind not in "fiub":
        # As objects, the cells of a list are still what they were before NumPy made them all text.
        cells = np.asarray(source, dtype=object) if array.dtype.kind == "U" else array
        for (row, column), cell in np.ndenumerate(cells):
            if not isinstance(cell, (Real, Decimal)):
                raise ValueError(f"{where(row, column)}: {cell!r} is not a number")
    losses = array.astype(np.float64)
    finite = np.isfinite(losses)
    if not finite.all():
        row, column = (int(i) for i in np.argwhere(~finite)[0])
        value = losses[row, column]
        what = "the value is missing (nan)" if np.isnan(value) else f"{value} is not finite"
        raise ValueError(f"{where(row, column)}: {what}")
    return losses
