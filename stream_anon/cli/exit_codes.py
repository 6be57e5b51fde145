"""What the exit codes of `stream-anon` mean; docs/reference/commands.md shows the same table."""

from __future__ import annotations

from collections.abc import Mapping

MEANINGS: Mapping[int, str] = {
    0: "done; a check or an audit found nothing",
    1: "a check or an audit found something, leakage, an attack or a report's risk above a threshold, a file is "
    "not signed by whom it should be, no planned setting meets the limits, too many rejects, a run or a release "
    "was refused, `audit --k` asked for more than holds, or the service gave up",
    2: "settings, files or options are wrong",
    3: "the broker, the schema registry, or the service that an order is for cannot be reached or refuses",
    130: "interrupted by Ctrl-C, `anonymize` by SIGTERM too. `run` ends with 0, because it was asked to stop",
}


def epilog() -> str:
    """Return the exit codes as lines for `--help`."""
    return "Exit codes\n\n" + "\n\n".join(f"{code}  {meaning}" for code, meaning in MEANINGS.items())
