"""Where a storm takes place: lines, a broker behind them, topics."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from tests.support.ports import free_port
from tests.support.service import Stage, compile_once
from tests.support.storm.broker import KafkaBehindLines
from tests.support.storm.line import Line

LINES = 3


@contextlib.asynccontextmanager
async def stage_behind_lines(folder: Path, name: str) -> AsyncIterator[tuple[Stage, list[Line]]]:
    """Start lines and a broker behind them, with topics; stop all of it at the end."""
    lines = [Line(free_port()) for _ in range(LINES)]
    for line in lines:
        await line.start()
    (folder / "configs").mkdir(parents=True)
    kafka = KafkaBehindLines(folder / "kafka", lines)
    try:
        await asyncio.to_thread(kafka.__enter__)
        stage = Stage(kafka, name, folder / "configs")
        await stage.create_topics()
        await asyncio.to_thread(compile_once, stage.config())
        yield stage, lines
    finally:
        await asyncio.to_thread(kafka.kill)
        for line in lines:
            await line.stop()
