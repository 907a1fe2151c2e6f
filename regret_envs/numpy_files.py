"""Arrays from NumPy's files, which never run code and never ask for more memory than the file has data."""

from __future__ import annotations

import io
import math
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt


def read_npy(path: Path) -> npt.NDArray[Any]:
    """The array of an `.npy` file.

    Raises:
        ValueError: if it cannot be read, contains Python objects or announces more data than there is.
    """
    try:
        with path.open("rb") as file:
            return _read(file, os.fstat(file.fileno()).st_size)
    except (ValueError, EOFError, OSError, MemoryError) as error:
        raise ValueError(f"{path} cannot be read as .npy: {error}") from error


class NpzArrays(Mapping[str, npt.NDArray[Any]]):
    """The arrays of an `.npz` file by name; each is read when it is asked for.

    Raises:
        ValueError: as `read_npy`, when the file is opened or an array is asked for.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with zipfile.ZipFile(path) as archive:
                self._sizes = {info.filename: info.file_size for info in archive.infolist()}
        except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} cannot be read as .npz: {error}") from error
        self._files = {name.removesuffix(".npy"): name for name in self._sizes}

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        file_name = self._files[name]
        try:
            with zipfile.ZipFile(self._path) as archive, archive.open(file_name) as file:
                return _read(file, self._sizes[file_name])
        except (
            ValueError,
            EOFError,
            OSError,
            MemoryError,
            RuntimeError,
            zipfile.BadZipFile,
            zlib.error,
        ) as error:
            raise ValueError(f"{self._path} cannot be read as .npz: {error}") from error

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def _read(file: IO[bytes], size: int) -> npt.NDArray[Any]:
    """The array at the beginning of a file of `size` bytes."""
    start = file.read(min(size, _LONGEST_HEADER))
    header = io.BytesIO(start)
    version = np.lib.format.read_magic(header)
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in read_header:
        raise ValueError(f"version {version} of the format is not known")
    try:
        shape, _, dtype = read_header[version](header)
    except Exception as error:  # NumPy reads it as Python's literals, with the errors of a parser
        raise ValueError(f"its header is damaged: {error}") from error
    needed = math.prod(shape) * dtype.itemsize
    if not dtype.hasobject and needed > size - header.tell():
        raise ValueError(
            f"its header announces {needed} bytes ({' × '.join(map(str, shape))} of {dtype}), and the file "
            f"has {size - header.tell()}"
        )
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


_LONGEST_HEADER = 1 << 16
