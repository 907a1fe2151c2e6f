"""How far something long is: a line a minute in the log."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LINE_SECONDS = 60.0


@contextmanager
def every_minute(logger: logging.Logger, line: Callable[[], str]) -> Iterator[None]:
    """Log a line every minute at the level INFO, from a thread, for as long as the context lasts.

    Args:
        logger: where.
        line: makes the line; "" is not logged.
    """
    end = threading.Event()

    def write() -> None:
        while not end.wait(LINE_SECONDS):
            if text := line():
                logger.info("%s", text)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def duration(seconds: float) -> str:
    """A time for people: "40 s", "3 min", "1 h 20 min"."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
