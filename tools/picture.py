"""Take the picture of the README: the status page of a service that anonymizes the demo's visits on a real broker.

    python -m tools.picture docs/start/status.png

Needs Java, Maven and the distribution's Chromium.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from playwright.async_api import async_playwright

from stream_anon.adapters.clock import SystemClock
from stream_anon.cli.run.demo import example
from stream_anon.demo.clinic import visits
from stream_anon.demo.producing import EventSource, create_topics
from stream_anon.service.wiring.clients import connection_of
from stream_anon.settings.loading import kafka_of, load_settings
from stream_anon.settings.policy_file import build_policy
from tests.support.apache_kafka import ApacheKafka
from tests.support.service import WorkerProcess

EVENTS = 100_000
WIDTH, HEIGHT = 1000, 680
_BEFORE = 7.0  # seconds of the stream that the picture shows


async def take(picture: Path, folder: Path, broker: str) -> None:
    """Run the service, and write a picture of its page while events come in."""
    config = folder / "policy.yaml"
    shutil.copytree(example("clinic"), folder, dirs_exist_ok=True)
    chosen = {
        "STREAM_ANON__KAFKA__BOOTSTRAP_SERVERS": broker,
        "STREAM_ANON__KAFKA__DEVELOPMENT": "true",
        "STREAM_ANON__HTTP__PORT": "0",
        "STREAM_ANON__HTTP__ADMIN_PORT": "0",
        "STREAM_ANON__LOGS__FORMAT": "json",
    }
    settings = load_settings(config, {"kafka": {"bootstrap_servers": broker, "development": True}})
    kafka = kafka_of(settings)
    await create_topics(connection_of(kafka), kafka)
    policy, topic = build_policy(settings, config), kafka.inputs.names[0]
    first, *rest = (
        EventSource(connection_of(kafka), topic, policy, events) for events in _parts([*visits(EVENTS)], 2000)
    )
    await first.send(SystemClock())
    with WorkerProcess(config, chosen) as service:
        await service.wait_for("taken-over")
        address = service.said("serving")[0]["admin"]
        sending = asyncio.create_task(rest[0].send(SystemClock()))
        await asyncio.sleep(_BEFORE)
        await _photograph(f"http://{address}/", picture)
        await sending


def _parts(events: Sequence[bytes], first: int) -> tuple[Sequence[bytes], Sequence[bytes]]:
    return events[:first], events[first:]


async def _photograph(address: str, picture: Path) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = await browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        await page.goto(address)
        await page.wait_for_timeout(2500)  # its lines grow twice a second
        await page.screenshot(path=picture)
        await browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, ApacheKafka(Path(folder) / "broker") as broker:
        asyncio.run(take(Path(sys.argv[1]), Path(folder) / "service", broker.address))
