"""Prometheus' own tool, where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def tool(name: str) -> str:
    """Return the path of `promtool` or `prometheus`; skip where it is absent, fail on the machine of CI."""
    found = shutil.which(name)
    if found is None and os.environ.get("CI") == "true":
        pytest.fail(f"{name} is not installed (Debian: prometheus)")
    if found is None:
        pytest.skip(f"{name} is not installed (Debian: prometheus)")
    return found


def run_promtool(*arguments: str | Path, given: bytes | None = None) -> str:
    """Return what promtool wrote; fail with it where it objects."""
    run = subprocess.run(
        [tool("promtool"), *map(str, arguments)], input=given, capture_output=True, timeout=300, check=False
    )
    written = (run.stdout + run.stderr).decode()
    assert run.returncode == 0, written
    return written
