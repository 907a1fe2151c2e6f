"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PART = ".part"


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file under another name, which replaces `path` once it is whole.

    A reader finds the old file or the new one, never half of one. On an error, `path` is left as it was.

    Args:
        path: the file; its folder must exist.

    Yields:
        The path to write to, in the same folder.
    """
    path = Path(path)
    # With the process's number, so that two processes do not write to the same file.
    part = path.with_name(f"{path.name}.{os.getpid()}{PART}")
    try:
        yield part
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
