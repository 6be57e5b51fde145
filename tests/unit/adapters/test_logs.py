import ast
import asyncio
import importlib
import inspect
import io
import json
import logging
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from stream_anon.adapters.logs import (
    CONNECTION_LOGGERS,
    LIBRARY_LINES,
    MOST_LIBRARY_LOGGERS,
    LibraryEcho,
    Log,
    describe,
    open_log,
    quiet_libraries,
)
from stream_anon.errors import BrokerError, SettingsError
from stream_anon.ports.log_lines import LogLine

MOMENT = 1_700_000_000.25
PERSON = "jane-doe-1971"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def log(stream: io.StringIO) -> Log:
    return open_log(lambda: MOMENT, "json", "info", stream)


def test_a_line_has_its_time_level_and_fields(log: Log, stream: io.StringIO) -> None:
    log.info(LogLine.WINDOW_PUBLISHED, released=12, batch="ab")

    assert lines(stream) == [
        {
            "timestamp": "2023-11-14T22:13:20.250Z",
            "level": "info",
            "event": "window-published",
            "released": 12,
            "batch": "ab",
        }
    ]


def test_a_line_below_the_level_is_not_written() -> None:
    stream = io.StringIO()
    log = open_log(lambda: MOMENT, "json", "warning", stream)
    log.info(LogLine.STARTED)
    log.warning(LogLine.BROKER_AWAY)

    assert [line["event"] for line in lines(stream)] == ["broker-away"]


def test_a_field_with_a_line_break_stays_one_line(log: Log, stream: io.StringIO) -> None:
    log.info(LogLine.STARTED, topic="a\nb")

    assert len(stream.getvalue().splitlines()) == 1


@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(28, "No space left on device"), ValueError("closed")])
@pytest.mark.parametrize("level", ["debug", "info", "warning", "error", "critical"])
def test_a_full_disk_does_not_stop_the_service(error: Exception, level: str) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise error

    getattr(open_log(lambda: MOMENT, "json", "debug", Full()), level)(LogLine.STARTED)


def test_auto_writes_text_to_a_terminal_and_json_to_a_file() -> None:
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        open_log(lambda: MOMENT, "auto", "info", stream).info(LogLine.STARTED, group="g")

    assert "started" in terminal.getvalue()
    assert not terminal.getvalue().startswith("{")
    assert lines(file)[0]["group"] == "g"


def test_console_in_a_file_has_no_colour_codes() -> None:
    file = io.StringIO()
    open_log(lambda: MOMENT, "console", "info", file).info(LogLine.STARTED, group="g")

    assert "started" in file.getvalue()
    assert "\x1b" not in file.getvalue()


@pytest.mark.parametrize("style", ["json", "console"])
def test_an_exception_of_a_library_shows_neither_its_text_nor_its_frames(style: str) -> None:
    stream = io.StringIO()
    log = open_log(lambda: MOMENT, style, "info", stream)
    try:
        int(PERSON)
    except ValueError as error:
        log.exception(LogLine.FAILED)
        log.exception(LogLine.FAILED, exc_info=error)
        log.exception(LogLine.FAILED, exc_info=(type(error), error, error.__traceback__), stack_info=True)
        log.warning(LogLine.BROKER_AWAY, error=error)

    written = stream.getvalue()
    assert PERSON not in written
    assert written.count("ValueError") == 4
    assert len(written.splitlines()) == 4


def test_our_own_message_is_written(log: Log, stream: io.StringIO) -> None:
    log.error(LogLine.FAILED, error=BrokerError("people-3 at offset 7: refused"))

    assert lines(stream)[0]["error"] == "BrokerError: people-3 at offset 7: refused"


def test_a_foreign_exception_says_where_it_passed_our_code() -> None:
    with pytest.raises(KeyError) as caught:
        open_log(lambda: MOMENT, "json", "no-such-level", io.StringIO())

    assert describe(caught.value).startswith("KeyError in stream_anon/adapters/logs.py:")


def test_own_errors_are_described_without_their_place() -> None:
    assert describe(SettingsError("privacy.k", "must be at least 2")) == (
        "SettingsError: privacy.k: must be at least 2"
    )


class Ticks:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
def echo(log: Log, ticks: Ticks) -> LibraryEcho:
    return LibraryEcho(log, ticks)


def say(echo: LibraryEcho, name: str = "aiokafka.consumer.fetcher", level: int = logging.ERROR) -> None:
    record = logging.LogRecord(name, level, __file__, 1, "Unable to parse %s", (PERSON,), None)
    echo.handle(record)


def test_the_text_of_a_library_is_not_written(echo: LibraryEcho, stream: io.StringIO) -> None:
    say(echo)

    assert PERSON not in stream.getvalue()
    assert "parse" not in stream.getvalue()
    (line,) = lines(stream)
    assert (line["event"], line["level"], line["logger"], line["messages"]) == (
        "library",
        "error",
        "aiokafka.consumer.fetcher",
        1,
    )


def test_a_broker_that_is_away_does_not_flood_the_log(echo: LibraryEcho, ticks: Ticks, stream: io.StringIO) -> None:
    for i in range(3000):  # thirty seconds of a hundred messages a second
        ticks.now = 100.0 + i / 100
        say(echo)
    echo.finish()

    counts = [line["messages"] for line in lines(stream)]
    assert sum(counts) == 3000
    assert len(counts) == 4


def test_many_loggers_at_once_keep_to_the_limit_a_second(
    echo: LibraryEcho, ticks: Ticks, stream: io.StringIO
) -> None:
    for i in range(40):
        say(echo, f"aiokafka.part{i}")
    assert len(lines(stream)) == LIBRARY_LINES

    ticks.now += 1
    say(echo, "aiokafka.part39")
    assert lines(stream)[-1]["messages"] == 2


def test_ever_new_loggers_do_not_grow_without_bound(echo: LibraryEcho, ticks: Ticks, stream: io.StringIO) -> None:
    for i in range(10 * MOST_LIBRARY_LOGGERS):
        ticks.now += 0.5
        say(echo, f"client-{i}")
    echo.finish()

    assert sum(line["messages"] for line in lines(stream)) == 10 * MOST_LIBRARY_LOGGERS
    assert len({line["logger"] for line in lines(stream)}) <= MOST_LIBRARY_LOGGERS + 2


def test_a_finished_echo_does_not_count_again(echo: LibraryEcho, stream: io.StringIO) -> None:
    say(echo)
    say(echo)
    echo.finish()
    echo.finish()

    assert [line["messages"] for line in lines(stream)] == [1, 1]


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield root
    root.handlers[:], root.level = before


def test_libraries_write_nothing_of_their_own(
    log: Log, stream: io.StringIO, root: logging.Logger, capfd: pytest.CaptureFixture[str]
) -> None:
    with quiet_libraries(log, lambda: 0.0), warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.getLogger("aiokafka.consumer").warning("lost %s", PERSON)
        logging.getLogger("aiohttp.server").error("request of %s", PERSON)
        logging.getLogger("aiokafka").info("chatter")
        warnings.warn(PERSON, stacklevel=1)

    written = capfd.readouterr()
    assert PERSON not in stream.getvalue() + written.out + written.err
    assert [line["logger"] for line in lines(stream)] == ["aiokafka.consumer", "aiohttp.server", "py.warnings"]


async def test_a_failed_task_does_not_show_its_value(log: Log, stream: io.StringIO, root: logging.Logger) -> None:
    with quiet_libraries(log, lambda: 0.0):
        asyncio.get_running_loop().call_exception_handler({"message": f"failed on {PERSON}"})

    assert [line["logger"] for line in lines(stream)] == ["asyncio"]
    assert PERSON not in stream.getvalue()


def test_the_loggers_are_as_before_after_the_service(log: Log, root: logging.Logger) -> None:
    before = root.handlers[:], root.level
    with quiet_libraries(log, lambda: 0.0):
        assert root.handlers[:] != before[0]

    assert (root.handlers[:], root.level) == before


def test_every_event_has_a_meaning_and_a_name_without_blanks() -> None:
    for event in LogLine:
        assert event.meaning.endswith(".")
        assert event == event.lower().replace(" ", "-").replace("_", "-")
    assert len({event.meaning for event in LogLine}) == len(LogLine)


def test_connection_loggers_write_their_template_and_never_an_argument(log: Log, stream: io.StringIO) -> None:
    with quiet_libraries(log, lambda: 0.0):
        logging.getLogger("aiokafka.client").error('Unable connect to "%s:%s": %s', PERSON, 9092, PERSON)
        logging.getLogger("aiokafka.consumer.fetcher").error("Failed: %s", PERSON)
    assert PERSON not in stream.getvalue()
    assert [line.get("template") for line in lines(stream)] == ['Unable connect to "%s:%s": %s', None]


@pytest.mark.parametrize("name", sorted(CONNECTION_LOGGERS))
def test_what_connection_loggers_say_is_a_constant_template(name: str) -> None:
    tree = ast.parse(inspect.getsource(importlib.import_module(name)))
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in ("log", "logger")
        and node.func.attr in ("warning", "error", "exception", "critical")
    ]
    assert calls
    for call in calls:
        assert isinstance(call.args[0], ast.Constant), f"{name}, line {call.lineno}"


def test_an_error_in_a_thread_or_a_finalizer_is_one_line_without_its_message(log: Log, stream: io.StringIO) -> None:
    class Breaks:
        def __del__(self) -> None:
            raise ValueError(PERSON)

    def fail() -> None:
        raise KeyError(PERSON)

    with quiet_libraries(log, lambda: 0.0):
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
        Breaks()
    assert PERSON not in stream.getvalue()
    assert [line["error"].split(" in ")[0] for line in lines(stream)] == ["KeyError", "ValueError"]


def test_a_future_that_nobody_awaited_writes_nothing_after_the_service() -> None:
    script = (
        "import asyncio, logging\n"
        "from stream_anon.adapters.logs import silence_the_end\n"
        "silence_the_end()\n"
        "async def main():\n"
        "    asyncio.get_running_loop().create_future().set_exception(ValueError('secret'))\n"
        "asyncio.run(main())\n"
        "logging.getLogger('aiokafka').error('secret')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout + done.stderr == ""
