"""What the programs that measure on a real Kafka share: options, what may be missing, and where results go."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from benchmarks.adult import DATA
from benchmarks.report import in_words, machine, write_json
from tests.support.apache_kafka import missing_parts

Results = list[dict[str, Any]]


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that all of them take."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of adult.csv and its hierarchies")
    parser.add_argument("--json", type=Path, help="write the results here as well, a list")
    return parser


def measured_on_kafka(
    parser: argparse.ArgumentParser,
    run: Callable[[argparse.Namespace, Path], Coroutine[Any, Any, Results]],
    passed: Callable[[Results], bool] = lambda _: True,
) -> int:
    """Measure with the options given and in a folder that is removed; return the exit code.

    It is 2 if a part or the table is missing, and 1 if the results do not pass.
    """
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # a broker that is away is no news here
    given = parser.parse_args()
    missing = missing_parts() or ("" if (given.data / "adult.csv").exists() else "adult.csv is not there: --data")
    if missing:
        print(missing, file=sys.stderr)
        return 2
    about = machine()
    print(in_words(about), flush=True)
    with tempfile.TemporaryDirectory(prefix="on-kafka") as folder:
        results = asyncio.run(run(given, Path(folder)))
    write_json(given.json, [{**found, "machine": about} for found in results])
    return 0 if passed(results) else 1
