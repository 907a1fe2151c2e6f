"""Copies of this process that the code of others leaves behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def forks_end() -> Iterator[None]:
    """End copies of this process that code within makes by `os.fork`, where they would leave the block."""
    pid = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != pid:
            os._exit(0)
