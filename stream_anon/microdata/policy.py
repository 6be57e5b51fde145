"""The policy: what a record looks like, what must be true of published records, how long a record may wait."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import (
    Attribute,
    Identifier,
    PassThrough,
    QuasiIdentifier,
    ScalarType,
    Sensitive,
    Unknown,
)
from stream_anon.microdata.bounds import (
    LEAST_COMPLETED_K,
    MOST_COUNTERFEITS,
    MOST_RETURNS,
    RecordBound,
    ReturnBound,
    Shield,
)
from stream_anon.microdata.diversity import CRITERIA, MOST_CLASS, Diversity
from stream_anon.microdata.domains.domain import WHOLE_TABLE
from stream_anon.microdata.ids import Normalization, in_order
from stream_anon.microdata.labels import LabelCounts
from stream_anon.microdata.method import MethodChoice
from stream_anon.microdata.output.digest_key import DigestKey
from stream_anon.microdata.output.output_members import check_shape, shaped
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.output.statement import Statement
from stream_anon.microdata.population.presence import PopulationCounts, PresenceBound

EVERY_RECORD = "every-record"
FULL_DOMAIN = "full-domain"
ANATOMY = "anatomy"
IAB = "iab"
ONLY_IAB = f"none is for files and method: {IAB}: all others form classes of k individuals"
MOST_K_FOREST = 10_000
MOST_EXTRA_LEVELS = 10
MOST_ROUNDS = 5
MOST_REVISION = 2**31 - 1
MOST_NULLS = 100
MOST_RECORDS = 10_000_000
MOST_AUTO = 1_000_000
"""Records after which a window closes at the latest if nobody has chosen a number."""
LEAST_AUTO = 10_000
"""No smaller window is made for want of time if nobody has chosen a number: what cannot take these has another
fault. It is all that is promised then."""
MOST_SHIELDS = 20


class Shortfall(StrEnum):
    """What happens to a whole window of too few people at its deadline."""

    SUPPRESS = "suppress"
    HOLD = "hold"


class AboveMost(StrEnum):
    """What happens to a window that would suppress more than `max_suppressed` of its records."""

    PUBLISH = "publish"
    SUPPRESS = "suppress"


class Loss(StrEnum):
    """What an engine minimises; `stream_anon.privacy.costs.objective` says what each means."""

    NCP = "ncp"
    PREC = "prec"
    DISCERNIBILITY = "discernibility"
    CLASSIFICATION = "classification"


@dataclass(frozen=True)
class WindowLimits:
    """When a window closes.

    Parameters
    ----------
    max_records
        Admitted records after which it closes.
    max_delay
        Seconds after the arrival of its oldest record at which it closes.
    shortfall
        See `Shortfall`.
    max_records_per_individual
        Records of one individual beyond which further ones are suppressed.
    least_people
        Individuals for which an overdue window waits, if it may be held; 0 for as many as a class needs.
    auto
        Whether nobody has chosen `max_records`. Then it is the most that a window may hold, and whoever runs the
        windows closes them earlier where memory or time is short; see `windowing.bounds`.
    target_loss
        Mean NCP of published records at which a service closes windows, sooner than it must; None: it fills them
        as far as it may.
    """

    max_records: int = 10_000
    max_delay: float = 30.0
    shortfall: Shortfall = Shortfall.SUPPRESS
    max_records_per_individual: int = 100
    least_people: int = 0
    auto: bool = False
    target_loss: float | None = None

    @property
    def promised_records(self) -> int:
        """Return the records that certificates state as the bound of a window."""
        return LEAST_AUTO if self.auto else self.max_records

    def __post_init__(self) -> None:
        if not 2 <= self.max_records <= MOST_RECORDS:
            raise SettingsError("window.max_records", f"must lie between 2 and {MOST_RECORDS}")
        if not 0.05 <= self.max_delay <= 86_400:
            raise SettingsError("window.max_delay", "must lie between 0.05 and 86400 seconds")
        if self.max_records_per_individual < 1:
            raise SettingsError("window.max_records_per_individual", "must be at least 1")
        if self.least_people and self.shortfall is not Shortfall.HOLD:
            raise SettingsError("window.least_people", "is for shortfall: hold")
        if not 0 <= self.least_people <= self.max_records:
            raise SettingsError("window.least_people", "must not be above max_records")
        if self.target_loss is not None and not 0 < self.target_loss < 1:
            raise SettingsError("window.target_loss", "must lie between 0 and 1")


@dataclass(frozen=True)
class LearnedOrder:
    """An order of the digits of all quasi-identifiers, and for which ones it was learned.

    Parameters
    ----------
    attributes
        Hash of the names and digits of the quasi-identifiers.
    owners
        For each place in the order the name of the attribute whose next digit stands there.
    """

    attributes: str
    owners: tuple[str, ...]


@dataclass(frozen=True)
class EngineChoice:
    """Which partitioner forms the classes, and what of it is drawn.

    Parameters
    ----------
    name
        `forest`, `k-forest`, `mondrian` or `full-domain`; the last one publishes each attribute on one level, its
        `min_level` and `max_level`.
    seed
        Governs what the engine draws, so that the same windows give the same classes; None draws from a generator
        that nobody outside knows.
    relaxed, least_loss
        Of Mondrian: equal values may part; each cut is the one of least loss instead of a median.
    loss
        What it minimises.
    labels
        For `classification`: how the quasi-identifiers told the target in a sample.
    order
        Of the forest: an order learned before, from a file.
    rounds
        Of the forest: how often and how widely classes are refined, 1 to 5.
    """

    name: str = "forest"
    seed: int | None = None
    relaxed: bool = False
    least_loss: bool = False
    loss: Loss = Loss.NCP
    labels: LabelCounts | None = None
    order: LearnedOrder | None = None
    rounds: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.rounds <= MOST_ROUNDS:
            raise SettingsError("engine.rounds", f"must be 1 to {MOST_ROUNDS}")
        if self.rounds > 1 and self.name != "forest":
            raise SettingsError("engine.rounds", "is for name: forest only")
        if self.order is not None and self.name != "forest":
            raise SettingsError("engine.order", "is for name: forest only")
        for key in ("relaxed", "least_loss"):
            if getattr(self, key) and self.name != "mondrian":
                raise SettingsError(f"engine.{key}", "is for name: mondrian only")
        if self.loss is Loss.DISCERNIBILITY and not (self.name == "forest" or self.least_loss):
            raise SettingsError(
                "engine.loss", "discernibility is for name: forest, or mondrian with least_loss: true"
            )


def require_policy(given: object) -> None:
    """Raise TypeError if what should be a policy is something else, such as the path of its file.

    Raises SettingsError as `Policy.refuse_returns` does: whoever asks this is no service on topics.
    """
    if not isinstance(given, Policy):
        name = type(given).__name__
        raise TypeError(f"policy must be a Policy, and is of type {name}: load its file by Policy.load(path)")
    given.refuse_returns()


@dataclass(frozen=True)
class Policy:
    """Everything that the core knows about a deployment.

    Parameters
    ----------
    attributes
        Every declared field, in the order in which published ones are written; see `output.members.shaped` for what
        the shape changes of them.
    k
        Least number of distinct individuals in a published class. None asks nothing of classes: shields alone
        protect. It is for files that `iab` recodes, and whatever makes classes refuses it; a document or an audit
        of such a policy names no maker.
    individual
        Name of the attribute that tells individuals apart, or `EVERY_RECORD`.
    max_share
        Largest part of a class's records that may belong to one individual.
    diversity
        Criteria per sensitive attribute. Families whose values are published as they are ask for as many values as
        the smallest of them has.
    extra_levels
        Most levels by which a published node is raised at random above the least one that covers its class, up to
        its attribute's `max_level`.
    max_suppressed
        How many of a window's released and suppressed records may be suppressed; None for any number.
    above_max_suppressed
        What becomes of a window that exceeds it; see `AboveMost`.
    revision
        How often the policy has been changed, as its owner counts; a lower one never follows a higher one.
    null_values
        Texts that mean a missing value, in every declared field.
    method
        Recodes files as one table, in place of the engine; None for the engine.
    shields
        Further requirements, on sets of quasi-identifiers: see `Shield`. `k` is the one on all of them.
    normalize
        Differences between two spellings of an id that do not make two individuals; in their order.
    shape
        How released records are written; files of cells are natural in any case.
    digest_key
        What the digests of released classes are made by; without it there are none.
    returning
        How often one person is released at most; a service on topics alone keeps count of it.
    presence
        How many of the people who fit a published tuple may be in a window.
    counterfeits
        How many of the released records may be nobody's: they complete classes of fewer than k people. None for
        none. It is for files that a method recodes, and whatever else makes classes refuses it.
    population
        Who they are counted among. A policy that a document was read from has none, and makes no release.
    release
        What is stated of what it releases, for whom it is, and until when.
    digest
        Hash of the settings and hierarchies it was made from, for certificates.
    """

    attributes: tuple[Attribute, ...]
    k: int | None
    individual: str
    max_share: float = 0.5
    diversity: Mapping[str, Diversity] = field(default_factory=dict)
    window: WindowLimits = WindowLimits()
    engine: EngineChoice = EngineChoice()
    extra_levels: int = 0
    revision: int = 0
    null_values: frozenset[str] = frozenset()
    normalize: tuple[Normalization, ...] = ()
    digest: str = ""
    max_suppressed: RecordBound | None = None
    above_max_suppressed: AboveMost = AboveMost.PUBLISH
    method: MethodChoice | None = None
    shields: tuple[Shield, ...] = ()
    shape: Shape = Shape.NATURAL
    digest_key: DigestKey | None = field(default=None, repr=False, compare=False)
    returning: ReturnBound | None = None
    presence: PresenceBound | None = None
    population: PopulationCounts | None = field(default=None, repr=False, compare=False)
    release: Statement = field(default_factory=Statement)
    counterfeits: RecordBound | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", shaped(self.attributes, self.shape))
        object.__setattr__(self, "diversity", _with_whole_families(self.diversity, self.attributes))
        if self.max_suppressed is None and self.above_max_suppressed is not AboveMost.PUBLISH:
            raise SettingsError("privacy.above_max_suppressed", "is for max_suppressed")
        if self.method is not None and self.extra_levels:
            raise SettingsError("method", "publishes the nodes of its method: leave privacy.extra_levels out")
        if self.method is not None and any(a.min_level for a in self.quasi_identifiers):
            raise SettingsError("method", "chooses levels by itself: leave engine.levels and min_level out")
        self._check_k()
        if not 0 < self.max_share <= 1:
            raise SettingsError("privacy.max_share", "must be above 0 and at most 1")
        if not 0 <= self.revision <= MOST_REVISION:
            raise SettingsError("privacy.revision", f"must lie between 0 and {MOST_REVISION}")
        if self.engine.name == "k-forest" and self.window.max_records > MOST_K_FOREST:
            raise SettingsError(
                "window.max_records",
                f"must be at most {MOST_K_FOREST} with engine.name: k-forest, whose cost is quadratic",
            )
        self._check_names()
        if not self.quasi_identifiers:
            raise SettingsError("attributes", "at least one quasi-identifier is needed")
        self._check_publication()
        self._check_diversity()
        self._check_null_values()
        check_shape(self.attributes, self.shape)
        self._check_shields()
        self._check_returning()
        self._check_presence()
        self._check_counterfeits()

    def _check_k(self) -> None:
        if self.k is None:
            if not self.shields:
                raise SettingsError("privacy.k", "none needs privacy.shields: nothing else protects anybody then")
            if self.max_share < 1:
                raise SettingsError("privacy.max_share", "is of a class of k individuals: leave it out with none")
            return
        if not 2 <= self.k <= MOST_CLASS:
            raise SettingsError("privacy.k", f"must lie between 2 and {MOST_CLASS}, or be the word none")
        if self.max_share * self.k < 1:
            raise SettingsError("privacy.max_share", f"must be at least 1/k = {1 / self.k:g}")
        if self.window.max_records < self.k:
            raise SettingsError("window.max_records", f"must be at least k = {self.k}")

    def _check_shields(self) -> None:
        names = {attribute.name for attribute in self.quasi_identifiers}
        if self.shields and self.method is not None and self.method.name == ANATOMY:
            raise SettingsError("privacy.shields", f"is not for method: {ANATOMY}, which publishes exact values")
        if len(self.shields) > MOST_SHIELDS:
            raise SettingsError("privacy.shields", f"must be at most {MOST_SHIELDS}")
        for place, shield in enumerate(self.shields):
            key = f"privacy.shields.{place}"
            for name in shield.attributes:
                if name not in names:
                    raise SettingsError(
                        f"{key}.attributes",
                        f"{name} is not a quasi-identifier; these are {', '.join(sorted(names))}",
                    )
            if not shield.attributes or len(set(shield.attributes)) < len(shield.attributes):
                raise SettingsError(f"{key}.attributes", "must be one or more quasi-identifiers, each named once")
            if any(set(other.attributes) == set(shield.attributes) for other in self.shields[:place]):
                raise SettingsError(f"{key}.attributes", "are those of another shield: one k is enough")
            if not 2 <= shield.k <= MOST_CLASS:
                raise SettingsError(f"{key}.k", f"must lie between 2 and {MOST_CLASS}")
            if self.window.max_records < shield.k:
                raise SettingsError("window.max_records", f"must be at least {shield.k}, the k of {key}")

    def _check_returning(self) -> None:
        if self.returning is None:
            return
        if self.individual == EVERY_RECORD:
            raise SettingsError("privacy.returning", f"is for an individual: with {EVERY_RECORD} nobody comes back")
        if self.window.shortfall is Shortfall.HOLD:
            raise SettingsError(
                "window.shortfall",
                "hold is not for privacy.returning: a window of people who have been released often enough would "
                "wait for others until the period ends",
            )
        if not 1 <= self.returning.most <= MOST_RETURNS:
            raise SettingsError("privacy.returning.most", f"must lie between 1 and {MOST_RETURNS}")
        if not 0 < self.returning.period < math.inf:
            raise SettingsError("privacy.returning.period", "must be above 0")

    def _check_presence(self) -> None:
        if self.presence is None:
            return
        if not 0 < self.presence.most < 1:
            raise SettingsError("privacy.presence.most", "must be above 0 and below 1")
        if self.population is not None and self.population.digest != self.presence.counted:
            raise SettingsError("privacy.presence.population", "is not the one that its bound names")
        if self.method is not None and self.method.name in (ANATOMY, IAB):
            why = "publishes exact values" if self.method.name == ANATOMY else "counts across its groups"
            raise SettingsError("privacy.presence", f"is not for method: {self.method.name}, which {why}")
        for attribute in self.quasi_identifiers:
            if not attribute.publishes_nodes:
                raise SettingsError(
                    "privacy.presence",
                    "needs publish: nodes for every quasi-identifier: each end of a tight range and each item of a "
                    "set of values is somebody's, so that whoever alone fits one is known to be there; "
                    f"{attribute.name} publishes these",
                )
            if self.method is not None and attribute.unknown is Unknown.ROOT:
                raise SettingsError(
                    "privacy.presence",
                    "is not for a method and unknown: root: on a level that the method chooses, only people with "
                    f"unknown values are published as *, and {attribute.name} has these",
                )

    def _check_counterfeits(self) -> None:
        if self.counterfeits is None:
            return
        place = "privacy.counterfeits"
        if self.counterfeits.records is not None or not 0 < self.counterfeits.share <= MOST_COUNTERFEITS:
            raise SettingsError(place, f"must be a share above 0 and at most {MOST_COUNTERFEITS:.0%}")
        if self.k is None or self.k < LEAST_COMPLETED_K:
            raise SettingsError(place, f"needs k = {LEAST_COMPLETED_K} or more: half of a class may be nobody's")
        if self.method is not None and self.method.name in (ANATOMY, IAB):
            raise SettingsError(place, f"is not for method: {self.method.name}, which promises more than classes")
        others = {"shields": self.shields, "presence": self.presence, "extra_levels": self.extra_levels}
        for name, given in others.items():
            if given:
                raise SettingsError(
                    place, f"is not for privacy.{name}, which count people: a counterfeit is nobody"
                )
        target = self.passed[0] if self.passed else None
        if len(self.passed) > 1 or not (target is None or isinstance(target, Sensitive)):
            raise SettingsError(
                place, "allows one field that passes, with role: sensitive: a counterfeit has no value of others"
            )
        if target is not None and (target.many or target.families):
            raise SettingsError(place, f"needs single values, and no families: {target.name} has others")
        for name, asked in self.diversity.items():
            if asked.distinct_l is None or asked != Diversity(asked.distinct_l):
                raise SettingsError(
                    f"privacy.sensitive.{name}", "may ask for distinct_l alone beside privacy.counterfeits"
                )

    def _check_null_values(self) -> None:
        if len(self.null_values) > MOST_NULLS:
            raise SettingsError("input.null_values", f"must be at most {MOST_NULLS} texts")
        for attribute in self.quasi_identifiers:
            twice = self.null_values & (attribute.domain.labels() or {}).keys()
            if twice:
                raise SettingsError(
                    "input.null_values", f"{min(twice)!r} is a category of {attribute.name} too: it cannot be both"
                )
        for sensitive in (a for a in self.attributes if isinstance(a, Sensitive)):
            twice = self.null_values & sensitive.label_of.keys()
            if twice:
                raise SettingsError(
                    "input.null_values",
                    f"{min(twice)!r} is in a family of {sensitive.name} too: write null there instead",
                )

    def _check_diversity(self) -> None:
        of_window = {each.name for each in CRITERIA if each.of_window}
        compared = [n for n, each in self.diversity.items() if any(getattr(each, name) for name in of_window)]
        if self.window.target_loss is not None and compared:
            raise SettingsError(
                "window.target_loss",
                f"is not for criteria that compare classes with their window, as {compared[0]} has: what the loss "
                "of earlier windows is would decide how much they ask",
            )
        sensitive = {a.name: a for a in self.attributes if isinstance(a, Sensitive)}
        for name, diversity in self.diversity.items():
            key = f"privacy.sensitive.{name}"
            if name not in sensitive:
                raise SettingsError(key, "is not an attribute with role: sensitive")
            if sensitive[name].many and any(getattr(diversity, each.name) for each in CRITERIA[1:]):
                raise SettingsError(
                    key,
                    "only distinct_l is defined for a list: no item is then held by more than one in l of the "
                    "individuals of a class; for another criterion declare an item as a field of its own",
                )
            if sensitive[name].keeps_whole:
                self._check_whole(key, diversity, sensitive[name].least_family)
            elif sensitive[name].families and diversity.values > (families := len(sensitive[name].labels)):
                counted = f"{families} families" if sensitive[name].rest is None else f"{families}, with the rest"
                raise SettingsError(key, f"asks for {diversity.values} values in a class, and there are {counted}")
            if diversity.ordered and sensitive[name].type not in (ScalarType.INTEGER, ScalarType.NUMBER):
                raise SettingsError(f"{key}.t_closeness.distance", "ordered needs type: integer or type: number")

    def _check_whole(self, key: str, diversity: Diversity, least: int) -> None:
        """Check what is asked beside families that classes keep whole, the smallest of so many values."""
        if self.method is not None:
            raise SettingsError(f"{key}.publish", "value is for an engine: no method keeps families whole")
        if diversity.values > least:
            raise SettingsError(
                key, f"asks for {diversity.values} values in a class, and a class of one family may have {least}"
            )
        for each in CRITERIA:
            if each.of_window and getattr(diversity, each.name):
                raise SettingsError(
                    f"{key}.{each.name}",
                    "is not for publish: value: a class of one family is never like its window",
                )

    def _check_publication(self) -> None:
        if not 0 <= self.extra_levels <= MOST_EXTRA_LEVELS:
            raise SettingsError("privacy.extra_levels", f"must lie between 0 and {MOST_EXTRA_LEVELS}")
        fixed = self.engine.name == FULL_DOMAIN
        if fixed and self.extra_levels:
            raise SettingsError(
                "privacy.extra_levels", f"is not for engine.name: {FULL_DOMAIN}, whose levels are fixed"
            )
        for attribute in self.quasi_identifiers:
            if fixed and attribute.min_level != attribute.max_level:
                raise SettingsError("engine.levels", f"must say on which level {attribute.name} is published")
            if self.extra_levels and not attribute.publishes_nodes:
                raise SettingsError(
                    "privacy.extra_levels",
                    "needs publish: nodes for every quasi-identifier, since a tight range or a set of values has "
                    f"no level above; {attribute.name} publishes these",
                )
            if self.engine.loss is Loss.CLASSIFICATION and attribute.domain.size > WHOLE_TABLE:
                raise SettingsError(
                    "engine.loss",
                    f"classification is for attributes of up to {WHOLE_TABLE} values; {attribute.name} has more",
                )

    def _check_names(self) -> None:
        names = [attribute.name for attribute in self.attributes]
        if self.individual != EVERY_RECORD and self.individual not in names:
            raise SettingsError(
                "privacy.individual",
                f"must be a declared attribute or {EVERY_RECORD!r}, got {self.individual!r}",
            )
        if self.individual != EVERY_RECORD and not isinstance(self.attribute(self.individual), Identifier):
            raise SettingsError("privacy.individual", "must be an attribute with role: identifier")
        if self.individual == EVERY_RECORD and self.normalize:
            raise SettingsError("privacy.individual.normalize", f"is for an attribute, not for {EVERY_RECORD!r}")
        if self.normalize != in_order(self.normalize):
            raise SettingsError("privacy.individual.normalize", "must name each step once, in their order")
        for place, name in enumerate(names):
            if name in names[:place]:
                raise SettingsError(f"attributes.{name}", "is declared twice")
        self._check_paths()

    def _check_paths(self) -> None:
        parents = {a.path[:depth] for a in self.attributes for depth in range(1, len(a.path))}
        columns: dict[str, str] = {}
        for attribute in self.attributes:
            key = f"attributes.{attribute.name}"
            if not all(attribute.path):
                raise SettingsError(key, "must be keys joined by single dots")
            if attribute.path in parents:
                raise SettingsError(key, "cannot be both a value and a parent of values")
            twin = columns.setdefault(attribute.column, attribute.name)
            if twin != attribute.name:
                raise SettingsError(key, f"is the same field as {twin}, or the same column of a file")

    def refuse_returns(self) -> None:
        """Raise SettingsError if the policy bounds how often one person is released: only a service counts that."""
        if self.returning is not None:
            raise SettingsError(
                "privacy.returning",
                "is for a service on topics (stream-anon run), which keeps count of releases; leave it out here",
            )

    def refuse_counterfeits(self) -> None:
        """Raise SettingsError if the policy allows counterfeits: only a method on a file is completed by them."""
        if self.counterfeits is not None:
            raise SettingsError(
                "privacy.counterfeits",
                "is for files that `stream-anon anonymize` recodes by a method, once; leave it out here",
            )

    def check_streamed(self) -> None:
        """Raise SettingsError if the policy is for whole files, as with a method, no k, or counterfeits."""
        if self.method is not None:
            raise SettingsError(
                "method",
                "is for files that `stream-anon anonymize` reads: a stream has no whole table; name an engine",
            )
        if self.k is None:
            raise SettingsError("privacy.k", ONLY_IAB)
        self.refuse_counterfeits()

    @property
    def maker(self) -> str:
        """Return the name of what forms the classes, as certificates tell it."""
        return self.engine.name if self.method is None else self.method.name

    def attribute(self, name: str) -> Attribute:
        """Return the declared attribute of that name; KeyError if there is none."""
        return self.attributes[self.index[name]]

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Return the place of each attribute by name."""
        return {attribute.name: i for i, attribute in enumerate(self.attributes)}

    @property
    def holds(self) -> bool:
        """Return whether a window may wait beyond its longest delay."""
        return self.window.shortfall is Shortfall.HOLD

    @cached_property
    def quasi_identifiers(self) -> tuple[QuasiIdentifier, ...]:
        """Return the quasi-identifiers, in the row order of coded batches."""
        return tuple(a for a in self.attributes if isinstance(a, QuasiIdentifier))

    @cached_property
    def open_shields(self) -> tuple[Shield, ...]:
        """Return the shields that do not hold by themselves, where k or another shield holds."""
        names = tuple(attribute.name for attribute in self.quasi_identifiers)
        whole = [] if self.k is None else [Shield(names, self.k)]
        return tuple(
            shield
            for shield in self.shields
            if not shield.follows_from([*whole, *(other for other in self.shields if other is not shield)])
        )

    @cached_property
    def unprotected(self) -> tuple[str, ...]:
        """Return the quasi-identifiers about which nothing is promised: without k those in no shield."""
        shielded = {name for shield in self.shields for name in shield.attributes}
        names = (attribute.name for attribute in self.quasi_identifiers)
        return () if self.k is not None else tuple(name for name in names if name not in shielded)

    @property
    def without_k(self) -> str:
        """Return what is not promised because no k is asked, in words; empty where one is."""
        if self.k is not None:
            return ""
        names = ", ".join(self.unprotected)
        more = f", and nothing protects {names}, in no shield" if names else ""
        return f"none: a record may be the only one with its values of all quasi-identifiers{more}"

    @property
    def crowd(self) -> int:
        """Return k, or where none is asked the largest k of a shield.

        A value that passes and that fewer individuals hold is rare. Without k a window of fewer publishes nothing,
        since each of its records would be in a group of that shield.
        """
        return max(shield.k for shield in self.shields) if self.k is None else self.k

    @cached_property
    def diverse(self) -> tuple[Sensitive, ...]:
        """Return the sensitive attributes that have a criterion, in the row order of coded batches."""
        return tuple(a for a in self.attributes if isinstance(a, Sensitive) and a.name in self.diversity)

    @cached_property
    def counted(self) -> tuple[Sensitive, ...]:
        """Return the attributes whose values a number of distinct ones is asked of where no attribute is named.

        These have a criterion; if none has one, they are all sensitive ones.
        """
        return self.diverse or tuple(a for a in self.attributes if isinstance(a, Sensitive))

    @cached_property
    def passed(self) -> tuple[PassThrough, ...]:
        """Return the fields that leave as they came, in policy order."""
        return tuple(a for a in self.attributes if isinstance(a, PassThrough))

    @cached_property
    def published(self) -> tuple[Attribute, ...]:
        """Return the fields of a released record, in policy order."""
        return tuple(a for a in self.attributes if a.published)


def _with_whole_families(
    diversity: Mapping[str, Diversity], attributes: Sequence[Attribute]
) -> Mapping[str, Diversity]:
    """Return the criteria with the number of values that follows from families whose values are published."""
    found = dict(diversity)
    for attribute in attributes:
        if not isinstance(attribute, Sensitive) or not attribute.keeps_whole:
            continue
        least, own = attribute.least_family, found.get(attribute.name)
        if own is None:
            found[attribute.name] = Diversity(least)
        elif own.values < least:
            found[attribute.name] = replace(own, distinct_l=least)
    return found
