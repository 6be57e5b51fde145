"""The conditions that forbid a run, each with the name under which it can be accepted.

`stream-anon check` and `stream-anon run` ask for the same ones. Those that records and policy alone tell, see
`judging.prohibitions`, forbid the release of files, of frames and in hosts too. A condition that somebody accepts,
by `--accept-risk NAME` or `kafka.accept_risks`, is named in every certificate.
"""

from __future__ import annotations

from enum import StrEnum


class Condition(StrEnum):
    """What forbids a run."""

    BROKERS = "brokers"
    MISSING_TOPIC = "missing-topic"
    DURABILITY = "durability"
    OUTPUT_CLEANUP = "output-cleanup"
    APPEND_TIME = "append-time"
    LEDGER_CLEANUP = "ledger-cleanup"
    LEDGER_INCOMPLETE = "ledger-incomplete"
    MIRRORED_INPUT_UNALIGNED = "mirrored-input-unaligned"
    PERMISSIONS = "permissions"
    INPUT_UNREADABLE = "input-unreadable"
    NO_RECORD_FITS = "no-record-fits"
    MISSING_FIELD = "missing-field"
    RARE_VALUES = "rare-values"
    DISGUISED_IDENTIFIER = "disguised-identifier"
    OUTPUT_SCHEMA = "output-schema"
    SCATTERED_PEOPLE = "scattered-people"
    RELEASE_EXPIRED = "release-expired"

    @property
    def meaning(self) -> str:
        """Return what it says, as one sentence."""
        return _MEANINGS[self]


_MEANINGS = {
    Condition.BROKERS: "The brokers are older than Apache Kafka 4.0 or know no transactions.",
    Condition.MISSING_TOPIC: "A topic does not exist or cannot be described. A run waits until it is there.",
    Condition.DURABILITY: "A topic can lose acknowledged records: too few replicas, too few in sync, or elections "
    "of replicas that lag behind. `kafka.development: true` allows it too.",
    Condition.OUTPUT_CLEANUP: "The output, the certificates or the dead letters are compacted, though records have "
    "no key.",
    Condition.APPEND_TIME: "The brokers stamp the output's records with the time of each append, to the "
    "millisecond (`message.timestamp.type`), in place of the window's second.",
    Condition.LEDGER_CLEANUP: "Entries of the ledger, or counts of releases, can expire, or the topic of counts "
    "takes no entry of the largest size or cannot be inspected; the finding names the setting.",
    Condition.LEDGER_INCOMPLETE: "The group has committed offsets that the ledger does not know, so nobody can "
    "tell whether they were set back. Only `check` asks this: a run goes on from them and logs "
    "`ledger-entry-missing`.",
    Condition.MIRRORED_INPUT_UNALIGNED: "The input was copied from another cluster, where some of its records were "
    "released, and the ledger of this cluster does not say up to which one. `stream-anon realign` writes that.",
    Condition.PERMISSIONS: "The user lacks a permission that a run needs.",
    Condition.INPUT_UNREADABLE: "The user may not read the input, or it holds records and none of the newest ones "
    "can be read.",
    Condition.NO_RECORD_FITS: "None of the sampled records of the input fits the policy.",
    Condition.MISSING_FIELD: "No sampled record has a value of a declared field. `accept_missing: true` accepts "
    "it for one attribute. Where the input is empty at the start, a run judges its first window instead.",
    Condition.RARE_VALUES: "More than 5 % of the values of a field that is published unchanged are held by fewer "
    "than k individuals. `accept_linkable: true` accepts it for one attribute.",
    Condition.DISGUISED_IDENTIFIER: "The values of a field that is published unchanged look like names, addresses "
    "or numbers of people. `accept_linkable: true` accepts it for one attribute.",
    Condition.SCATTERED_PEOPLE: "Sampled records of one individual lie in several partitions of the input, and "
    "`privacy.returning` counts releases by partition.",
    Condition.RELEASE_EXPIRED: "The last day of the release, `release.valid_until`, has passed. A run that is "
    "under way then ends before it publishes another window.",
    Condition.OUTPUT_SCHEMA: "The registry would refuse the output's schema as incompatible with its subject, or "
    "the subject's newest schema is another one and `kafka.registry.register_schema: false` forbids registering "
    "it. Only `check` asks this: a run ends with an error.",
}
