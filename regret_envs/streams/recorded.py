"""Losses that were recorded: arrays, files, and the daily price relatives of stock markets."""

from __future__ import annotations

import hashlib
import logging
import multiprocessing
import os
from collections.abc import Sequence
from decimal import Decimal
from functools import cache, cached_property
from importlib import resources
from numbers import Real
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from regret_envs.arrays import FloatArray, IntArray
from regret_envs.names import UnknownNameError, lookup, near_matches
from regret_envs.numpy_files import NpzArrays, read_npy
from regret_envs.seeding import RunSeeds
from regret_envs.streams.tables import TableSettings, read_table
from regret_envs.validation import at_least, resolved
from regret_envs.worlds import Bounds, Stream, StreamEpisode


class Recorded(Stream):
    """A recorded sequence of losses, held in memory and read once.

    Args:
        source: an array of shape (rounds, num_actions), or the path of a file that contains one: `.npy`,
            `.npz`, `.csv` or `.parquet` (a column per action; needs the extra `parquet`).
        loss_scale: the scale of the recorded losses, their range or standard deviation. They are
            **divided** by it, so the stream's own `loss_scale` is 1.
        window: None: every run plays the sequence from its first round. n: run r plays the r-th full
            window of n rounds; an incomplete last window is not played.
        block_length: None: the rounds come as they were recorded. n: every run plays the blocks of n rounds
            (the last one may be shorter) in an order of its own, drawn at random: what lies within n
            rounds of each other stays, what is further apart is lost.
        key: which array of an `.npz` file that contains several.
        name: shown by `repr` and in errors; the file's name by default.
        columns: of a table, the columns of losses in this order, by name or by number from 0; None: all.
        skip: of a table, the columns to leave out, as `["date"]`. None: none, and a column that looks
            like row labels is an error; `[]`: every column is losses.
        header: whether the first row of a `.csv` names the columns. None: it does if it contains a word, and
            numbers that may be names are an error.
        separator: what lies between the cells of a `.csv`.
        decimal: the decimal mark in text, "." or ",".
        sign: "losses", or "rewards", which are negated.
        transform: "log_returns": the rows are prices p, and the loss of a round is −log(p_t / p_{t−1}), one
            round fewer than rows. "log_relatives": they are price relatives x, and the loss is −log x_t.
            None: the rows are the losses.

    Attributes:
        notes: a line per rule that was applied to something unusual in a table; also logged as a warning
            under `regret_envs`, once per process.
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
        columns: Sequence[str | int] | None = None,
        skip: Sequence[str | int] | None = None,
        header: bool | None = None,
        separator: str = ",",
        decimal: str = ".",
        sign: Literal["losses", "rewards"] = "losses",
        transform: Literal["log_returns", "log_relatives"] | None = None,
    ) -> None:
        lookup("sign", sign, dict.fromkeys(("losses", "rewards")))
        if transform is not None:
            lookup("transform", transform, _TRANSFORMS)
            if sign != "losses":
                raise ValueError(
                    f'transform = "{transform}" takes prices, of which more is better: leave out sign'
                )
        table = TableSettings(columns=columns, skip=skip, header=header, separator=separator, decimal=decimal)
        if not (np.isfinite(loss_scale) and loss_scale > 0):
            raise ValueError(f"loss_scale must be finite and positive, got {loss_scale!r}")
        if isinstance(source, (str, os.PathLike)):
            path = Path(source)
            self.name = name or path.name
            stored, self.notes = _read(path, key, table)
            _say(self.notes)
        elif key is not None:
            raise ValueError(f"key={key!r} names an array of an .npz file, but the source is an array")
        else:
            self.name = name or "recorded losses"
            _refuse_table_settings(table, self.name)
            stored, self.notes = _table(source, self.name), ()
        if transform is not None:
            losses = -_TRANSFORMS[transform](stored, self.name)
        else:
            losses = -stored if sign == "rewards" else stored
        self.losses = losses / loss_scale
        resolved(self.name, self.losses)
        # Logarithms differ in their last bit between CPUs, so what is hashed are the prices themselves.
        self._hashed = ("", self.losses) if transform is None else (f"{transform} / {loss_scale!r}", stored)
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

    def loss_bounds(self, player: int) -> Bounds:
        """The least and the greatest recorded loss."""
        return self._bounds

    @cached_property
    def _bounds(self) -> Bounds:
        return float(self.losses.min()), float(self.losses.max())

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the data, in hexadecimal: the same losses, the same hash, on every machine.

        Of the shape and the bytes of `losses`; with `transform` of the prices and the settings.
        """
        settings, stored = self._hashed
        digest = hashlib.sha256(f"{settings}{stored.shape!r}".encode())
        digest.update(stored.astype("<f8").tobytes())
        return digest.hexdigest()

    def start(self, *, num_agents: int, horizon: int, seeds: RunSeeds) -> StreamEpisode:
        """Begin an episode.

        Raises:
            ValueError: if there are fewer rounds than the horizon, or fewer windows than runs.
        """
        available = self.window or len(self.losses)
        if horizon > available:
            held = "rounds" if self.window is None else "rounds per window"
            raise ValueError(
                f"horizon {horizon} is longer than the recorded stream: {self.name} has {available} {held}; "
                f"give horizon = {available} or less"
            )
        if self.window is not None and seeds.runs.stop > self.num_windows:
            raise ValueError(
                f"{self.name} has {self.num_windows} full windows of {self.window} rounds, one per run: "
                f"run {seeds.runs.stop - 1} (counted from 0) is not there; give num_runs = {self.num_windows}"
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
    "msci": "24 country indices of MSCI World, 1,043 days of 2006–2010",
    "sp500": "the 25 largest stocks of the S&P 500, 1,276 days of 1998–2003",
}


def prices(
    market: str, *, loss_scale: float = 1.0, window: int | None = None, block_length: int | None = None
) -> Recorded:
    """Daily losses −log x_t(i) of holding stock i, where x_t(i) is the day's price relative.

    The standard data sets of online portfolio selection since Cover, "Universal Portfolios", 1991;
    `regret_envs/data/README.md` states where they are from. A loss is a few per cent: divide by
    `loss_scale` to bring it to the size that default step sizes are made for.

    Args:
        market: "nyse_o", "djia", "msci" or "sp500", see `MARKETS`.
        loss_scale: divides the losses.
        window: as in `Recorded`; NYSE(O) has 22 full windows of 250 rounds.
        block_length: as in `Recorded`.

    Raises:
        UnknownNameError: if there is no such market; lists the near matches.
        ValueError: as in `Recorded`.
    """
    lookup("market", market, MARKETS)
    file = resources.files("regret_envs").joinpath("data", "price_relatives.npz")
    with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
        relatives = arrays[market]
    return Recorded(
        relatives,
        loss_scale=loss_scale,
        window=window,
        block_length=block_length,
        name=market,
        transform="log_relatives",
    )


def _read(path: Path, key: str | None, table: TableSettings) -> tuple[FloatArray, tuple[str, ...]]:
    """What a file contains, and the notes about how it was read."""
    suffix = path.suffix.lower()
    if suffix not in _FORMATS:
        raise ValueError(
            f"{path}: unknown format {suffix!r} of recorded losses, {near_matches(suffix, _FORMATS)}"
        )
    if key is not None and suffix != ".npz":
        raise ValueError(f"key={key!r} names an array of an .npz file, but {path.name} is {suffix}")
    if suffix in (".npy", ".npz"):
        _refuse_table_settings(table, path.name)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file of recorded losses at {path}")
    if suffix in (".csv", ".parquet"):
        read = read_table(path, table)
        return _table(read.values, path.name), read.notes
    if suffix == ".npy":
        return _table(read_npy(path), path.name), ()
    arrays = NpzArrays(path)
    if key is None and len(arrays) != 1:
        raise ValueError(f"{path} holds {len(arrays)} arrays, choose one by key=: {list(arrays)}")
    key = next(iter(arrays)) if key is None else key
    if key not in arrays:
        raise UnknownNameError(f"unknown array of {path.name} {key!r}: {near_matches(key, arrays)}")
    return _table(arrays[key], f"{path.name}[{key!r}]"), ()


def _refuse_table_settings(table: TableSettings, source: str) -> None:
    if table != TableSettings():
        raise ValueError(
            f"{source} has no cells: columns, skip, header, separator and decimal are for .csv and .parquet"
        )


_FORMATS = (".npy", ".npz", ".csv", ".parquet")


@cache
def _say(notes: tuple[str, ...]) -> None:
    """Log the notes, once per process; a pool's workers keep silent about what the main process said."""
    if multiprocessing.parent_process() is None:
        for note in notes:
            logging.getLogger(__name__).warning(note)


def _log_relatives(relatives: FloatArray, name: str) -> FloatArray:
    """log x_t of a table of price relatives."""
    if not (relatives > 0).all():
        row, column = (int(i) for i in np.argwhere(relatives <= 0)[0])
        raise ValueError(
            f"{name}: row {row}, column {column}, counted from 0, is {relatives[row, column]:g}: a transform "
            "is for prices, which are above 0"
        )
    return np.log(relatives)


def _log_returns(prices: FloatArray, name: str) -> FloatArray:
    """log(p_t / p_{t−1}) of a table of prices, one row fewer."""
    if len(prices) < 2:
        raise ValueError(f'{name}: transform = "log_returns" needs two rows of prices, got {len(prices)}')
    _log_relatives(prices, name)
    return np.log(prices[1:] / prices[:-1])


_TRANSFORMS = {"log_returns": _log_returns, "log_relatives": _log_relatives}


def _dates_as_text(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Dates and durations as text cells; NumPy makes numbers of some of them."""
    return array.astype(str).astype(object) if array.dtype.kind in "mM" else array


def _table(source: npt.ArrayLike, name: str) -> FloatArray:
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
        return f"{name}: row {row}, column {column}, counted from 0"

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
