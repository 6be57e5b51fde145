"""What the exit codes of `stream-anon` mean; docs/reference/commands.md shows the same table."""

from __future__ import annotations

from collections.abc import Mapping

MEANINGS: Mapping[int, str] = {
    0: "done; a check or an audit found nothing",
    1: "a check or an audit found something; `leakage`, `attack` or `report` measured more than its threshold; "
    "none of the given keys has signed a file; no planned setting meets the limits; too many records were "
    "rejected; a run or a release was refused; `audit --k` asked for more than the records have; or the service "
    "gave up",
    2: "settings, files or options are wrong",
    3: "the broker, the schema registry or the service to which an order was sent cannot be reached, or refuses",
    130: "interrupted by Ctrl-C, or `anonymize` by SIGTERM; `run` ends with 0, because it was asked to stop",
}


def epilog() -> str:
    """Return the exit codes as lines for `--help`."""
    return "Exit codes\n\n" + "\n\n".join(f"{code}  {meaning}" for code, meaning in MEANINGS.items())
