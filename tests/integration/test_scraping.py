"""A real Prometheus scrapes the server at the usual interval, and each scrape is answered."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stream_anon.adapters.http.server import HttpServers
from tests.support.prometheus_server import PrometheusServer
from tests.unit.adapters.http.test_servers import KIND, LOOPBACK, METRICS, Service

INTERVAL = 15  # seconds, as in the chart
WATCHED = 160  # seconds: ten scrapes, whenever the first one comes


@pytest.mark.soak
async def test_every_scrape_of_prometheus_is_answered(tmp_path: Path) -> None:
    servers = HttpServers(Service(), lambda: METRICS, KIND, (LOOPBACK, 0), (LOOPBACK, 0))
    (host, port), _ = await servers.start()
    try:
        with PrometheusServer(tmp_path, f"{host}:{port}", INTERVAL) as prometheus:
            await asyncio.sleep(WATCHED)
            scrapes, answered = [
                float(prometheus.query(f"{function}(up[1h])")[0]["value"][1])
                for function in ("count_over_time", "sum_over_time")
            ]
    finally:
        await servers.stop()
    assert scrapes >= WATCHED // INTERVAL - 1
    assert answered == scrapes
