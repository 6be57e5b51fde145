"""Play schedules by hand: `python -m tests.support.late_requests [--level N] [--unguarded] SCHEDULE...|all`."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.support.late_requests.cluster import cluster_of
from tests.support.late_requests.playing import GUARDED, UNGUARDED, Played, play
from tests.support.late_requests.schedules import SCHEDULES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("schedules", nargs="+", metavar="SCHEDULE", help=", ".join(SCHEDULES))
    parser.add_argument("--level", type=int, help="transaction.version of the brokers; their default if not given")
    parser.add_argument("--unguarded", action="store_true", help="as the control: requests are repeated")
    given = parser.parse_args()
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    names = list(SCHEDULES) if given.schedules == ["all"] else given.schedules
    module = UNGUARDED if given.unguarded else GUARDED
    torn = 0
    for group in in_groups(names):
        for name, played in asyncio.run(_play(group, given.level, module)).items():
            torn += not played.clean
            print(name, json.dumps(played.in_short), flush=True)  # noqa: T201 - a command
    print(f"{len(names)} schedules, {torn} torn")  # noqa: T201 - as above


async def _play(names: Sequence[str], level: int | None, module: str) -> dict[str, Played]:
    size = SCHEDULES[names[0]].size
    with tempfile.TemporaryDirectory(prefix="late-requests-") as folder:
        async with cluster_of(Path(folder) / "kafka", size, level) as cluster:
            plays = (play(SCHEDULES[name], cluster, Path(folder) / name, module) for name in names)
            return dict(zip(names, await asyncio.gather(*plays), strict=True))


def in_groups(names: Sequence[str], most: int = 4) -> list[list[str]]:
    """Return schedules in groups that may be played on one cluster at a time."""
    groups: list[list[str]] = []
    for name in sorted(names, key=lambda name: SCHEDULES[name].size):
        schedule = SCHEDULES[name]
        last = groups[-1] if groups else []
        fits = last and len(last) < most and SCHEDULES[last[0]].size == schedule.size
        if fits and not schedule.alone and not SCHEDULES[last[0]].alone:
            last.append(name)
        else:
            groups.append([name])
    return groups


if __name__ == "__main__":
    main()
