"""What the scripts of this folder have in common: one core, what the figures depend on, results in a file."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np


def machine() -> dict[str, Any]:
    """Return what the figures depend on."""
    cpuinfo = Path("/proc/cpuinfo")
    models = [
        line.partition(":")[2].strip()
        for line in (cpuinfo.read_text().splitlines() if cpuinfo.exists() else [])
        if line.startswith("model name")
    ]
    return {
        "processor": models[0] if models else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": platform.system(),
    }


def in_words(about: dict[str, Any]) -> str:
    """Return what `machine` found as one line."""
    return ", ".join(f"{name} {value}" for name, value in about.items())


def on_one_core() -> None:
    """Keep this process on its last core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def write_json(path: Path | None, found: object) -> None:
    """Write results to a file, its folder made if need be; nothing where no file was asked for."""
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found, indent=2) + "\n")
