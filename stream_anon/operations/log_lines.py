"""What each log line asks of an operator: for `stream-anon logs-explain`, and as the page docs/logs.md.

`python -m stream_anon.operations.log_lines FILE` writes the page; a test compares the committed file with the code.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stream_anon.adapters.logs import Event
from stream_anon.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Advice:
    """The levels an event is written with, and what to do about it."""

    levels: str
    action: str


ADVICE: Mapping[Event, Advice] = {
    Event.STARTED: Advice("info", "Nothing; compare `policy` and `software` when two workers differ."),
    Event.SERVING: Advice("info", "Nothing; `public` is for probes and Prometheus, `admin` for people."),
    Event.COMPILING: Advice(
        "info",
        "Wait for `compiled`: it takes a minute or two. If it comes at every start, no cache can be written: see "
        "`NUMBA_CACHE_DIR` in docs/install.md.",
    ),
    Event.COMPILED: Advice("info", "Nothing; `seconds` tells how long it took."),
    Event.SLOW_READING: Advice(
        "warning",
        "Nothing, if few records come. Else flatten the input: the attributes named are more than 24 objects deep.",
    ),
    Event.READY: Advice("info", "Nothing."),
    Event.NOT_READY: Advice("warning", "Read `reason`; if it lasts, runbook not-ready."),
    Event.STOPPING: Advice("info", "Nothing, if somebody asked for it; else look for `failed` beside it."),
    Event.STOPPED: Advice("info", "Nothing."),
    Event.LEFT_LATE: Advice("error", "Nothing is lost. If it comes again, look for a broker that does not answer."),
    Event.FAILED: Advice(
        "error",
        "Read `error`. Wrong settings and refused permissions need a person (`stream-anon check`); all else is a "
        "bug: report the line.",
    ),
    Event.WORKER_ENDED: Advice(
        "error",
        "Look for `failed` of the same `worker` before it. A `code` below 0 is a signal: -9 is often the kernel, "
        "out of memory.",
    ),
    Event.WORKER_NOT_STARTED: Advice(
        "error",
        "Read `error`; the other workers go on. If it lasts, the limit on memory, processes or files is too low.",
    ),
    Event.WORKER_SILENT: Advice(
        "error", "Nothing; over and over: the machine is starved of processor, or it is a bug."
    ),
    Event.AT_LEAST_ONCE: Advice("warning", "Runbook at-least-once: it must be somebody's decision."),
    Event.SHADOW: Advice("warning", "Nothing, if it is meant; in a service that must publish, leave out --shadow."),
    Event.PAUSED: Advice("warning", "Nothing, if it is meant; `stream-anon resume` ends it. Lag grows meanwhile."),
    Event.RESUMED: Advice("warning", "Nothing."),
    Event.BROKER_AWAY: Advice(
        "warning",
        "Wait a minute; then see `doing` and `error`, and try `stream-anon check` from the same place.",
    ),
    Event.BROKER_BACK: Advice("info", "Nothing."),
    Event.CERTIFICATE_ENDS: Advice(
        "warning", "Renew the file that `key` names; it is read again without a restart."
    ),
    Event.THROTTLED: Advice(
        "warning",
        "Read `by`. Now and then it does no harm; if it lasts, runbook throttled: raise the quota or limit.",
    ),
    Event.LEDGER_HELD: Advice("error", "Runbook ledger-held-by-transaction, now: find the producer and abort it."),
    Event.REVOKED: Advice("info", "Nothing; many of them in a row mean workers that come and go."),
    Event.ASSIGNED: Advice("info", "Nothing; `taken-over` follows within seconds."),
    Event.ORDER_ADOPTED: Advice("info", "Nothing; `gain` is the share of information loss that it saves."),
    Event.STANDING_BY: Advice("info", "Nothing, if it is meant; more workers than partitions do no more work."),
    Event.SUPERSEDED: Advice(
        "warning", "Nothing while a change of the policy is under way; if it lasts, runbook policy-split."
    ),
    Event.TAKEN_OVER: Advice("info", "Nothing; `starts` tells where each partition goes on."),
    Event.OFFSET_SKIPPED: Advice(
        "warning", "Find out who set the group's offsets ahead: the records between are never published."
    ),
    Event.LEDGER_CREATED: Advice(
        "info", "Nothing on a first run. On any later one the ledger was lost: runbook offsets-unprotected."
    ),
    Event.LEDGER_ENTRY_MISSING: Advice("error", "Runbook offsets-unprotected, now."),
    Event.PARTITION_STOPPED: Advice("error", "Runbook partition-stopped; `explanation` names the offsets."),
    Event.INPUT_LOST: Advice("warning", "Runbook input-lost: raise the retention of the input."),
    Event.WINDOW_PUBLISHED: Advice("info", "Nothing; the one line a window leaves."),
    Event.WINDOW_ABANDONED: Advice(
        "info, warning", "Nothing: its records are read again. Over and over: runbook stalled."
    ),
    Event.WINDOW_WITHHELD: Advice(
        "error", "Runbook attribute-missing: mend the name or the path, and start again. Nothing was published."
    ),
    Event.GATE_VIOLATION: Advice("error", "Runbook gate-violation: nothing unsafe was published, but it is a bug."),
    Event.AUDIT_FAILED: Advice("error", "Runbook audit-failed, now: the window is published."),
    Event.COMMIT_UNCERTAIN: Advice(
        "warning", "Nothing: ledger and stable offsets decide. Over and over: read `error`, then runbook stalled."
    ),
    Event.COMMIT_SETTLED: Advice("warning", "Nothing; no record was lost or published twice."),
    Event.COMMIT_FENCED: Advice(
        "warning", "Nothing: the new owner reads the records again. Often: the worker is starved of processor."
    ),
    Event.LIBRARY: Advice(
        "warning, error", "Nothing by itself; `logger` names the library. Look at our own lines around it."
    ),
}

HEAD = """# Log lines
The service writes one line a window and one for each thing an operator might want to know, to standard error. On
a terminal lines are for people, elsewhere each is a JSON object (`logs.format`: `auto`, `json` or `console`). No
line holds a person's value: only names of topics and attributes, places, counts and times. What a library says is
counted and withheld, for its text may quote a record. `stream-anon logs-explain CODE` prints the same as this page,
which is generated from the code (`python -m stream_anon.operations.log_lines docs/logs.md`).

Every line has `timestamp`, `level` and `event`, one of the codes below. The line of a window:

| field of `window-published` | meaning |
| --- | --- |
| `batch` | the random id in the header of its records, and in its certificate |
| `records_in`, `released` | records taken in and published |
| `suppressed`, `rejected` | records kept back and dead letters, by reason; empty where there were none |
| `classes`, `achieved_k` | published classes, and the least number of people in one |
| `loss` | information loss (GCP), 0 to 1 |
| `age` | seconds the window was open |
| `close_seconds`, `publish_seconds` | what closing and the transaction took |

"""


def explain(code: str) -> str:
    """Return meaning and advice of an event.

    Raises
    ------
    SettingsError
        If there is no such event; the message names those that are.
    """
    known = {event.value: event for event in Event}
    if code not in known:
        raise SettingsError("CODE", f"no such event; there are {', '.join(sorted(known))}")
    event = known[code]
    advice = ADVICE[event]
    return f"{event.value} ({advice.levels})\n{event.meaning}\nWhat to do: {advice.action}"


def logs_page() -> str:
    """Return the page."""
    rows = [
        f"| `{event.value}` | {ADVICE[event].levels} | {event.meaning} | {_linked(ADVICE[event].action)} |"
        for event in Event
    ]
    return HEAD + "\n".join(["| code | level | meaning | what to do |", "| --- | --- | --- | --- |", *rows]) + "\n"


def _linked(action: str) -> str:
    head, word, tail = action.partition("unbook ")
    if not word:
        return action
    name = tail.split(maxsplit=1)[0].rstrip(".,:;")
    return f"{head}{word}[{name}](runbooks/{name}.md){tail.removeprefix(name)}"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(logs_page(), encoding="utf-8")
