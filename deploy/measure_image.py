"""Print the image's size and how long a cold start takes: `python -m deploy.measure_image` in the project's folder.

A cold start runs from the start of the container's process to its first committed window, with as many records
waiting as fill one. The image is built where it must be, and the broker is started here: podman, buildah, runc,
mmdebstrap, Java and Maven must be there. The base is the tests', not the one that the Dockerfile names.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import gzip
import json
import sys
import tempfile
import time
from pathlib import Path

import yaml

from tests.support import containers
from tests.support.apache_kafka import ApacheKafka
from tests.support.containers import log_lines, podman
from tests.support.service import Stage, make_records, produce

RECORDS = 200
STARTS = 3


def sizes(image: str) -> dict[str, float]:
    """Return megabytes: unpacked in all, of which the base, and as a registry would keep it."""
    whole, base = (json.loads(podman("image", "inspect", name))[0]["Size"] for name in (image, containers.BASE))
    with tempfile.TemporaryDirectory() as folder:
        tar = Path(folder) / "image.tar"
        podman("save", "--format", "oci-archive", "--output", str(tar), image, within=600)
        packed = tar.stat().st_size
        if packed > 0.9 * whole:  # layers that were not compressed
            packed = len(gzip.compress(tar.read_bytes(), 6))
    return {"unpacked": whole / 1e6, "layers above the base": (whole - base) / 1e6, "compressed": packed / 1e6}


def cold_starts(image: str, engine: str) -> list[float]:
    """Return seconds to the first committed window, for some starts each with topics of its own."""
    with tempfile.TemporaryDirectory() as folder, ApacheKafka(Path(folder) / "kafka") as kafka:
        return [_cold_start(kafka, image, engine, Path(folder), turn) for turn in range(STARTS)]


def _cold_start(kafka: ApacheKafka, image: str, engine: str, folder: Path, turn: int) -> float:
    place = folder / str(turn)
    place.mkdir()
    stage = Stage(kafka, f"cold{turn}", place, {"window": {"max_delay": "30s"}})
    asyncio.run(stage.create_topics())
    asyncio.run(produce(stage, make_records(RECORDS, seed=turn)))
    document = yaml.safe_load(stage.config().read_text()) | {"engine": {"name": engine}}
    policy = place / "policy.yaml"
    policy.write_text(yaml.safe_dump(document, sort_keys=False))
    confined = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "all", "--network", "host"]  # noqa: S108
    confined += ["--env", "STREAM_ANON__HTTP__PORT=0"]  # the host's network, and its port may be taken
    mounted = ["--volume", f"{policy}:/etc/stream-anon/policy.yaml:ro"]
    name = podman("run", "--detach", *confined, *mounted, image).strip()
    try:
        return _first_window(name) - _started(name)
    finally:
        podman("rm", "--force", "--time", "15", name)


def _started(name: str) -> float:
    text = json.loads(podman("container", "inspect", name))[0]["State"]["StartedAt"]
    return dt.datetime.fromisoformat(text[:19]).replace(tzinfo=dt.UTC).timestamp() + float(text[19:26])


def _first_window(name: str) -> float:
    for _ in range(600):
        for line in log_lines(name):
            if line["event"] == "window-published":
                return dt.datetime.fromisoformat(line["timestamp"]).timestamp()
        time.sleep(0.2)
    raise TimeoutError("no window was published")


def main() -> None:
    """Print sizes and, for each engine, cold starts."""
    if missing := containers.missing_parts():
        sys.exit(missing)
    image = containers.image()
    print(json.dumps({"size in MB": {name: round(value) for name, value in sizes(image).items()}}))
    for engine in ("mondrian", "forest"):
        starts = sorted(cold_starts(image, engine))
        print(json.dumps({"engine": engine, "cold start in s": [round(value, 1) for value in starts]}))


if __name__ == "__main__":
    main()
