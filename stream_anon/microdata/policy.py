"""The policy: what a record looks like, what must be true of published records, how long a record may wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Attribute, Identifier, PassThrough, Sensitive
from stream_anon.microdata.bounds import RecordBound, ReturnBound, Shield
from stream_anon.microdata.choices.engine_choice import EngineChoice
from stream_anon.microdata.choices.method_choice import ONLY_IAB, MethodChoice
from stream_anon.microdata.choices.window_limits import AboveMost, Shortfall, WindowLimits
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.ids import Normalization, in_order
from stream_anon.microdata.output.digest_key import DigestKey
from stream_anon.microdata.output.output_members import check_shape, shaped
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.output.statement import Statement
from stream_anon.microdata.policy_checks import (
    check_counterfeits,
    check_diversity,
    check_engine,
    check_k,
    check_null_values,
    check_places,
    check_presence,
    check_returning,
    check_shields,
)
from stream_anon.microdata.population.presence_bound import PopulationCounts, PresenceBound
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

EVERY_RECORD = "every-record"
MOST_REVISION = 2**31 - 1


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
        Every declared field, in the order in which published ones are written; see `output_members.shaped` for what
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
    window: WindowLimits = field(default_factory=WindowLimits)
    engine: EngineChoice = field(default_factory=EngineChoice)
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
        object.__setattr__(self, "diversity", _with_whole_families(self.diversity, self.sensitive))
        quasi, method, window = self.quasi_identifiers, self.method, self.window
        if self.max_suppressed is None and self.above_max_suppressed is not AboveMost.PUBLISH:
            raise SettingsError("privacy.above_max_suppressed", "is for max_suppressed")
        if method is not None and self.extra_levels:
            raise SettingsError("method", "publishes the nodes of its method: leave privacy.extra_levels out")
        if method is not None and any(a.min_level for a in quasi):
            raise SettingsError("method", "chooses levels by itself: leave engine.levels and min_level out")
        check_k(self.k, self.max_share, self.shields, window)
        if not 0 <= self.revision <= MOST_REVISION:
            raise SettingsError("privacy.revision", f"must lie between 0 and {MOST_REVISION}")
        check_places(self.attributes)
        self._check_individual()
        if not quasi:
            raise SettingsError("attributes", "at least one quasi-identifier is needed")
        check_engine(self.engine, window, quasi, self.extra_levels)
        check_diversity(self.diversity, {a.name: a for a in self.sensitive}, window, method)
        check_null_values(self.null_values, self.attributes)
        check_shape(self.attributes, self.shape)
        check_shields(self.shields, quasi, window, method)
        check_returning(self.returning, window)
        check_presence(self.presence, self.population, quasi, method)
        counting = {"shields": self.shields, "presence": self.presence, "extra_levels": self.extra_levels}
        check_counterfeits(self.counterfeits, self.k, method, counting, self.passed, self.diversity)

    def _check_individual(self) -> None:
        if self.normalize != in_order(self.normalize):
            raise SettingsError("privacy.individual.normalize", "must name each step once, in their order")
        if self.individual == EVERY_RECORD:
            if self.normalize:
                raise SettingsError(
                    "privacy.individual.normalize", f"is for an attribute, not for {EVERY_RECORD!r}"
                )
            if self.returning is not None:
                why = f"is for an individual: with {EVERY_RECORD} nobody comes back"
                raise SettingsError("privacy.returning", why)
        elif self.individual not in self.index:
            why = f"must be a declared attribute or {EVERY_RECORD!r}, got {self.individual!r}"
            raise SettingsError("privacy.individual", why)
        elif not isinstance(self.attribute(self.individual), Identifier):
            raise SettingsError("privacy.individual", "must be an attribute with role: identifier")

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

    @property
    def without_k(self) -> str:
        """Return what is not promised because no k is asked, in words; empty where one is."""
        if self.k is not None:
            return ""
        shielded = {name for shield in self.shields for name in shield.attributes}
        names = ", ".join(own.name for own in self.quasi_identifiers if own.name not in shielded)
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
    def sensitive(self) -> tuple[Sensitive, ...]:
        """Return the sensitive attributes, in policy order."""
        return tuple(a for a in self.attributes if isinstance(a, Sensitive))

    @cached_property
    def diverse(self) -> tuple[Sensitive, ...]:
        """Return the sensitive attributes that have a criterion, in the row order of coded batches."""
        return tuple(a for a in self.sensitive if a.name in self.diversity)

    @cached_property
    def counted(self) -> tuple[Sensitive, ...]:
        """Return the attributes whose values a number of distinct ones is asked of where no attribute is named.

        These have a criterion; if none has one, they are all sensitive ones.
        """
        return self.diverse or self.sensitive

    @cached_property
    def passed(self) -> tuple[PassThrough, ...]:
        """Return the fields that leave as they came, in policy order."""
        return tuple(a for a in self.attributes if isinstance(a, PassThrough))

    @cached_property
    def published(self) -> tuple[Attribute, ...]:
        """Return the fields of a released record, in policy order."""
        return tuple(a for a in self.attributes if a.published)


def _with_whole_families(
    diversity: Mapping[str, Diversity], sensitive: Sequence[Sensitive]
) -> dict[str, Diversity]:
    """Return the criteria with the number of values that follows from families whose values are published."""
    found = dict(diversity)
    for attribute in sensitive:
        if attribute.keeps_whole:
            least, own = attribute.least_family, found.get(attribute.name)
            if own is None:
                found[attribute.name] = Diversity(least)
            elif own.values < least:
                found[attribute.name] = replace(own, distinct_l=least)
    return found
