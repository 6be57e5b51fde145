"""Silence: does anything but the output show what records held, however hostile they are and whatever breaks?

Every hostile record holds a word or a number that nothing else holds. What is searched for them is what the real
service writes: the log of `stream-anon run` at its most verbose, every byte of every topic, status and metrics.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream_anon.adapters.kafka.writing.kafka_sink import KafkaSink
from stream_anon.audit.audit import Audit
from stream_anon.cli.run.run import run
from stream_anon.engine.closing import Closer
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.policy import Policy
from stream_anon.ports import Clock, Parcel
from stream_anon.service.events import Event, Listener, WindowAudited
from stream_anon.service.fault_points import nowhere
from stream_anon.service.wiring import serving
from stream_anon.service.wiring.building import assemble
from stream_anon.service.worker import Worker
from stream_anon.settings.model import Settings
from tests.attacks.outside import Watcher
from tests.support.commands import run as run_command
from tests.support.driver import Driver
from tests.support.memory import INPUT, OUTPUTS, MemoryBroker, MemoryLedger, MemorySink, MemorySource
from tests.support.policies import write_policy

VALUE, KEY, NUMBER, SERIAL = "qqvalueqq", "qqkeyqq", 4_271_828_182, 3_141_592_653
WORDS = (VALUE, KEY, str(NUMBER))
LONGEST = 4096


def _record(
    person: object = "p", age: object = 31, city: object = "Bonn", serial: object = 1, **more: Any
) -> bytes:
    return json.dumps({"person": person, "age": age, "city": city, "serial": serial, **more}).encode()


REJECTED: tuple[tuple[Reason, bytes | None], ...] = (
    (Reason.MALFORMED, VALUE.encode()),
    (Reason.MALFORMED, _record(city=VALUE)[:-1]),
    (Reason.MALFORMED, b'{"%s":%s' % (KEY.encode(), VALUE.encode())),
    (Reason.NOT_AN_OBJECT, json.dumps(VALUE).encode()),
    (Reason.NOT_AN_OBJECT, json.dumps([{KEY: VALUE}, NUMBER]).encode()),
    (Reason.EMPTY, None),
    (Reason.EMPTY, b""),
    (Reason.TOO_LARGE, _record(note=VALUE * LONGEST)),
    (
        Reason.TOO_DEEP,
        _record(note=VALUE)[:-1] + b',"%s":%s"%s"%s}' % (KEY.encode(), b"[" * 99, VALUE.encode(), b"]" * 99),
    ),
    (Reason.NOT_UTF8, _record(city=VALUE).replace(b"qq", b"qq\xff", 1).replace(b'"p"', b'"%s"' % VALUE.encode())),
    (Reason.NOT_UTF8, _record(age=VALUE, **{KEY + "\xfc": NUMBER}).decode("unicode-escape").encode("latin-1")),
    (Reason.NO_INDIVIDUAL, _record(None, note=VALUE)),
    (Reason.WRONG_TYPE, _record({KEY: VALUE})),
    (Reason.WRONG_TYPE, _record([VALUE])),
    (Reason.WRONG_TYPE, _record(age=VALUE)),
    (Reason.WRONG_TYPE, _record(age={KEY: NUMBER})),
    (Reason.WRONG_TYPE, _record(city={KEY: VALUE})),
    (Reason.WRONG_TYPE, _record(serial=VALUE)),
    (Reason.WRONG_TYPE, _record(serial={KEY: [NUMBER]})),
    (Reason.OUT_OF_RANGE, _record(age=NUMBER)),
    (Reason.UNKNOWN_VALUE, _record(city=VALUE)),
    (Reason.UNKNOWN_VALUE, _record(city=NUMBER)),
    (Reason.UNKNOWN_VALUE, _record(city=f"{VALUE}\n{{}}\x1b[2J\u2028")),
)
# Whom these name is somebody by a word, by a number, and together with undeclared keys, nested ones too.
ACCEPTED = (
    _record(VALUE, serial=SERIAL),
    _record(NUMBER, 32, serial=SERIAL),
    _record(f"{VALUE} 2", 41, "Dessau", SERIAL, **{KEY: VALUE}),
    _record(f"{VALUE} 3", 42, "Dessau", SERIAL, **{KEY: {KEY: {KEY: [VALUE, NUMBER]}}}),
    _record(f"{VALUE}\n", 43, "Dessau", SERIAL, **{f"{KEY}.{KEY}": NUMBER}),
    _record(f"\x1b[31m{VALUE}", 43, "Dessau", SERIAL, **{"person.age": VALUE, KEY + "\n": None}),
)
HOSTILE = [*(value for _, value in REJECTED), *ACCEPTED]


def _bytes_of(parcel: Parcel) -> str:
    """Return all that a reader of the parcel's topic sees: topic, headers, keys and values."""
    headers = [part for name, value in parcel.headers for part in (name.encode(), value)]
    parts = [parcel.topic.encode(), *headers, *(parcel.keys or ()), *(value or b"" for value in parcel.values)]
    return b"\n".join(parts).decode()


def _told(text: str, words: Sequence[str] = (*WORDS, str(SERIAL))) -> list[str]:
    """Return the words of the records that occur in a text, whatever their case."""
    return [word for word in words if word in text.lower()]


async def test_pages_carry_nothing_of_what_records_hold() -> None:
    """Promised: no person's value and no undeclared key in status and metrics, before and after closing."""
    async with Driver(kafka={"max_record_bytes": LONGEST}) as driver:
        watcher = Watcher(driver)
        driver.send(HOSTILE)
        await driver.advance(1)
        pages = [*watcher.look()]
        await driver.advance(20)
        assert driver.broker.records
        pages += watcher.look()
    for page in pages:
        assert not _told(page)
        assert not any(city in page for city in ("Dessau", "Bonn"))


async def test_topics_carry_nothing_of_what_records_hold() -> None:
    """Promised: dead letters, certificates and ledger name declared attributes and places, no value and no key.

    A certificate also names what is published of each class, as the output does, and nothing beyond it.
    """
    async with Driver(kafka={"max_record_bytes": LONGEST}) as driver:
        driver.send(HOSTILE)
        await driver.advance(20)
        broker = driver.broker
    seen = {parcel.topic for parcel in broker.committed}
    assert seen == {"out", "out.certificates", "out.dead-letters", "ledger"}
    for parcel in broker.committed:
        assert not _told(_bytes_of(parcel), WORDS if parcel.topic == "out" else (*WORDS, str(SERIAL)))
    letters = [json.loads(letter) for letter in broker.visible("out.dead-letters")]
    assert [letter["reason"] for letter in letters] == [reason.label for reason, _ in REJECTED]
    for letter in letters:
        assert letter.keys() == {"schema", "reason", "topic", "partition", "offset", "attribute"}
        assert letter["attribute"] in (None, "person", "age", "city", "serial")
    published = [{name: record[name] for name in ("age", "city")} for record in broker.records]
    assert published
    for certificate in broker.certificates:
        assert all(one["values"] in published for one in certificate["classes"])


# -- the log of the whole service --------------------------------------------------------------------------------


class LoudSink(MemorySink):
    """Breaks once with what it was given in its message, as clients do, and lets libraries talk of it too."""

    async def send(self, parcels: Sequence[Parcel]) -> None:
        if not self.attempts:
            self.attempts.append(tuple(parcels))
            logging.getLogger("client").error("cannot send %s", HOSTILE)
            warnings.warn(f"cannot send {HOSTILE}", stacklevel=1)
            asyncio.get_running_loop().call_exception_handler({"message": f"cannot send {HOSTILE}"})
            self.lost = asyncio.create_task(_fail(VALUE))
            del self.lost
            raise ValueError(f"cannot send {HOSTILE}")
        await super().send(parcels)


async def _fail(message: str) -> None:
    raise KeyError(message)


class Service:
    """`stream-anon run` from its settings file to its exit code, on a broker in memory."""

    def __init__(self, folder: Path, log_format: str, break_something: Callable[[], None]) -> None:
        self.broker = MemoryBroker()
        self._break_something = break_something
        self._config = folder / "settings.yaml"
        document = {
            "kafka": {
                "bootstrap_servers": "nowhere:9092",
                "group": "g",
                "input": "people",
                "output": "out",
                "max_record_bytes": LONGEST,
            },
            "privacy": {"k": 3, "individual": "person"},
            "window": {"max_records": len(ACCEPTED), "max_delay": 10},
            "attributes": {
                "person": {"role": "identifier"},
                "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}},
                "city": {"role": "quasi-identifier", "values": ["Bonn", "Dessau"]},
                "serial": {"role": "insensitive", "type": "integer", "accept_linkable": True},
            },
            "http": {"port": 0, "admin_port": 0},
            "logs": {"format": log_format, "level": "debug"},
        }
        self._config.write_text(yaml.safe_dump(document), encoding="utf-8")

    def build(
        self, settings: Settings, policy: Policy, clock: Clock, tell: Listener, stop: asyncio.Event, *_more: object
    ) -> Worker:
        """Do what `serving.build_worker` does; the worker stops when its first window is out and audited."""
        self._break_something()  # now that all kernels are warm

        def tell_and_stop(event: Event) -> None:
            tell(event)
            if isinstance(event, WindowAudited):
                stop.set()

        async def prepare() -> str | None:
            return "out.ledger"

        ledger = MemoryLedger(self.broker, "one")
        return assemble(
            settings,
            policy,
            source=MemorySource(self.broker, "one"),
            sink=KafkaSink(LoudSink(self.broker, "one"), ledger, [INPUT], OUTPUTS),
            ledger=ledger,
            clock=clock,
            tell=tell_and_stop,
            stop=stop,
            at=nowhere,
            prepare=prepare,
        )

    def run(self) -> int:
        """Return the exit code."""
        self.broker.send(HOSTILE)
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            code = run(self._config)
            gc.collect()  # tasks that failed unheard are told of now at the latest
        return code


def _break(*_given: object, **_more: object) -> None:
    raise UnicodeDecodeError("utf-8", VALUE.encode() + b"\xff", 0, 1, f"{KEY} is {VALUE}")


FAULTS: dict[str, tuple[type, str] | None] = {
    "nothing": None,
    "decode": (JsonCodec, "decode"),
    "partition": (Closer, "release"),
    "encode": (JsonCodec, "encode_in_bulk"),
    "audit": (Audit, "add_record"),
}


@pytest.mark.parametrize("log_format", ["json", "console"])
@pytest.mark.parametrize("fault", FAULTS)
def test_logs_and_errors_carry_nothing_of_what_records_hold(
    fault: str,
    log_format: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Promised: errors and logs name places and declared attributes, at every level, also where the code breaks.

    A sink breaks once in any case, in words of its own, and libraries talk of it. With a fault the codec, the
    partition or the audit raise something that quotes a record: the service tells the kind and the line, and where
    that is not mended by waiting it ends.
    """

    def break_something() -> None:
        place = FAULTS[fault]
        if place is not None:
            monkeypatch.setattr(*place, _break)

    service = Service(tmp_path, log_format, break_something)
    monkeypatch.setattr(serving, "build_worker", service.build)
    code = service.run()
    out, log = capfd.readouterr()
    assert not out
    assert not _told(log + caplog.text)
    if fault in ("nothing", "audit"):
        assert code == 0
        assert service.broker.records
        assert all(line in log for line in ("window-published", "library", "commit-uncertain"))
        assert ("audit-failed" in log) == (fault == "audit")
    else:
        assert code == 1
        assert not service.broker.committed
        assert "UnicodeDecodeError in stream_anon/" in log


def test_a_command_that_breaks_tells_nothing_of_what_records_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Promised: an error names its kind and the line and no more, also in the other commands that read records."""
    policy, records = write_policy(tmp_path), tmp_path / "in.jsonl"
    records.write_bytes(b"\n".join(ACCEPTED))
    monkeypatch.setattr(JsonCodec, "decode", _break)
    assert run_command("anonymize", "-c", policy, records, tmp_path / "out.jsonl") == 1
    out, log = capfd.readouterr()
    assert not _told(out + log)
    assert "UnicodeDecodeError in stream_anon/" in log
    assert "Traceback" not in log
