"""What an audit found: violations that name windows, classes and attributes, never a person's value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

from stream_anon.audit.digests.comparing import Uncompared
from stream_anon.audit.scope import Removed
from stream_anon.microdata.diversity import Disclosure


class Kind(StrEnum):
    """What is wrong. The value is the text of a report, which names window, class and attribute beside it."""

    # One certificate
    MALFORMED_CERTIFICATE = "this is no readable part of a certificate or policy document"
    LATER_VERSION = "this was written by a later release of stream-anon: audit it with that release"
    WRONG_DOCUMENT = "a policy document cannot be read, has another hash than its name, or is one too many"
    MISSING_POLICY = "the policy document that the certificate names is missing"
    MISSING_PART = "parts of the certificate are missing"
    PARTS_DISAGREE = "parts of the certificate contradict each other"
    BATCH_TWICE = "two certificates have this batch id, or a part of one stands there twice"
    WRONG_BATCH = "the header names another batch than the certificate"
    WRONG_CRITERIA = "the certificate states other criteria than its policy asks, or some that no policy can ask"
    WRONG_INDIVIDUAL = "the certificate counts other individuals than its policy, or reads their ids in another way"
    WRONG_TIMES = "the window closed before it opened, or on a day that does not exist"
    WRONG_IN = "in is not released + suppressed + rejected + ignored, less counterfeits"
    WRONG_SUPPRESSED = "suppressed is not the sum of its reasons"
    WRONG_SUPPRESSION = "what is said of max_suppressed, or was done about it, does not follow from the counts"
    WRONG_REJECTED = "rejected is not the sum of its reasons"
    UNKNOWN_REASON = "records were suppressed, rejected or ignored for a reason that does not exist"
    WRONG_RELEASED = "released is not the sum of the classes' records"
    TOO_FEW_INDIVIDUALS = "the class has fewer than k individuals"
    TOO_MANY_INDIVIDUALS = "the class has more individuals than records, or fewer where every record counts as one"
    WRONG_ACHIEVED_K = "achieved k is not the least number of individuals in a class"
    WRONG_ACHIEVED_L = "achieved distinct_l is below what is asked, above what records show, or was not asked for"
    WRONG_ACHIEVED_SPREAD = "an achieved figure is missing, not asked for, too weak, or better than its values show"
    WRONG_ACHIEVED_SHIELD = "an achieved shield is missing, not asked for, too weak, or not what the classes show"
    TOO_MANY_PRESENT = "of the people who fit the class, a larger share is in it than presence allows"
    WRONG_ACHIEVED_PRESENCE = "achieved presence is missing, not asked for, too high, or not what the classes show"
    CLASS_TWICE = "two classes have the same published values"
    WRONG_ATTRIBUTES = "the class does not have just the policy's quasi-identifiers, in their order"
    ILLEGAL_CLASS_VALUE = "the class has a value that the policy cannot publish"
    WRONG_NCP = "the class's NCP is not that of its published values"
    WRONG_GCP = "GCP is not that of the classes and of what is suppressed"
    WRONG_RANGE = "an input range ends before it starts, stands twice for its partition, or has losses outside it"
    WRONG_TOPIC = "an input range is of a topic that the settings do not read"
    WRONG_MISSING = "missing names no published attribute, or a number that the records cannot have"
    WRONG_ACCEPTED = "the certificate names an accepted risk twice"
    WRONG_SERIES = "the series' counterfeits are not what classes have beyond individuals, or m is not distinct_l"
    WRONG_COUNTERFEITS = "what is said of counterfeits is not what the classes show, or more than is allowed"
    TOO_MANY_RECORDS = "the window has more records than its input ranges can hold"
    # All certificates
    GAP = "an input range starts after the end of the one before: offsets between them are in no certificate"
    OVERLAP = "an input range starts before the end of the one before: records may be released twice"
    LIVES_MIXED = "windows that closed at the same time name different ids of one input topic"
    UNKNOWN_PREVIOUS = "the certificate that it names as the one before it is missing"
    PREVIOUS_TWICE = "two certificates name the same one as the one before them"
    # Signatures, where public keys were given
    UNSIGNED = "the certificate or policy document has no signature"
    FORGED = "the signature is wrong: what was signed has changed, or somebody signed in another's name"
    UNKNOWN_SIGNER = "the certificate or policy document is signed by a key that was not given"
    SIGNER_CHANGED = "another key signed the certificate before it, or other parts of this one"
    REPLAYED = "a signed part of the certificate stands there a second time"
    REORDERED = "the certificate stands before the one that it follows"
    # Records
    UNREADABLE = "a partition has offsets that cannot be read"
    NO_BATCH = "records have no batch id in their header"
    METADATA = "records have a key, other headers, or not their window's one time in whole seconds"
    MALFORMED_RECORD = "records cannot be decoded, are no objects, or have a key twice"
    WRONG_SCHEMA = "records name a schema, or stand beside one, that is not their policy's"
    UNDECLARED_FIELD = "records have a field that the policy does not declare"
    IDENTIFYING_FIELD = "records have a field that the policy declares an identifier"
    MISSING_FIELD = "records lack a field that the policy publishes"
    WRONG_TYPE = "a field that passes is not of its declared type"
    ILLEGAL_VALUE = "records have a value that the policy cannot publish"
    UNCERTIFIED_CLASS = "records have published values that no class of the certificate has"
    WRONG_CLASS_SIZE = "the class has another number of records than certified"
    WRONG_DIGEST = "the class's records are not those that were certified: their digest differs"
    DIGESTS_WITHOUT_KEY = "a digest key is given, but there are no digests, or their key or policy is unknown"
    TOO_FEW_RECORDS = "a class has fewer than k records"
    TOO_FEW_SHIELDED = "fewer records than a shield asks for share what is published of its attributes"
    TOO_FEW_VALUES = "a class shows fewer different sensitive values than asked"
    UNEVEN_VALUES = "a class's sensitive values are spread less evenly than asked, or than its series requires"
    BROKEN_FAMILY = "a class shows some values of a family and lacks others"
    DISTANT_VALUES = "a class's sensitive values differ more from those of its window than is allowed"
    NO_CERTIFICATE = "records have no certificate"
    NO_RECORDS = "certified records are missing"
    EXTRA_RECORDS = "there are more records than certified"


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is wrong.

    Parameters
    ----------
    kind
        What is wrong.
    batch
        The window; None where it is not known.
    number
        The class's number in the certificate, from 0; None where no class is at fault or it is not certified.
    attribute
        Name of a declared attribute, or topic and partition: of an input range, or of what cannot be read.
    count
        How often: records, classes, parts or offsets.
    """

    kind: Kind
    batch: str | None = None
    number: int | None = None
    attribute: str | None = None
    count: int = 1


@dataclass(frozen=True, slots=True)
class AuditCounts:
    """How much was looked at.

    `on_trust` are windows whose policy is not known, `recounted` those whose records were compared with digests.
    `lost` are the offsets of the input that nobody could read, as certificates say. `signed` are windows whose
    signatures hold.
    """

    windows: int = 0
    on_trust: int = 0
    parts: int = 0
    partitions: int = 0
    classes: int = 0
    records: int = 0
    recounted: int = 0
    lost: int = 0
    signed: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """What one policy promises less and more than another.

    Parameters
    ----------
    weaker
        Settings, and what they were and became.
    stronger
        Settings.
    """

    weaker: tuple[str, ...] = ()
    stronger: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Life:
    """The windows over one input topic from its creation to its deletion.

    Parameters
    ----------
    topic_id
        Kafka's id; empty where no certificate names one.
    first, last
        When the first and the last of these windows closed, as certificates write it.
    batch
        The first of these windows.
    """

    topic: str
    topic_id: str
    first: str
    last: str
    windows: int
    batch: str

    def joined(self, other: Life) -> Life:
        """Return this life with another one that turned out to be the same."""
        first = min((self.first, self.batch), (other.first, other.batch))
        windows = self.windows + other.windows
        return Life(self.topic, self.topic_id, first[0], max(self.last, other.last), windows, first[1])


@dataclass(frozen=True, slots=True)
class Signer:
    """A key, by the name of its public key, and the windows that it signed.

    Parameters
    ----------
    first, last
        When the first and the last of these windows closed, as certificates write it.
    """

    key: str
    first: str
    last: str
    windows: int

    def joined(self, other: Signer) -> Signer:
        """Return these windows with others of the same key."""
        windows = self.windows + other.windows
        return Signer(self.key, min(self.first, other.first), max(self.last, other.last), windows)


@dataclass(frozen=True)
class Period:
    """The windows of one policy.

    Parameters
    ----------
    promises
        Hash of its document; where it is not known, the digest that certificates name.
    on_trust
        Whether the policy is not known: its windows are judged by what their certificates say was asked.
    k, revision
        What was asked, None for nothing of classes, and the highest revision.
    first, last
        When its first and its last window closed, as certificates write it.
    change
        Compared with the policy whose first window closed before; None for the first.
    least
        Least number of individuals in a class, as certificates say; None without a class.
    """

    promises: str
    on_trust: bool
    k: int | None
    revision: int
    first: str
    last: str
    windows: int
    change: Change | None = None
    least: int | None = None


@dataclass(frozen=True)
class Verdict:
    """The outcome of an audit.

    Parameters
    ----------
    violations
        What is wrong, worst first, up to `MOST_OF_A_KIND` of each kind.
    more
        Number of further violations.
    counts
        How much was looked at.
    checked, trusted
        What was checked, and what had to be taken on trust, for a person to read.
    kinds
        Number of violations of each kind, worst first, those that are not listed included.
    uncompared
        Number of windows whose contents were not compared with digests, by reason; those with none are all others.
    periods
        The policies under which windows were released, oldest first.
    accepted
        Number of windows by the name of a condition that forbids a run and that an operator accepted.
    removed
        What is no longer there.
    pending
        What the given policy would change; None where the last window was released under it.
    lives
        The input topics that certificates name; a topic that was created anew stands here more than once.
    disclosed
        What the classes of windows that were judged whole give away of each sensitive attribute; no violation.
    least
        Least number of individuals in a class of all windows, as certificates say; None without a class.
    signers
        Who signed windows, by when they did so first; nobody where no public keys were given.
    begins
        Seconds since the epoch from which on all certificates are there, where their topic has lost its start;
        infinite where a partition has none left.
    """

    violations: tuple[Violation, ...]
    more: int
    counts: AuditCounts
    checked: tuple[str, ...]
    trusted: tuple[str, ...]
    kinds: Mapping[Kind, int] = field(default_factory=dict)
    uncompared: Mapping[Uncompared, int] = field(default_factory=dict)
    periods: tuple[Period, ...] = ()
    accepted: Mapping[str, int] = field(default_factory=dict)
    removed: Removed = field(default_factory=Removed)
    pending: Change | None = None
    lives: tuple[Life, ...] = ()
    disclosed: Mapping[str, Disclosure] = field(default_factory=dict)
    least: int | None = None
    signers: tuple[Signer, ...] = ()
    begins: float = -inf

    @property
    def clean(self) -> bool:
        """Return whether nothing is wrong."""
        return not self.violations and not self.more
