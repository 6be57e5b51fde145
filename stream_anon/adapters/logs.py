"""Structured log lines: one a window, with names and places only.

The text of a library's message may hold a person's value, so it is never written: only level, logger and the number
of messages are, in a few lines a minute. For loggers that speak only of connections, the template of the message is
written too, without its arguments; a test makes sure that these templates are constants. A foreign exception is
written as its type and the line of this package that it passed.
"""

from __future__ import annotations

import datetime as dt
import io
import logging
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO, cast

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor

from stream_anon.errors import StreamAnonError
from stream_anon.ports import Clock
from stream_anon.ports.log_lines import LogLine

Log = FilteringBoundLogger

LIBRARY_INTERVAL = 10.0  # seconds in which one logger's messages of one level become one line
LIBRARY_LINES = 5  # lines a second at most, for all loggers together
MOST_LIBRARY_LOGGERS = 64  # beyond these, messages are counted under one name
# They speak of connections, nodes and the group, never of records.
CONNECTION_LOGGERS = frozenset(
    {"aiokafka.client", "aiokafka.cluster", "aiokafka.conn", "aiokafka.consumer.group_coordinator"}
)
_PACKAGE = str(Path(__file__).resolve().parent.parent)


def open_log(
    wall: Callable[[], float], style: str = "auto", level: str = "info", stream: TextIO | None = None
) -> Log:
    """Return the log that writes to `stream`, standard error unless given.

    Parameters
    ----------
    wall
        Returns seconds since 1970, as `Clock.wall`.
    style
        `json`, `console`, or `auto`: console on a terminal, JSON elsewhere.
    level
        Name of the lowest level that is written.
    """
    stream = sys.stderr if stream is None else stream
    console = style == "console" or (style == "auto" and stream.isatty())
    render: Processor = (
        structlog.dev.ConsoleRenderer(colors=stream.isatty(), pad_event_to=0, sort_keys=False)
        if console
        else structlog.processors.JSONRenderer()
    )
    return cast(
        "Log",
        structlog.wrap_logger(
            _Lines(stream),
            processors=[structlog.processors.add_log_level, _without_foreign_text, _dated(wall), render],
            wrapper_class=structlog.make_filtering_bound_logger(level),
            cache_logger_on_first_use=False,
        ),
    )


class _Lines(structlog.WriteLogger):
    """Writes lines and drops those that cannot be written, since a full disk must not stop the service."""

    def msg(self, message: str) -> None:
        with suppress(OSError, ValueError):  # the disk is full, the reader has gone, the stream is closed
            super().msg(message)

    debug = info = warning = error = critical = exception = msg


def _dated(wall: Callable[[], float]) -> Processor:
    def add(_logger: Any, _method: str, event: EventDict) -> EventDict:
        moment = dt.datetime.fromtimestamp(wall(), dt.UTC)
        return {"timestamp": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"), **event}

    return add


def _without_foreign_text(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Reduce exceptions to what may be written, and drop tracebacks, whose lines may quote values."""
    given = event.pop("exc_info", None)
    event.pop("stack_info", None)
    if given is True:
        given = sys.exc_info()[1]
    elif isinstance(given, tuple):
        given = given[1]
    if isinstance(given, BaseException):
        event.setdefault("error", given)
    for name, value in event.items():
        if isinstance(value, BaseException):
            event[name] = describe(value)
    return event


def describe(error: BaseException) -> str:
    """Return what may be written about an exception: our own message, or else its type and our line."""
    if isinstance(error, StreamAnonError):
        return f"{type(error).__name__}: {error}"
    place = _place(error.__traceback__)
    return f"{type(error).__name__} in {place}" if place else type(error).__name__


def _place(trace: TracebackType | None) -> str:
    """Return the innermost line of this package that a traceback passes through; empty for none."""
    place = ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(_PACKAGE):
            place = f"stream_anon{file.removeprefix(_PACKAGE)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


class LibraryEcho(logging.Handler):
    """Writes how often libraries logged, never what.

    The first message of a logger and level is written at once, and later ones together, once an interval. All
    loggers together get no more than `LIBRARY_LINES` lines a second; the rest is counted.

    Parameters
    ----------
    log
        Where the lines go.
    monotonic
        Returns seconds, as `Clock.monotonic`.
    """

    def __init__(self, log: Log, monotonic: Callable[[], float]) -> None:
        super().__init__(logging.WARNING)
        self._log = log
        self._monotonic = monotonic
        self._counts: Counter[tuple[str, int]] = Counter()
        self._due: dict[tuple[str, int], float] = {}
        self._templates: dict[tuple[str, int], str] = {}  # the last one, of connection loggers
        self._second = -1
        self._lines = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count a message, and write the line of its logger if one is due."""
        level = record.levelno // 10 * 10
        key = (record.name, level)
        if key not in self._due and len(self._due) >= MOST_LIBRARY_LOGGERS:
            key = ("other", level)
        self._counts[key] += 1
        if record.name in CONNECTION_LOGGERS and isinstance(record.msg, str):
            self._templates[key] = record.msg
        now = self._monotonic()
        if now >= self._due.get(key, now) and self._may_write(now):
            self._due[key] = now + LIBRARY_INTERVAL
            self._write(key)
        else:
            self._due.setdefault(key, now)

    def _may_write(self, now: float) -> bool:
        if int(now) != self._second:
            self._second, self._lines = int(now), 0
        self._lines += 1
        return self._lines <= LIBRARY_LINES

    def _write(self, key: tuple[str, int]) -> None:
        name, level = key
        count = self._counts.pop(key)
        write = self._log.error if level >= logging.ERROR else self._log.warning
        template = self._templates.pop(key, None)
        write(LogLine.LIBRARY, logger=name, messages=count, **({} if template is None else {"template": template}))

    def finish(self) -> None:
        """Write one line about all messages that are counted and not yet written."""
        if self._counts:
            self._log.warning(LogLine.LIBRARY, logger="all", messages=self._counts.total())
            self._counts.clear()


def silence_the_end() -> None:
    """Let libraries write nothing at all outside of `quiet_libraries`, until the process ends.

    asyncio reports a failed future that nobody awaited only when it is deleted, which may be after the service has
    ended. Python's last resort would then write a traceback into a stream of JSON lines.
    """
    logging.getLogger().addHandler(logging.NullHandler())
    sys.unraisablehook = lambda _error: None
    threading.excepthook = lambda _error: None


@contextmanager
def quiet_libraries(log: Log, monotonic: Callable[[], float]) -> Iterator[LibraryEcho]:
    """Let no library write to the terminal while the service runs; restore what was set before.

    All loggers are below the root, so its handlers are replaced by one that counts. Python's warnings, and
    asyncio's messages about failed tasks, take the same way. Errors that nobody can catch, in a thread or while an
    object is deleted, are written in the words of `describe`.
    """
    root = logging.getLogger()
    hooks = sys.unraisablehook, threading.excepthook

    def lost(error: sys.UnraisableHookArgs | threading.ExceptHookArgs) -> None:
        kind = error.exc_value if error.exc_value is not None else error.exc_type()
        log.error(LogLine.LIBRARY, logger="python", messages=1, error=kind)

    sys.unraisablehook, threading.excepthook = lost, lost
    echo = LibraryEcho(log, monotonic)
    handlers, level = root.handlers[:], root.level
    root.handlers[:] = [echo]
    root.setLevel(logging.WARNING)
    logging.captureWarnings(True)
    try:
        yield echo
    finally:
        logging.captureWarnings(False)
        sys.unraisablehook, threading.excepthook = hooks
        root.handlers[:] = handlers
        root.setLevel(level)
        echo.finish()


@contextmanager
def silenced_libraries(clock: Clock) -> Iterator[None]:
    """Let no library write anything anywhere: for commands whose own errors say what went wrong."""
    with quiet_libraries(open_log(clock.wall, stream=io.StringIO()), clock.monotonic):
        yield
