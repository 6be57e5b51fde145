"""Write what happens to a worker as log lines. What a line tells, each event knows."""

from __future__ import annotations

from collections.abc import Callable

from stream_anon.adapters.logs import Log
from stream_anon.ports.log_lines import Said
from stream_anon.service import events as e
from stream_anon.service.wiring.few_lines import FewLines
from stream_anon.service.wiring.vanishing import Vanishing, write_changed


def into_log(log: Log, monotonic: Callable[[], float]) -> e.Listener:
    """Return a listener that writes log lines: one a window, none a record."""
    vanishing = Vanishing()
    few_lines = {kind: FewLines(monotonic) for kind in (e.SchemaSeen, e.ReadingFault)}
    wrong_before: tuple[Said, ...] = ()  # with the consumer group

    def write(event: e.Event) -> None:
        nonlocal wrong_before
        lines = event.lines()
        match event:
            case e.WorkerStarted():
                vanishing.follow([name for name in event.published if name not in event.accept_missing])
            case e.GroupSeen():
                lines, wrong_before = tuple(line for line in lines if line not in wrong_before), lines
            case e.SchemaSeen() | e.ReadingFault():
                lines = _few(lines, few_lines[type(event)].untold())
        for line in lines:
            _write(log, line)
        if isinstance(event, e.WindowPublished):
            write_changed(log, vanishing.take(event.released + sum(event.suppressed.values()), event.missing))

    return write


def _few(lines: tuple[Said, ...], untold: int | None) -> tuple[Said, ...]:
    """Return the lines with how many were left out before them; no line if they must be left out too."""
    if not untold:
        return () if untold is None else lines
    return tuple(line._replace(fields={**line.fields, "untold": untold}) for line in lines)


def _write(log: Log, said: Said) -> None:
    getattr(log, said.level)(said.line, **{name: _shown(value) for name, value in said.fields.items()})


def _shown(value: object) -> object:
    if isinstance(value, float):
        return round(float(value), 4)
    return list(value) if isinstance(value, tuple) else value
