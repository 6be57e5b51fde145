"""Every log line: its code, its levels, what it says, and what an operator does about it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, Self


class Said(NamedTuple):
    """A line to be written: its kind, its level, and what it tells."""

    line: LogLine
    level: str
    fields: Mapping[str, object]


class LogLine(StrEnum):
    """A kind of log line; its value is the code, the field `event` of the line.

    Parameters
    ----------
    levels
        The levels it is written with.
    meaning
        What it says, as a sentence.
    action
        What an operator does about it; docs/reference/logs.md makes a link of the name behind `runbook`.
    """

    levels: str
    meaning: str
    action: str

    def __new__(cls, code: str, levels: str, meaning: str, action: str) -> Self:  # noqa: D102 - makes a member
        member = str.__new__(cls, code)
        member._value_ = code
        member.levels, member.meaning, member.action = levels, meaning, action
        return member

    def said(self, level: str = "", /, **fields: object) -> Said:
        """Return a line of this kind; at the last of its levels, unless another one is given."""
        return Said(self, level or self.levels.rpartition(" ")[2], fields)

    STARTED = (
        "started",
        "info",
        "The worker has read its settings and begins to connect.",
        "Nothing; compare `policy` and `software`, with the revision of its source, when two workers differ.",
    )
    SERVING = (
        "serving",
        "info",
        "Health, metrics and status are served at these addresses.",
        "Nothing; `public` is for probes and Prometheus, `admin` for people.",
    )
    COMPILING = (
        "compiling",
        "info",
        "No cache holds all kernels of this policy: they are compiled, and kept for the next start.",
        (
            "Wait for `compiled`: it takes a minute or two. If this happens at every start, no cache can be "
            "written: see `NUMBA_CACHE_DIR` in docs/start/install.md."
        ),
    )
    COMPILED = (
        "compiled",
        "info",
        "The kernels are compiled; the worker continues.",
        "Nothing; `seconds` tells how long it took.",
    )
    SLOW_READING = (
        "slow-reading",
        "warning",
        "Attributes lie so deep in a record that every record is read one by one, twenty times as slowly.",
        "Nothing, if records are few. Otherwise flatten the input: these attributes are more than 24 objects deep.",
    )
    READY = ("ready", "info", "The worker owns partitions or stands by for them.", "Nothing.")
    NOT_READY = (
        "not-ready",
        "warning",
        "The worker cannot work for now; the reason says why.",
        "Read `reason`; if it lasts, runbook not-ready.",
    )
    STOPPING = (
        "stopping",
        "info",
        "The worker was asked to stop; the open window is closed or abandoned.",
        "Nothing, if somebody asked for it; else look for `failed` beside it.",
    )
    STOPPED = ("stopped", "info", "The worker has left the group; nothing is held any more.", "Nothing.")
    LEFT_LATE = (
        "left-late",
        "error",
        "The worker did not stop in time; its process was ended, as by a crash.",
        "Nothing is lost. If it happens again, look for a broker that does not answer.",
    )
    FAILED = (
        "failed",
        "error",
        "The worker stops because of an error that trying again cannot resolve.",
        (
            "Read `error`. Wrong settings and refused permissions need a person (`stream-anon check`); anything "
            "else is a bug: report the line."
        ),
    )
    WORKER_ENDED = (
        "worker-ended",
        "error",
        "A worker process ended by itself; it is started again.",
        "Look for `failed` of the same `worker` before it. A `code` of -9 is often the kernel, out of memory.",
    )
    FLEET_REFUSED = (
        "fleet-refused",
        "error",
        "The fleet ends, because its settings or a condition forbid starting a worker, or starting one again.",
        "Read the workers' own lines before it: `code` is 2 for settings, 4 for a condition (`stream-anon check`).",
    )
    WORKER_NOT_STARTED = (
        "worker-not-started",
        "error",
        "The system could not start a worker process; the fleet tries again.",
        "Read `error`; the other workers go on. If it lasts, the limit on memory, processes or files is too low.",
    )
    WORKER_SILENT = (
        "worker-silent",
        "error",
        "A worker process was silent for a minute and was killed.",
        "Nothing. If it happens over and over, the machine lacks processor time, or it is a bug.",
    )
    AT_LEAST_ONCE = (
        "at-least-once",
        "warning",
        "Records can be published twice: the settings ask for delivery at least once.",
        "Runbook at-least-once: this must be a deliberate decision.",
    )
    SHADOW = (
        "shadow",
        "warning",
        "This worker publishes nothing: its certificates go to a file, beside the service.",
        "Nothing, if it is meant; in a service that must publish, leave out --shadow.",
    )
    PAUSED = (
        "paused",
        "warning",
        "An operator paused the service: nothing more is read `until` then.",
        "Nothing, if it is meant; `stream-anon resume` ends it. Lag grows meanwhile. Runbook paused.",
    )
    RESUMED = (
        "resumed",
        "warning",
        "A paused service reads again, by an operator's order or because the pause is over (`by`).",
        "Nothing.",
    )
    PAUSE_FORGOTTEN = (
        "pause-forgotten",
        "warning",
        "A service that was paused by an order ends. The order is not kept: the next start reads.",
        "If nothing may be read yet, set `kafka.paused: true` before the next start, or order the pause again.",
    )
    BROKER_AWAY = (
        "broker-away",
        "warning",
        "The broker, or the schema registry, cannot be reached or refuses; it is tried again with growing pauses.",
        "Wait a minute; then see `doing` and `error`, and runbook not-ready (clock, where `doing` is `dating`).",
    )
    BROKER_BACK = ("broker-back", "info", "The broker answers again.", "Nothing.")
    SCHEMA_CHANGED = (
        "schema-changed",
        "warning",
        "Records name a new schema in which declared fields are missing, added or retyped, or that cannot be read.",
        "Runbook schema-changed: compare the named fields with the policy; texts may be finer now. `untold`: more.",
    )
    SCHEMA_UNKNOWN = (
        "schema-unknown",
        "warning",
        "Records name schemas that the registry does not know, or was not asked for: they become dead letters.",
        "Runbook unknown-schemas: look for `schemas` in the registry; `others` and `unasked` count more of them.",
    )
    CERTIFICATE_ENDS = (
        "certificate-ends",
        "warning",
        "A certificate that secures a connection ends within two weeks, or has ended.",
        "Renew the file that `key` names; it is read again without a restart.",
    )
    CLOCK_SET_AHEAD = (
        "clock-set-ahead",
        "warning",
        "The time of day of this machine was set ahead, or the machine was suspended.",
        "Runbook clock: compare the clock with another one. Certificates and log lines have its time from here on.",
    )
    CLOCK_SET_BACK = (
        "clock-set-back",
        "warning",
        "The time of day of this machine was set back by more than five seconds; the worker follows it.",
        "Runbook clock: find out which time was wrong. Certificates and log lines up to here have the earlier one.",
    )
    THROTTLED = (
        "throttled",
        "warning",
        "The brokers' quotas, or a limit on processor time, held the worker back.",
        "Read `by`. Now and then it does no harm; if it lasts, runbook throttled: raise the quota or limit.",
    )
    LEDGER_HELD = (
        "ledger-held",
        "error",
        "A transaction is open on the ledger: windows and takeovers wait until it ends.",
        "Runbook ledger-held-by-transaction, now: find the producer and abort it.",
    )
    REVOKED = (
        "revoked",
        "info",
        "The group took partitions away; their rows have left the open window.",
        "Nothing; many of these in a row mean that workers come and go.",
    )
    ASSIGNED = (
        "assigned",
        "info",
        "The group assigned partitions; their records are not taken until the takeover is done.",
        "Nothing; `taken-over` follows within seconds.",
    )
    STANDING_BY = (
        "standing-by",
        "info",
        "No partition is left for this worker: it takes over when another one fails or has too much to do.",
        "Nothing, if it is meant; see `kafka.assignment`. Workers beyond the number of partitions only stand by.",
    )
    PACKED = (
        "packed",
        "info",
        "Of `members` workers, `carriers` read all partitions; the others stand by.",
        "Nothing; a worker whose load is above 60 % shares its partitions within minutes.",
    )
    SPREAD = (
        "spread",
        "info",
        "The group no longer packs its partitions: a worker of an earlier version, or with `spread`, has joined.",
        "Nothing during a roll-out; afterwards, look at `kafka.assignment` of all workers.",
    )
    GROUP_SHARED = (
        "group-shared",
        "warning",
        "A consumer that is not a worker has joined the group, and may be assigned partitions.",
        "Runbook partitions-unowned, now: records of those partitions are not released.",
    )
    GROUP_UNWATCHED = (
        "group-unwatched",
        "warning",
        "This user may not list the group's members: a consumer that is not a worker would go unnoticed.",
        "Allow the user DESCRIBE on the group (with MSK's IAM: DescribeGroup); it is asked again within 5 minutes.",
    )
    SUPERSEDED = (
        "superseded",
        "warning",
        "The output has been published under a higher revision of the policy: the worker reads nothing more.",
        "Nothing while a change of the policy is under way; if it lasts, runbook policy-split.",
    )
    TAKEN_OVER = (
        "taken-over",
        "info",
        "Partitions are open: their records are taken from these offsets on.",
        "Nothing; `starts` tells where each partition goes on.",
    )
    OFFSET_SKIPPED = (
        "offset-skipped",
        "warning",
        "The committed offset is ahead of the ledger: somebody chose to skip records.",
        "Find out who set the group's offsets ahead: the skipped records are never published.",
    )
    LEDGER_CREATED = (
        "ledger-created",
        "info",
        "The ledger was missing and has been created, as on a first run.",
        "Nothing on a first run. On any later one the ledger was lost: runbook offsets-unprotected.",
    )
    COUNTS_BEGUN = (
        "counts-begun",
        "warning",
        "The topic that counts releases was missing and has been created: nobody counts as released before.",
        "Nothing if privacy.returning is new. Otherwise counts were lost: find out who deleted the topic.",
    )
    COUNTS_PASSED_OVER = (
        "counts-passed-over",
        "warning",
        "The topic that counts releases has entries of another key: the people in them are not counted.",
        "Nothing if the key was changed on purpose. Otherwise give all workers the key that wrote them.",
    )
    PEOPLE_SCATTERED = (
        "people-scattered",
        "error",
        "People of one window have records in several partitions: they may be released as often from each.",
        "Let producers key records by individual. Logged once an hour.",
    )
    LEDGER_ENTRY_MISSING = (
        "ledger-entry-missing",
        "error",
        "Committed offsets have no entry in the ledger: if somebody set them back, nobody would notice.",
        "Runbook offsets-unprotected, now.",
    )
    PARTITION_STOPPED = (
        "partition-stopped",
        "error",
        "A partition is not read until an operator decides.",
        "Runbook partition-stopped; `explanation` names the offsets.",
    )
    INPUT_LOST = (
        "input-lost",
        "warning",
        "Records were deleted unread, or cannot be read; the settings say to go on.",
        "Runbook input-lost: raise the retention of the input.",
    )
    READING_FAULT = (
        "reading-fault",
        "error",
        "Records made a kernel leave the bounds of its arrays, and were rejected: a bug, please report it.",
        "Runbook reading-fault: `start` is the first offset of what was read; keep the records from there on.",
    )
    WINDOW_PUBLISHED = (
        "window-published",
        "info",
        "A window was published and its offsets committed.",
        "Nothing; each window leaves this one line.",
    )
    ORDER_ADOPTED = (
        "order-adopted",
        "info",
        "The engine found a better order of the attributes; later windows use it.",
        "Nothing; `gain` is the share of information loss that it saves.",
    )
    SIZE_LEARNED = (
        "size-learned",
        "info",
        "Going by the loss of published windows, the next ones close at another number of records.",
        "Nothing; where `needed` stays above `by_delay`, `window.target_loss` is not met within `max_delay`.",
    )
    WINDOW_ABANDONED = (
        "window-abandoned",
        "info, warning",
        "A window was dropped unpublished; its records will be read again.",
        "Nothing: its records are read again. If it happens over and over: runbook stalled.",
    )
    WINDOWS_BOUNDED = (
        "windows-bounded",
        "info",
        "The most that a window may hold; logged when the worker starts, and when that grows again.",
        "Nothing; `memory`, if it is bounded, is the bytes that are kept of a window's records.",
    )
    WINDOWS_SMALLER = (
        "windows-smaller",
        "warning",
        "Windows took too long to publish, or memory is short: from now on they close earlier.",
        "Smaller windows lose more. Raise the pod's limit; for `time`, raise kafka.transaction_timeout.",
    )
    WINDOW_WITHHELD = (
        "window-withheld",
        "error",
        "No record of the first window has a value of a declared field: nothing is published, the worker ends.",
        "Runbook attribute-missing: correct the name or the path, and start again. Nothing was published.",
    )
    RELEASE_EXPIRED = (
        "release-expired",
        "error",
        "The policy's `release.valid_until` has passed: nothing more is published, and the worker ends.",
        "Runbook release-expired: whoever is responsible may set a later day. Records wait in the input.",
    )
    ATTRIBUTE_VANISHED = (
        "attribute-vanished",
        "warning",
        "No record has a value any more of attributes that earlier windows had; null is published for all.",
        "Runbook attribute-missing: ask the producers whether they renamed or dropped them. Logged once.",
    )
    ATTRIBUTE_BACK = (
        "attribute-back",
        "info",
        "Attributes that had vanished have values again.",
        "Nothing; records that were released in between stay without values.",
    )
    SUPPRESSED_TOO_MANY = (
        "suppressed-too-many",
        "warning",
        "A window suppresses more records than privacy.max_suppressed allows.",
        "Runbook max-suppressed: `suppressed` tells the reasons. No promise is broken, but records are missing.",
    )
    GATE_VIOLATION = (
        "gate-violation",
        "error",
        "The gate suppressed classes that did not meet the criteria: a bug, please report it.",
        "Runbook gate-violation: nothing unsafe was published, but it is a bug.",
    )
    AUDIT_FAILED = (
        "audit-failed",
        "error",
        "A published window does not match its own certificate.",
        "Runbook audit-failed, now: the window is published.",
    )
    LEAKAGE_UNMEASURED = (
        "leakage-unmeasured",
        "error",
        "Measuring what a published window leaks failed: a bug, please report it.",
        "Nothing else is affected. The metric shows the last window that was measured.",
    )
    SIZE_UNSTUDIED = (
        "size-unstudied",
        "error",
        "Closing parts of a published window, to learn what smaller ones lose, failed: a bug, please report it.",
        "Nothing else is affected. Sizes are learned from whole windows meanwhile.",
    )
    COMMIT_UNCERTAIN = (
        "commit-uncertain",
        "warning",
        "A transaction failed, and it is not known whether it was committed.",
        "Nothing: ledger and stable offsets decide. If it continues: read `error`, then runbook stalled.",
    )
    COMMIT_SETTLED = (
        "commit-settled",
        "warning",
        "The outcome of a failed transaction is known.",
        "Nothing; no record was lost or published twice.",
    )
    COMMIT_FENCED = (
        "commit-fenced",
        "warning",
        "Another worker owns the partitions now: nothing was published.",
        "Nothing: the new owner reads the records again. If it happens often, the worker lacks processor time.",
    )
    LIBRARY = (
        "library",
        "warning, error",
        "A library logged messages; their text is withheld, since it may hold values.",
        "Nothing by itself; `logger` names the library. Look at the service's own lines around it.",
    )
