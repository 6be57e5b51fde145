"""Records that wait for their schemas: failures pace themselves, slowness is told, and nothing waits in vain."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from stream_anon.errors import RegistryError
from stream_anon.ports import Chunk
from stream_anon.service import retrying
from stream_anon.service.intake import unlearned
from stream_anon.service.intake.unlearned import Unlearned
from tests.support.clock import FakeClock

CHUNKS = [Chunk(0, 0, [b"x"], np.arange(1), np.zeros(1, np.int64))]


def _unlearned(learn: Callable[[], Coroutine[Any, Any, None]], clock: FakeClock | None = None) -> Unlearned:
    source = SimpleNamespace(pause=lambda _: None, resume=lambda _: None)
    codec = SimpleNamespace(learn=lambda _: learn())
    return Unlearned(codec, source, clock or FakeClock())  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlearned, "LEARN_WITHIN", 0.01)
    monkeypatch.setattr(retrying, "FIRST_PAUSE", 0.02)


@pytest.mark.parametrize(("longest", "tries"), [(None, 30), (30.0, 6)])
async def test_a_codec_that_fails_learns_again_with_pauses_as_long_as_the_failure_asks_for(
    longest: float | None, tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrying, "LONGEST_PAUSE", 0.02)
    asked = 0

    async def refused() -> None:
        nonlocal asked
        asked += 1
        raise RegistryError("registry: no", 0.0, longest)

    waiting, loop = _unlearned(refused), asyncio.get_running_loop()
    begun = loop.time()
    while loop.time() - begun < 0.7:
        with contextlib.suppress(RegistryError):
            assert not await waiting.learned(CHUNKS, [0])
    # 0.02 + 0.04 + 0.08 + 0.16 + 0.32 + 0.64 s: the sixth try comes after 0.62 s
    assert (asked <= tries) if longest else (15 <= asked <= 36)


async def test_a_question_that_takes_long_is_told_while_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlearned, "TOLD_AFTER", 0.05)
    answered = asyncio.Event()
    waiting = _unlearned(lambda: _wait(answered))
    assert not await waiting.learned(CHUNKS, [0])
    await asyncio.sleep(0.06)
    with pytest.raises(RegistryError, match="still asked for"):
        await waiting.learned(CHUNKS, [0])
    answered.set()
    assert await waiting.learned(CHUNKS, [0])


async def test_records_count_from_when_they_were_received_until_they_can_be_read() -> None:
    answered, clock = asyncio.Event(), FakeClock()
    waiting = _unlearned(lambda: _wait(answered), clock)
    received = clock.monotonic()
    for _ in range(3):
        assert not await waiting.learned(CHUNKS, [0])
        clock.advance(7)
    assert waiting.since == received
    answered.set()
    assert await waiting.learned(CHUNKS, [0])
    assert waiting.since is None


async def test_what_is_forgotten_is_asked_for_no_longer_and_holds_nobody_up() -> None:
    answered = asyncio.Event()
    waiting = _unlearned(lambda: _wait(answered))
    assert not await waiting.learned(CHUNKS, [0])
    waiting.forget()
    answered.set()
    assert await waiting.learned([*CHUNKS], [0])


async def _wait(answered: asyncio.Event) -> None:
    await answered.wait()
