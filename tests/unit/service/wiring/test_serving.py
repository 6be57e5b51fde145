"""What a service makes of its start: files that are being renewed, and a stop that comes while kernels compile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import numba
import pytest

from stream_anon.adapters.clock import SystemClock
from stream_anon.compiled import kernel
from stream_anon.errors import SettingsError
from stream_anon.formats.codecs import RecordFormats
from stream_anon.microdata.policy import Policy
from stream_anon.service.events import (
    BrokerAway,
    Event,
    KernelsCompiled,
    KernelsCompiling,
    ReadingOrdered,
    WorkerStarted,
    WorkerStopped,
    WorkerStopping,
)
from stream_anon.service.orders import Orders
from stream_anon.service.threads import Abandonable
from stream_anon.service.wiring import serving
from stream_anon.service.wiring.permit import Permit
from stream_anon.settings.loading import load_settings
from stream_anon.settings.model import Settings
from stream_anon.settings.policy_file import build_policy
from tests.support.policies import write_policy

BROKERS = {"bootstrap_servers": "127.0.0.1:9", "group": "g", "input": "people", "output": "out"}


async def _no_permit(*_: object) -> Permit:
    return Permit()


def read(folder: Path, **security: str) -> tuple[Settings, Policy]:
    path = write_policy(folder, kafka={**BROKERS, "security": security} if security else BROKERS)
    settings = load_settings(path)
    return settings, build_policy(settings, path)


def until(kind: type[Event]) -> tuple[Callable[[Event], None], list[Event], asyncio.Event]:
    """Return what hears events, those that it heard, and what is set once one of a kind is told."""
    told: list[Event] = []
    stop = asyncio.Event()

    def tell(event: Event) -> None:
        told.append(event)
        if isinstance(event, kind):
            stop.set()

    return tell, told, stop


async def test_certificate_renewed_while_kernels_compile_does_not_end_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ca.pem").write_text("")
    settings, policy = read(tmp_path, protocol="SSL", ca_file=str(tmp_path / "ca.pem"))
    monkeypatch.setattr(serving, "warm_up", lambda policy, formats: None)
    tell, told, stop = until(BrokerAway)
    async with asyncio.timeout(20):
        await serving.work(settings, policy, SystemClock(), tell, stop, _no_permit)
    (away,) = [event for event in told if isinstance(event, BrokerAway)]
    assert away.error.startswith("kafka.security: ca_file, certificate_file or key_file cannot be loaded")


def test_files_that_cannot_be_read_at_the_start_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(tmp_path, protocol="SSL", ca_file=str(tmp_path / "nowhere.pem"))
    monkeypatch.setattr(serving, "_serve", lambda *_: pytest.fail("it began"))
    with pytest.raises(SettingsError, match=r"^kafka\.security: "):
        serving.serve(tmp_path / "policy.yaml", _no_permit)


def test_a_worker_of_a_fleet_that_is_started_again_waits_for_a_file_that_is_half_written(
    tmp_path: Path,
) -> None:
    settings, _ = read(tmp_path, protocol="SSL", ca_file=str(tmp_path / "absent.pem"))
    serving.prepare(tmp_path / "policy.yaml", [])  # a worker: its connections are tried again
    with pytest.raises(SettingsError, match="ca_file"):
        serving.refuse_unusable_files(settings)


@pytest.fixture
async def _long_compiling(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Let kernels compile until the test has ended."""
    asyncio.get_running_loop().set_default_executor(Abandonable())
    compiled = threading.Event()
    monkeypatch.setattr(serving, "warm_up", lambda policy, formats: compiled.wait(30))
    yield
    compiled.set()


@pytest.mark.usefixtures("_long_compiling")
async def test_stop_does_not_wait_until_kernels_are_compiled(tmp_path: Path) -> None:
    stop, warm, told = asyncio.Event(), [], list[Event]()
    work = serving.work(*read(tmp_path), SystemClock(), told.append, stop, _no_permit, lambda: warm.append(True))
    working = asyncio.create_task(work)
    await asyncio.sleep(0.1)
    stop.set()
    async with asyncio.timeout(5):
        await working
    assert [type(event) for event in told[-2:]] == [WorkerStopping, WorkerStopped]
    assert not warm


@pytest.mark.usefixtures("_long_compiling")
async def test_a_pause_is_told_while_kernels_compile_and_forgotten_by_a_stop_then(tmp_path: Path) -> None:
    stop, clock, told = asyncio.Event(), SystemClock(), list[Event]()
    orders = Orders(stop, clock, told.append)
    working = asyncio.create_task(
        serving.work(*read(tmp_path), clock, told.append, stop, _no_permit, orders=orders)
    )
    await asyncio.sleep(0.01)
    orders.pause()
    assert told[-1] == ReadingOrdered(True)
    stop.set()
    async with asyncio.timeout(5):
        await working
    assert told[-2:] == [WorkerStopping("asked to", forgets_pause=True), WorkerStopped(0.0)]


@pytest.mark.usefixtures("_long_compiling")
async def test_a_service_that_starts_paused_says_so_before_its_kernels_are_compiled(tmp_path: Path) -> None:
    tell, told, stop = until(ReadingOrdered)
    clock = SystemClock()
    orders = Orders(stop, clock, tell, paused=True)
    async with asyncio.timeout(5):
        await serving.work(*read(tmp_path), clock, tell, stop, _no_permit, orders=orders)
    assert ReadingOrdered(True) in told


async def test_compiling_is_told_at_its_start_and_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warm(_policy: Policy, _formats: RecordFormats) -> None:
        def twice(number: int) -> int:
            return 2 * number

        kernel(twice)(21)

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setattr(serving, "warm_up", warm)
    tell, told, stop = until(BrokerAway)
    async with asyncio.timeout(30):
        await serving.work(*read(tmp_path), SystemClock(), tell, stop, _no_permit)
    assert [type(event) for event in told[:3]] == [WorkerStarted, KernelsCompiling, KernelsCompiled]
