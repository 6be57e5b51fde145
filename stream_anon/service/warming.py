"""Warm up all that lies between the bytes that come and those that leave: no record waits for a compiler."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from stream_anon.adapters.clock import Clock
from stream_anon.adapters.json.codec import JsonCodec
from stream_anon.adapters.json.passing import PassedTexts
from stream_anon.adapters.kafka.bulk import draining, packed_batch
from stream_anon.compiled import when_compiling
from stream_anon.engine import warming
from stream_anon.microdata.batch import Rejects
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Classes, Release
from stream_anon.service.events import KernelsCompiled, KernelsCompiling, Listener


def warm_up(policy: Policy) -> None:
    """Compile every kernel that a service with this policy will call."""
    warming.warm_up(policy)
    codec = JsonCodec(policy)
    codec.warm_up()
    # Texts of more than one word are of another type to the compiler than those of an empty window: without this
    # the first window that is published would wait for it.
    codec.encode_in_bulk(made_up_release(policy))
    draining.warm_up()
    packed_batch.warm_up()


async def warm_up_aside(warm: Callable[[], None], clock: Clock, tell: Listener) -> None:
    """Run `warm` in a thread, and tell the loop's listener if it has to compile."""
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


def made_up_release(policy: Policy) -> Release:
    """Return a release of two records in one class, generalized to the top, to be written and thrown away."""
    count, width = 2, len(policy.quasi_identifiers)
    bounds, size = np.zeros((width, 1), np.int32), np.array([count], np.int64)
    return Release(
        classes=Classes(bounds, bounds, [[ROOT_LABEL]] * width, size, size, np.ones((width, 1))),
        class_of_row=np.zeros(count, np.int32),
        order=np.arange(count, dtype=np.int64),
        payload=PassedTexts.of([(None,) * len(policy.passed)] * count, len(policy.passed)),
        suppressed={},
        rejects=Rejects.of([]),
        ranges=(),
        arrivals=(),
        opened_at=0.0,
        closed_at=0.0,
        achieved_k=count,
        achieved_l={},
        gcp=1.0,
    )
