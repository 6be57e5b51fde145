"""Log lines: structured, one a window, names and places only.

Nothing that a library says is passed on, for its text may hold a person's value: of its messages only level,
logger and number are written, a few lines a minute. Of loggers that speak of connections alone the template of the
message is written too, without its arguments; a test makes sure that these templates are constants. An exception of
another's making is written as its type and the line of this package where it passed.
"""

from __future__ import annotations

import datetime as dt
import logging
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO, cast

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor

from stream_anon.errors import StreamAnonError

Log = FilteringBoundLogger

LIBRARY_INTERVAL = 10.0  # seconds in which one logger's messages of one level become one line
LIBRARY_LINES = 5  # lines a second at most, whatever the number of loggers
MOST_LIBRARY_LOGGERS = 64  # beyond these, messages are counted under one name
# They speak of connections, nodes and the group, never of records.
CONNECTION_LOGGERS = frozenset(
    {"aiokafka.client", "aiokafka.cluster", "aiokafka.conn", "aiokafka.consumer.group_coordinator"}
)
_PACKAGE = str(Path(__file__).resolve().parent.parent)


class Event(StrEnum):
    """What a log line can say; each with its meaning."""

    meaning: str

    def __new__(cls, value: str, meaning: str) -> Self:  # noqa: D102 - makes a member with its meaning
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member

    STARTED = "started", "The worker has read its settings and begins to connect."
    SERVING = "serving", "Health, metrics and status are served at these addresses."
    COMPILING = "compiling", "No cache holds the kernels of this policy: they are compiled, once after an install."
    COMPILED = "compiled", "The kernels are compiled; the worker goes on."
    SLOW_READING = (
        "slow-reading",
        "Attributes lie so deep in a record that every record is read one by one, twenty times as slowly.",
    )
    READY = "ready", "The worker owns partitions or stands by for them."
    NOT_READY = "not-ready", "The worker cannot work for now; the reason says why."
    STOPPING = "stopping", "The worker was asked to stop; the open window is closed or abandoned."
    STOPPED = "stopped", "The worker has left the group; nothing is held any more."
    LEFT_LATE = "left-late", "Something hung while the worker was leaving; the process was ended, as by a crash."
    FAILED = "failed", "The worker ends because of an error that waiting does not mend."
    WORKER_ENDED = "worker-ended", "A worker process ended by itself; it is started again."
    WORKER_NOT_STARTED = "worker-not-started", "The system made no process for a worker; it is asked again."
    WORKER_SILENT = "worker-silent", "A worker process told nothing for a minute and was killed."
    AT_LEAST_ONCE = "at-least-once", "Records can be published twice: the settings ask for delivery at least once."
    SHADOW = "shadow", "This worker publishes nothing: its certificates go to a file, beside the service."
    PAUSED = "paused", "An operator paused the service: nothing more is read until it is resumed."
    RESUMED = "resumed", "An operator resumed the service: it reads on."
    BROKER_AWAY = "broker-away", "The broker cannot be reached or refuses; it is tried again with growing pauses."
    BROKER_BACK = "broker-back", "The broker answers again."
    CERTIFICATE_ENDS = (
        "certificate-ends",
        "A certificate that secures the connection ends within two weeks, or has ended.",
    )
    THROTTLED = "throttled", "The brokers' quotas, or a limit on processor time, held the worker back."
    LEDGER_HELD = (
        "ledger-held",
        "Somebody's transaction is open on the ledger: windows and takeovers wait until it ends.",
    )
    REVOKED = "revoked", "The group took partitions away; their rows left the open window."
    ASSIGNED = "assigned", "The group gave partitions; their records are not taken before the takeover is done."
    STANDING_BY = "standing-by", "No partition is left for this worker: it takes over when another one fails."
    SUPERSEDED = (
        "superseded",
        "The output has been published under a higher revision of the policy: the worker reads nothing more.",
    )
    TAKEN_OVER = "taken-over", "Partitions are open: their records are taken from these offsets on."
    OFFSET_SKIPPED = "offset-skipped", "The committed offset lies above the ledger: somebody chose to skip records."
    LEDGER_CREATED = "ledger-created", "The ledger was missing and has been made, as on a first run."
    LEDGER_ENTRY_MISSING = (
        "ledger-entry-missing",
        "Offsets are committed of which the ledger knows nothing: had they been set back, nobody would see it.",
    )
    PARTITION_STOPPED = "partition-stopped", "A partition is not read until an operator decides."
    INPUT_LOST = "input-lost", "Records were deleted unread, or cannot be read; the settings say to go on."
    WINDOW_PUBLISHED = "window-published", "A window was published and its offsets committed."
    ORDER_ADOPTED = "order-adopted", "The engine found a better order of the attributes; later windows use it."
    WINDOW_ABANDONED = "window-abandoned", "A window was dropped unpublished; its records will be read again."
    WINDOW_WITHHELD = (
        "window-withheld",
        "No record of the first window has a value of a declared field: nothing is published, the worker ends.",
    )
    GATE_VIOLATION = "gate-violation", "The gate suppressed classes that fell short: a bug, please report it."
    AUDIT_FAILED = "audit-failed", "A published window does not fit its own certificate."
    COMMIT_UNCERTAIN = "commit-uncertain", "A transaction broke off; ledger and stable offsets decide how it ended."
    COMMIT_SETTLED = "commit-settled", "The outcome of a transaction that broke off is known."
    COMMIT_FENCED = "commit-fenced", "Another worker owns the partitions now: nothing was published."
    LIBRARY = "library", "A library logged messages; their text is withheld, for it may hold values."


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
    """Write lines; one that cannot be written is lost, for a full disk must not stop the service."""

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
    """Reduce exceptions to what may be written; a traceback's lines may quote values, so it goes."""
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
    """Return what may be written of an exception: our own messages, of any other its type and our line."""
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
    """Write how often libraries logged, never what.

    The first message of a logger and level is written at once, later ones together once an interval; whatever
    the number of loggers no more than `LIBRARY_LINES` lines a second are written, the rest stays counted.

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
        """Count a message, and write what is due of its logger."""
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
        write(Event.LIBRARY, logger=name, messages=count, **({} if template is None else {"template": template}))

    def finish(self) -> None:
        """Write what is still counted, in one line."""
        if self._counts:
            self._log.warning(Event.LIBRARY, logger="all", messages=self._counts.total())
            self._counts.clear()


def silence_the_end() -> None:
    """Let libraries say nothing at all outside of `quiet_libraries`, until the process ends.

    asyncio tells of futures that nobody asked only when they are taken away, which may be after the service has
    ended; Python's own last resort would write that, with a traceback, into a stream of JSON lines.
    """
    logging.getLogger().addHandler(logging.NullHandler())
    sys.unraisablehook = lambda _error: None
    threading.excepthook = lambda _error: None


@contextmanager
def quiet_libraries(log: Log, monotonic: Callable[[], float]) -> Iterator[LibraryEcho]:
    """Let no library write to the terminal while the service runs; restore what was set before.

    Their loggers hang below the root, so its handlers are replaced by one that counts. Python's warnings, and
    what asyncio says of tasks that failed, take the same way. What breaks where nobody can catch it, in a thread or
    while an object is taken away, is written as `describe` does.
    """
    root = logging.getLogger()
    hooks = sys.unraisablehook, threading.excepthook

    def lost(error: sys.UnraisableHookArgs | threading.ExceptHookArgs) -> None:
        kind = error.exc_value if error.exc_value is not None else error.exc_type()
        log.error(Event.LIBRARY, logger="python", messages=1, error=kind)

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
