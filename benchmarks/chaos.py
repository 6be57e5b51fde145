"""Break workers, their broker and the lines between them at random, then account for every record.

    python benchmarks/chaos.py [--faults N] [--seed S] [--control] [--assignment packed|spread]
        [--workers N] [--most N] [--families] [--window N] [--json FILE]

Starts a real Apache Kafka (Java 17, Maven), three workers or more as processes and a producer that numbers its
records. Topics that are deleted and policies that change are among the faults. The exit code is 1 if a record was
lost or published twice, a class has fewer than k people, a certificate disagrees with what is there, or a worker
ended or hung by itself; with --control also if zombies without a fence repeat nothing. About 8 s a fault on a
quiet machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import tempfile
import uuid
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.report import machine, write_json
from tests.support.apache_kafka import missing_parts
from tests.support.storm.control import MOST_ZOMBIES, UNFENCED, wake_zombies
from tests.support.storm.report import Report
from tests.support.storm.stage import stage_behind_lines
from tests.support.storm.storm import MOST, WORKERS, Storm


async def storm(given: argparse.Namespace, folder: Path) -> Report:
    async with stage_behind_lines(folder, f"c{uuid.uuid4().hex[:8]}") as (plain, lines):
        large = {"window": {"max_records": given.window, "max_delay": "20s"}}
        stage = plain if given.window is None else replace(plain, settings=large)
        packed = given.assignment == "packed"
        weather = Storm(
            stage,
            lines,
            given.seed,
            given.rate,
            _say,
            packed=packed,
            most=given.most,
            families=given.families,
            workers=given.workers,
        )
        return await weather.run(given.faults, given.limit or 60 + 12.0 * given.faults)


def _say(text: str) -> None:
    print(text, flush=True)


async def control(folder: Path) -> dict[str, int]:
    """Return how many zombies without a fence it took to publish records twice."""
    async with stage_behind_lines(folder, f"c{uuid.uuid4().hex[:8]}") as (stage, _):
        zombies, duplicated = await wake_zombies(stage, UNFENCED, MOST_ZOMBIES)
    return {"zombies": zombies, "duplicated": duplicated}


def main() -> int:
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # a broker that is away is no news here
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=300.0, help="records a second")
    parser.add_argument("--limit", type=float, help="seconds after which no further fault begins")
    parser.add_argument(
        "--control", action="store_true", help="also show that zombies without a fence repeat records"
    )
    parser.add_argument("--assignment", choices=("packed", "spread"), default="packed", help="kafka.assignment")
    parser.add_argument("--window", type=int, help="window.max_records, with a delay of 20 s; 200 and 1 s without")
    parser.add_argument("--most", type=int, help="privacy.returning.most: how often one person is released")
    parser.add_argument("--families", action="store_true", help="an illness is published as its family")
    parser.add_argument("--workers", type=int, default=WORKERS, choices=range(1, MOST + 1), help="as a rule")
    parser.add_argument("--keep", type=Path, help="an empty folder for logs and settings of all workers")
    parser.add_argument("--json", type=Path, help="write the results here as well")
    given = parser.parse_args()
    missing = missing_parts()
    if missing:
        print(missing, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="chaos") as folder:
        report = asyncio.run(storm(given, given.keep or Path(folder) / "storm"))
        figures = {"machine": machine(), **report.figures()}
        if given.control:
            figures["control"] = asyncio.run(control(Path(folder) / "control"))
    print(json.dumps(figures, indent=2))
    write_json(given.json, figures)
    proven = not given.control or figures["control"]["duplicated"] > 0
    return 0 if report.verdict.clean and not report.failures and proven else 1


if __name__ == "__main__":
    raise SystemExit(main())
