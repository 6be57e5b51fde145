"""A real Prometheus on 127.0.0.1 that scrapes one address and evaluates the alert rules."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Self

import yaml

from tests.support.data import ROOT
from tests.support.ports import free_port
from tests.support.promtool import tool


class PrometheusServer:
    """Prometheus as a child process; stopped by its own pid.

    Parameters
    ----------
    interval
        Seconds from one scrape to the next.
    """

    def __init__(self, folder: Path, target: str, interval: int = 1) -> None:
        timing = {
            "scrape_interval": f"{interval}s",
            "scrape_timeout": f"{900 * interval}ms",
            "evaluation_interval": f"{interval}s",
        }
        document = {
            "global": timing,
            "rule_files": [str(ROOT / "deploy" / "prometheus" / "alerts.yml")],
            "scrape_configs": [{"job_name": "stream-anon", "static_configs": [{"targets": [target]}]}],
        }
        config = folder / "prometheus.yml"
        config.write_text(yaml.safe_dump(document))
        self._address = f"127.0.0.1:{free_port()}"
        self._log = folder / "prometheus.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    tool("prometheus"),
                    f"--config.file={config}",
                    f"--storage.tsdb.path={folder / 'tsdb'}",
                    f"--web.listen-address={self._address}",
                    "--log.level=warn",
                ],
                stdout=log,
                stderr=log,
            )

    def __enter__(self) -> Self:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"http://{self._address}/-/ready", timeout=2):
                    return self
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        self.__exit__(None, None, None)
        raise AssertionError(f"prometheus is not ready: {self._log.read_text()[-2000:]}")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)

    def ask(self, page: str, **parameters: str) -> Any:
        """Return `data` of an answer of the HTTP interface; fail with its words where it refuses."""
        address = f"http://{self._address}/api/v1/{page}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as refusal:
            raise AssertionError(f"{parameters}: {refusal.read().decode()}") from None

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the samples of an expression, now."""
        found: list[dict[str, Any]] = self.ask("query", query=expression)["result"]
        return found
