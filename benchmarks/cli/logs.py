"""What Python's `logging` says under `regret_envs`, on standard error."""

from __future__ import annotations

import logging
import sys

import click

LEVELS = ("debug", "info", "warning", "error")


class _Stderr(logging.Handler):
    """Writes to what standard error is now, which a progress bar may have taken."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(self.format(record), err=True)


def _set_level(context: click.Context, parameter: click.Parameter, level: str | None) -> None:
    if level is not None:
        show_logs(context, level)


def show_logs(context: click.Context, level: str | None = None) -> None:
    """Write log lines to standard error for as long as the command runs.

    Args:
        context: the command's context.
        level: the least level that is shown; None: "info", but "warning" on a terminal, where a bar shows
            the progress.
    """
    logger = logging.getLogger("regret_envs")
    level = level or ("warning" if sys.stderr.isatty() else "info")
    handler = next((h for h in logger.handlers if isinstance(h, _Stderr)), None)
    if handler is None:
        handler = _Stderr()
        before = logger.level
        logger.addHandler(handler)

        @context.find_root().call_on_close
        def _() -> None:
            logger.removeHandler(handler)
            logger.setLevel(before)

    shown = "%(asctime)s %(name)s: %(message)s" if level == "debug" else "%(message)s"
    handler.setFormatter(logging.Formatter(shown, "%H:%M:%S"))
    logger.setLevel(level.upper())


log_level_option = click.option(
    "--log-level",
    type=click.Choice(LEVELS),
    callback=_set_level,
    expose_value=False,
    help="What is logged to standard error.  [default: info, a line a minute; on a terminal warning]",
)
