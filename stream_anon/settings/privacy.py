"""Settings of what must hold of every published class."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator

from stream_anon.microdata.bounds import MOST_RETURNS
from stream_anon.microdata.diversity import MOST_CLASS, MOST_DELTA
from stream_anon.microdata.domains.families import MOST_VALUES
from stream_anon.microdata.policy import MOST_EXTRA_LEVELS, MOST_RECORDS, MOST_REVISION, MOST_SHIELDS
from stream_anon.settings.section import Duration, Section

SHARE_PATTERN = r"^(100(\.0+)?|[0-9]{1,2}(\.[0-9]+)?) ?%$"


class RecursionSettings(Section):
    """Recursive (c, l)-diversity."""

    explanation: ClassVar[
        str
    ] = """The most frequent value occurs fewer than `c` times as often as all values from the `l`-th most
frequent on together."""

    c: float = Field(gt=0, le=MOST_CLASS)
    """What the most frequent value's count must stay below, times that of the rest."""
    l: int = Field(ge=2, le=MOST_CLASS)  # noqa: E741 - the letter of the paper
    """Rank of the value with which the rest begins."""


class ClosenessSettings(Section):
    """t-closeness."""

    explanation: ClassVar[
        str
    ] = """The earth mover's distance from the values of the window's released records is at most `t`.
`ordered` needs `type: integer` or `type: number`."""

    t: float = Field(gt=0, lt=1)
    """Largest distance."""
    distance: Literal["equal", "ordered"] = "equal"
    """Any two values are equally far apart, or numbers as far as they stand apart in their order."""


class DiversitySettings(Section):
    """What a sensitive attribute must show in every class; all criteria that are given hold together."""

    explanation: ClassVar[
        str
    ] = """For an attribute of `role: sensitive`. One without an entry is published without a criterion; one
with an entry has at least one, and all that are given hold together, in every class.
[privacy.md](../explain/privacy.md) says what each promises.

`families` are sets of values that somebody who comes back is among, however often. They need `type: string`. With
`publish: family` no value is published as it is, but as its family, and criteria beside it count families as
values. With `publish: value` it is published as it is, and a class that has one of a family's values has all of
them, each held by somebody else; criteria that compare a class with its window are not for it. A record whose
value is in no family is rejected (`unknown-value`, `missing`). A value must have no `|`, which stands between the
values of a published family."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    distinct_l: int | None = Field(default=None, ge=2, le=MOST_CLASS)
    """Least number of distinct values, held by as many different individuals. Of a list: no value is held by more
    than one in so many individuals of a class."""
    entropy_l: float | None = Field(default=None, gt=1, le=MOST_CLASS)
    """Least exponential of the entropy of the values."""
    recursive_cl: RecursionSettings | None = None
    """Recursive (c, l)-diversity."""
    t_closeness: ClosenessSettings | None = None
    """Largest distance of the values from those of the window."""
    p_sensitive: int | None = Field(default=None, ge=2, le=MOST_CLASS)
    """The same as distinct_l."""
    alpha: float | None = Field(default=None, gt=0, lt=1)
    """Largest share of one value."""
    delta_disclosure: float | None = Field(default=None, gt=0, le=MOST_DELTA)
    """A value's share in a class is below e^delta times that in the window, and conversely; none is absent."""
    beta_likeness: float | None = Field(default=None, gt=0, le=MOST_CLASS)
    """Largest relative gain of a value's share in a class over that in the window."""
    invariant: int | None = Field(default=None, ge=2, le=MOST_VALUES)
    """Least number of values of a family, which somebody who comes back is always among; `families` lists them."""
    families: list[list[str | None]] | None = Field(default=None, min_length=1)
    """The values of each family; null is a missing value. `stream-anon families` deals them from a sample."""
    publish: Literal["family", "value"] = "family"
    """What stands in records: the family, or the value, in a class that has all values of its family."""

    @model_validator(mode="after")
    def _any(self) -> DiversitySettings:
        asking = [key for key in type(self).model_fields if key != "publish"]
        if all(getattr(self, key) is None for key in asking):
            raise ValueError(f"needs at least one of {', '.join(asking)}")
        return self

    @model_validator(mode="after")
    def _whole_families(self) -> DiversitySettings:
        if (self.invariant is None) != (self.families is None):
            raise ValueError("needs both invariant and families, or neither: stream-anon families deals the values")
        if any(len(family) < (self.invariant or 0) for family in self.families or ()):
            raise ValueError(f"families must have at least {self.invariant} values each, as invariant asks")
        if self.families is None and "publish" in self.model_fields_set:
            raise ValueError("publish is for families")
        return self

    @property
    def criteria(self) -> dict[str, Any]:
        """Return what is asked of classes, by name; None for nothing."""
        return self.model_dump(exclude={"invariant", "families", "publish"})

    @property
    def asks_of_classes(self) -> bool:
        """Return whether anything is asked of classes, besides what is published of a value."""
        return any(asked is not None for asked in self.criteria.values())


class IndividualSettings(Section):
    """The attribute that tells individuals apart, and which spellings of an id are one individual's."""

    explanation: ClassVar[
        str
    ] = """Instead of a name alone. Every spelling of an id counts as an individual of its own, but for the
differences that `normalize` names. They are taken away in this order, in every way in, before anybody is counted:

- `nfkc`: Unicode's compatibility form (letters composed or not, full width, ligatures).
- `casefold`: upper and lower case.
- `strip`: blanks, control and format characters at both ends. An id of nothing else is none.
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

    explanation: ClassVar[
        str
    ] = """`k` of `privacy` is the requirement on all quasi-identifiers; a shield is a further one on some of them,
such as `shields: [{attributes: [age, zip], k: 50}]`: what is published of age and zip, whatever stands
beside it, is shared by 50 individuals of the window. A shield that asks no more than `privacy.k`, or than
another one on the same attributes and more, holds by itself. Classes are formed as without shields. Where
too few share a tuple of its attributes, these attributes are published coarser until enough do, at the
least loss; what this would take above `max_level` is suppressed (`shield`). A window of fewer individuals
than any `k` is suppressed whole or held (`window.shortfall`). Of methods for files, `iab` meets shields
as it meets its `requirements`, others suppress what falls short, and `anatomy` refuses them."""

    attributes: list[Annotated[str, Field(min_length=1)]] = Field(min_length=1)
    """Quasi-identifiers."""
    k: int = Field(ge=2, le=MOST_CLASS)
    """Least individuals that share each published tuple of them."""


class ReturningSettings(Section):
    """How often one person is released at most, whatever windows they come to."""

    explanation: ClassVar[
        str
    ] = """For `run` with `delivery: exactly-once`, and one `input` topic that is keyed by person: all records of a
person stand in one partition. A release is a window with one or more records of a person. What comes of them after
`most` releases is suppressed (`returning`). Periods are counted from the epoch: a person is released at most `most`
times in each of them, and at most twice as often in any stretch of time as long as one. Counts are kept in the
topic `kafka.returns`, in each window's transaction, under pseudonyms that follow from the key. What is promised:
[privacy.md](../explain/privacy.md#returns-how-often-one-person-is-released). How to run it:
[operations.md](../guides/operations.md#returns)."""

    most: int = Field(ge=1, le=MOST_RETURNS)
    """Releases of one person in a period."""
    period: Duration = Field(ge=60, le=366 * 86_400)
    """Length of a period, such as 30d."""
    key_file: Annotated[str, Field(min_length=1)] | None = None
    """A file with a secret of 16 bytes or more, relative to this one, the same for all workers: run needs it. With
    another key all counts begin anew."""


class PresenceSettings(Section):
    """How many of the people who fit a class are in this class, at most: the upper bound of delta-presence."""

    explanation: ClassVar[
        str
    ] = """Of all people of the population who fit what is published of a class, at most the share `most` may be
individuals of the class. `population` is a CSV file: a column for each quasi-identifier, by the column that it
has in a CSV file of records, with values as records have them, an empty cell for none; and the column `count`, how
many people have this combination. Whoever is missing in it does not count. Where a class has too many, it is united
with one near it; what this does not help, and what fixed levels publish, is suppressed (`presence`). Every
quasi-identifier is published as nodes. It is not for `method: anatomy` and `iab`, and with another method not for
`unknown: root`. The population is published nowhere: certificates and
policy documents have its hash and size. See
[privacy.md](../explain/privacy.md#presence-whether-somebody-is-in-the-data-at-all)."""

    population: Annotated[str, Field(min_length=1)]
    """A file of how many people have each combination of quasi-identifiers, relative to this one."""
    most: float = Field(gt=0, lt=1)
    """Largest share, of the people who fit a class, that may be in it."""


class PrivacySettings(Section):
    """What must hold of every published class."""

    explanation: ClassVar[str] = """See [privacy.md](../explain/privacy.md). `individual: person_id` is short for
`individual: {field: person_id}`.

`k: none` asks nothing of classes: only `shields` protect, and a quasi-identifier in none of them is unprotected. It
is for files that `method: iab` recodes. The word must be written; a `k` that is missing or empty is an error.
`max_share` is a share of a class of k individuals and must be left out then.

`max_suppressed` is compared with the records of a window that would be released or suppressed; those over their
individual's limit are among the suppressed. A window above it is published with an alert (`publish`) or suppressed
whole (`suppress`). No window waits until it would suppress less: its moment of publication would tell what the last
records are like."""

    k: Annotated[int, Field(ge=2, le=MOST_CLASS)] | Literal["none"]
    """Least number of distinct individuals in a published class, 2 to 1,000,000; none asks nothing of classes, for
    files that iab recodes by shields."""
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
    """How often one person is released at most: see privacy.returning."""
    presence: PresenceSettings | None = None
    """Which share of the people who fit a class may be in this class: see privacy.presence."""
    revision: int = Field(default=0, ge=0, le=MOST_REVISION)
    """Raise it with every change of the policy; a lower one never takes over from a higher one."""
    accept_weaker: str = Field(default="", pattern=r"^(sha256:[0-9a-f]{64})?$")
    """Hash of this policy, if it may promise less than the one before it; a refused run prints it."""

    @property
    def asked_k(self) -> int | None:
        """Return the k of classes; None only where the word none says so."""
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
