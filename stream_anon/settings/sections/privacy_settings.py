"""Settings of what must hold of every published class."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from stream_anon.microdata.bounds import MOST_RETURNS, k_of_risk
from stream_anon.microdata.choices.window_limits import MOST_RECORDS
from stream_anon.microdata.diversity import MOST_CLASS
from stream_anon.microdata.policy import MOST_REVISION
from stream_anon.microdata.policy_checks import MOST_EXTRA_LEVELS, MOST_SHIELDS
from stream_anon.settings.sections.criterion_settings import DiversitySettings
from stream_anon.settings.sections.section import Duration, Section

SHARE_PATTERN = r"^(100(\.0+)?|[0-9]{1,2}(\.[0-9]+)?) ?%$"


class IndividualSettings(Section):
    """The attribute that tells individuals apart, and which spellings of an id are one individual's."""

    explanation = """\
Instead of a name alone. Every spelling of an id counts as an individual of its own, but for the
differences that `normalize` names. They are taken away in this order, in every way in, before anybody is counted:

- `nfkc`: Unicode's compatibility form (letters composed or not, full width, ligatures).
- `casefold`: upper and lower case.
- `strip`: blanks, control and format characters at both ends. An id that consists of nothing else is missing.
- `uuid`: case, braces, hyphens and `urn:uuid:` of a UUID.
- `digits`: zeros in front of an id of digits alone, and the script of the digits.

`stream-anon check` counts in a sample how many ids each of them would make alike. Two people's ids that are made
alike by mistake make classes larger than they had to be, never smaller. An id of more than 512 characters is
rejected where anything is normalized. `input.null_values` are compared before. Dropping a step weakens a policy."""

    field: str = Field(min_length=1)
    """Attribute that tells individuals apart."""
    normalize: list[Literal["nfkc", "casefold", "strip", "uuid", "digits"]] = []
    """Differences that do not count: Unicode's form, case, blanks around, UUIDs, zeros in front."""


class ShieldSettings(Section):
    """Every published tuple of these quasi-identifiers is shared by at least k individuals."""

    explanation = """\
`k` of `privacy` is the requirement on all quasi-identifiers; a shield is a further one on some of
them, such as `shields: [{attributes: [age, zip], k: 50}]`: what is published of age and zip, whatever stands
beside it, is shared by 50 individuals of the window. A shield whose `k` is no larger than `privacy.k`, or than
that of a shield on the same attributes and more, is met anyway. Classes are formed as without shields. Where too
few share a tuple of its attributes, these attributes are published coarser until enough do, at the least loss;
what this would take above `max_level` is suppressed (`shield`). A window of fewer individuals than any `k` is
suppressed whole or held (`window.shortfall`). Of methods for files, `iab` meets shields as it meets its
`requirements`, others suppress what falls short, and `anatomy` refuses them."""

    attributes: list[Annotated[str, Field(min_length=1)]] = Field(min_length=1)
    """Quasi-identifiers."""
    k: int = Field(ge=2, le=MOST_CLASS)
    """Least individuals that share each published tuple of them."""


class ReturningSettings(Section):
    """How often one person is released at most, whatever windows they come to."""

    explanation = """\
For `run` with `delivery: exactly-once`, and one `input` topic that is keyed by person: all records of
a person stand in one partition. A release is a window with one or more records of a person. Further records of a
person who has had `most` releases are suppressed (`returning`). Periods are counted from the epoch: a person is
released at most `most` times in each of them, and at most twice as often in any stretch of time as long as one.
Counts are kept in the topic `kafka.returns`, in each window's transaction, under pseudonyms that follow from the
key. What is promised: [privacy.md](../explain/privacy.md#returns-how-often-one-person-is-released). How to run
it: [operations.md](../guides/operations.md#returns)."""

    most: int = Field(ge=1, le=MOST_RETURNS)
    """Releases of one person in a period."""
    period: Duration = Field(ge=60, le=366 * 86_400)
    """Length of a period, such as 30d."""
    key_file: Annotated[str, Field(min_length=1)] | None = None
    """A file with a secret of 16 bytes or more, relative to this one, the same for all workers: run needs it.
    With another key all counts start again from zero."""


class PresenceSettings(Section):
    """How many of the people who fit a class are in this class, at most: the upper bound of delta-presence."""

    explanation = """\
Of all people of the population who fit what is published of a class, at most the share `most` may be
individuals of the class. `population` is a CSV file: a column for each quasi-identifier, by the column that it
has in a CSV file of records, with values as records have them, an empty cell for none; and the column `count`,
how many people have this combination. People who are missing from it do not count. Where a class has too many, it
is united with one near it; what still has too many, and what fixed levels publish, is suppressed (`presence`).
Every quasi-identifier is published as nodes. It is not for `method: anatomy` and `iab`, and with another method
not for `unknown: root`. The population is published nowhere: certificates and policy documents have its hash and
size. See [privacy.md](../explain/privacy.md#presence-whether-somebody-is-in-the-data-at-all)."""

    population: Annotated[str, Field(min_length=1)]
    """A file of how many people have each combination of quasi-identifiers, relative to this one."""
    most: float = Field(gt=0, lt=1)
    """Largest share, of the people who fit a class, that may be in it."""


def _said(k: object) -> object:
    """Return a k that somebody has written; ValueError where nothing stands behind the word."""
    if k is None:
        raise ValueError("must be a number from 2 on, or the word none")
    return k


class PrivacySettings(Section):
    """What must hold of every published class."""

    explanation = """See [privacy.md](../explain/privacy.md). `individual: person_id` is short for
`individual: {field: person_id}`.

One of `k` and `max_risk` is required. `max_risk: 0.09` means the same as `k: 12`: somebody who knows that a
person is in a class of 12 guesses their record with a probability of 1/12, and 1/11 is above 0.09. Both are the
same policy, with the same digest. If both are given, they must agree. A variable of the environment or an option
that gives one of them replaces both of the file.

With `k: none` a class needs no number of people: only `shields` protect, and a quasi-identifier in none of them
is unprotected. It is for files that `method: iab` recodes. The word must be written out: a `k` that is missing or
empty is an error. `max_share` is a share of a class of k individuals and must be left out then.

`max_suppressed` is compared with the records of a window that would be released or suppressed; those over their
individual's limit are among the suppressed. A window above it is published with an alert (`publish`) or suppressed
whole (`suppress`). No window waits until it would suppress less: its moment of publication would tell what the last
records are like.

With `counterfeits` k is asked of a class's records, and half of k of its people: `anonymize` refuses it without a
`method`, and `run` always. What that promises, and what not:
[privacy.md](../explain/privacy.md#counterfeits-who-stays-vulnerable)."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["k"]}, {"required": ["max_risk"]}]})

    k: Annotated[
        Annotated[int, Field(ge=2, le=MOST_CLASS)] | Literal["none"] | SkipJsonSchema[None],
        BeforeValidator(_said),
    ] = None
    """Least number of distinct individuals in a published class, 2 to 1,000,000; none asks nothing of classes, for
    files that iab recodes by shields. Required without max_risk."""
    max_risk: float | None = Field(default=None, ge=1 / MOST_CLASS, le=0.5)
    """In place of k: largest probability with which a guess at a person's record within their class is right, such
    as 0.09. k is the least number with 1 / k at or below it."""
    individual: Annotated[str, Field(min_length=1)] | IndividualSettings
    """Attribute that tells individuals apart, or every-record, which cannot be combined with kafka.envelope:
    debezium or cloudevents; or a mapping that also says which spellings of an id are one individual's."""
    max_share: float = Field(default=0.5, gt=0, le=1)
    """Largest part of a class's records that may belong to one individual."""
    sensitive: dict[str, DiversitySettings] = {}
    """Criteria by name of the sensitive attribute."""
    extra_levels: int = Field(default=0, ge=0, le=MOST_EXTRA_LEVELS)
    """Raise each published node at random by up to so many levels; needs publish: nodes."""
    shields: list[ShieldSettings] = Field(default=[], max_length=MOST_SHIELDS)
    """Further requirements, each on some quasi-identifiers: see privacy.shields."""
    max_suppressed: (
        Annotated[int, Field(ge=0, le=MOST_RECORDS)] | Annotated[str, Field(pattern=SHARE_PATTERN)] | None
    ) = None
    """How many of a window's records may be suppressed: a share such as 5%, or a number; by default any."""
    above_max_suppressed: Literal["publish", "suppress"] = "publish"
    """What becomes of a window that would suppress more: it is published with an alert, or suppressed
    whole."""
    returning: ReturningSettings | None = None
    """How often one person may be released: see privacy.returning."""
    presence: PresenceSettings | None = None
    """Largest share of the people who fit a class that may be in it: see privacy.presence."""
    counterfeits: Annotated[str, Field(pattern=SHARE_PATTERN)] | None = None
    """Share of a file's released records that may be nobody's, such as 1%, at most 10%: with a method they
    complete classes of fewer than k people, which would be suppressed. By default none."""
    revision: int = Field(default=0, ge=0, le=MOST_REVISION)
    """Raise it with every change of the policy; a lower one never takes over from a higher one."""
    accept_weaker: str = Field(default="", pattern=r"^(sha256:[0-9a-f]{64})?$")
    """Hash of this policy, if it may promise less than the one before it; a refused run prints it."""

    @model_validator(mode="after")
    def _has_one_k(self) -> PrivacySettings:
        if self.max_risk is None:
            if self.k is None:
                raise ValueError("k or max_risk is required, such as max_risk: 0.09")
        elif self.k not in (None, least := k_of_risk(self.max_risk)):
            raise ValueError(
                f"k: {self.k} and max_risk: {self.max_risk} do not agree, which asks for k: {least}; leave one of "
                "them out"
            )
        return self

    @property
    def asked_k(self) -> int | None:
        """Return the k of classes; None only where the word none says so."""
        if self.k is None and self.max_risk is not None:
            return k_of_risk(self.max_risk)
        return None if self.k == "none" else self.k

    @property
    def asked_share(self) -> float:
        """Return the largest share of a class; all of it where nothing is said and no k makes classes."""
        said = self.k != "none" or "max_share" in self.model_fields_set
        return self.max_share if said else 1.0

    @property
    def individuals(self) -> IndividualSettings:
        """Return what tells individuals apart, written out."""
        given = self.individual
        return given if isinstance(given, IndividualSettings) else IndividualSettings(field=given)
