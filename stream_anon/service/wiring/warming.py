"""Compile everything between incoming and outgoing bytes beforehand, so that no record waits for a compiler."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from stream_anon.adapters.kafka.bulk import draining
from stream_anon.adapters.kafka.writing import packed_batch
from stream_anon.adapters.second_process import compile_in_two
from stream_anon.compiled import when_compiling
from stream_anon.engine import warming
from stream_anon.formats.codecs import PLAIN, RecordFormats, codec_of, topic_codec
from stream_anon.microdata.policy import Policy
from stream_anon.ports import Clock
from stream_anon.service.events import KernelsCompiled, KernelsCompiling, Listener


def warm_up(policy: Policy, formats: RecordFormats = PLAIN) -> None:
    """Compile every kernel that a service with this policy will call, on two cores where there are two."""
    compile_in_two(warming.warm_up_first_half, _warm_up_rest, policy)
    warming.warm_up(policy)
    _warm_up_adapters(policy)
    topic_codec(policy, formats=formats).warm_up()


def _warm_up_rest(policy: Policy) -> None:
    _warm_up_adapters(policy)
    warming.warm_up_second_half(policy)


def _warm_up_adapters(policy: Policy) -> None:
    codec_of(policy).warm_up()
    draining.warm_up()
    packed_batch.warm_up()


async def warm_up_aside(warm: Callable[[], None], clock: Clock, tell: Listener) -> None:
    """Run `warm` in a thread, and report to the loop's listener if it has to compile."""
    loop = asyncio.get_running_loop()
    begun = clock.monotonic()
    compiling = False

    def note() -> None:
        nonlocal compiling
        compiling = True
        with suppress(RuntimeError):  # a stop did not wait for the thread, and the loop is closed
            loop.call_soon_threadsafe(tell, KernelsCompiling())

    def work() -> None:
        with when_compiling(note):
            warm()

    await asyncio.to_thread(work)
    if compiling:
        tell(KernelsCompiled(clock.monotonic() - begun))
