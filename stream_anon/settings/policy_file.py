"""Turn validated settings into the policy that the core works by."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from stream_anon.errors import InputError, SettingsError
from stream_anon.formats.tables.small_texts import read_numbered_table
from stream_anon.microdata.attributes import (
    LIST_MARK,
    Attribute,
    Identifier,
    Insensitive,
    Missing,
    PublishedForm,
    ScalarType,
    Sensitive,
    Unknown,
)
from stream_anon.microdata.bounds import RecordBound, ReturnBound, Shield
from stream_anon.microdata.choices.engine_choice import MOST_K_FOREST, EngineChoice, Loss
from stream_anon.microdata.choices.window_limits import MOST_AUTO, AboveMost, Shortfall, WindowLimits
from stream_anon.microdata.domains import automatic
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.domain import Domain
from stream_anon.microdata.domains.families import ShownAs
from stream_anon.microdata.domains.hierarchy import Hierarchy, label_text
from stream_anon.microdata.domains.ordered import OrderedDomain
from stream_anon.microdata.ids import Normalization, in_order
from stream_anon.microdata.output.digest_key import DigestKey
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.population.presence_bound import PresenceBound
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.secret_files import read_key
from stream_anon.settings.attributes.attribute import DOMAIN_KEYS, DOMAIN_SETTINGS, AttributeSettings
from stream_anon.settings.attributes.domains import BalancedSettings, DomainSettings, WordsSettings
from stream_anon.settings.attributes.levels import on_levels
from stream_anon.settings.counts_file import read_population
from stream_anon.settings.label_sample import sample_labels
from stream_anon.settings.learned_order import read_order
from stream_anon.settings.loading import load_settings
from stream_anon.settings.model import Settings
from stream_anon.settings.policy_digest import hashed_settings
from stream_anon.settings.sections.criterion_settings import DiversitySettings
from stream_anon.settings.sections.window_settings import WindowSettings


def load_policy(path: Path, overrides: dict[str, dict[str, Any]] | None = None) -> Policy:
    """Return the policy of a settings file; only privacy, window, engine, input, output and attributes matter."""
    return build_policy(load_settings(path, overrides), path)


def build_policy(settings: Settings, place: Path, *, with_secrets: bool = True) -> Policy:
    """Return the policy of validated settings.

    Parameters
    ----------
    place
        The settings file: what it names is relative to its folder.
    with_secrets
        Whether a key of digests is read. A release without it would have other digests than its settings ask for.

    Raises
    ------
    SettingsError, InputError
        If settings contradict each other, or a file that they name cannot be read.
    """
    digest = hashlib.sha256()
    digest.update(json.dumps(hashed_settings(settings), sort_keys=True).encode())
    secret = settings.output.digest_key_file if with_secrets else None
    chosen, returning, asked = settings.engine, settings.privacy.returning, settings.privacy.sensitive
    try:
        attributes = _attributes(settings, place, digest)
        presence = population = None
        if (given := settings.privacy.presence) is not None:
            nulls = frozenset(settings.input.null_values)
            population = read_population(place.parent / given.population, attributes, nulls)
            presence = PresenceBound(given.most, population.digest, population.people)
            digest.update(population.digest.encode())
        policy = Policy(
            attributes=attributes,
            k=settings.privacy.asked_k,
            individual=settings.privacy.individuals.field,
            max_share=settings.privacy.asked_share,
            diversity={name: one for name, given in asked.items() if (one := given.diversity) is not None},
            window=_limits(settings.window, chosen.name),
            engine=EngineChoice(
                chosen.name, chosen.seed, chosen.relaxed, chosen.least_loss, Loss(chosen.loss), rounds=chosen.rounds
            ),
            extra_levels=settings.privacy.extra_levels,
            revision=settings.privacy.revision,
            null_values=frozenset(settings.input.null_values),
            max_suppressed=_bound(settings.privacy.max_suppressed),
            above_max_suppressed=AboveMost(settings.privacy.above_max_suppressed),
            normalize=in_order([Normalization(step) for step in settings.privacy.individuals.normalize]),
            shields=tuple(Shield(tuple(given.attributes), given.k) for given in settings.privacy.shields),
            method=None if settings.method is None else settings.method.choice(),
            shape=Shape(settings.output.shape),
            returning=None if returning is None else ReturnBound(returning.most, returning.period),
            presence=presence,
            population=population,
            release=settings.release.statement,
            counterfeits=_bound(settings.privacy.counterfeits),
            digest_key=None if secret is None else read_key(DigestKey, place.parent / secret),
        )
        if chosen.target is not None and chosen.sample is not None:
            labels = sample_labels(policy, chosen.target, place.parent / chosen.sample)
            for counts in labels.counts:
                digest.update(counts.tobytes())
            policy = replace(policy, engine=replace(policy.engine, labels=labels))
        if chosen.order is not None:  # refused now, not when the first window opens
            # An audit reads policies too, and loads nothing of the engines unless the policy names an order.
            from stream_anon.clustering.forest.ordering.order_file import order_of

            order = read_order(place.parent / chosen.order)
            order_of(order, policy.quasi_identifiers)
            policy = replace(policy, engine=replace(policy.engine, order=order))
        return replace(policy, digest="sha256:" + digest.hexdigest())
    except SettingsError as error:
        if error.place:
            raise
        raise type(error)(error.key, error.message, str(place)) from None


def _limits(given: WindowSettings, engine: str) -> WindowLimits:
    most = MOST_K_FOREST if engine == "k-forest" else MOST_AUTO
    return WindowLimits(
        most if given.max_records == "auto" else given.max_records,
        given.max_delay,
        Shortfall(given.shortfall),
        given.max_records_per_individual,
        given.least_people,
        given.max_records == "auto",
        given.target_loss,
    )


def _bound(given: int | str | None) -> RecordBound | None:
    return None if given is None else RecordBound.parse(str(given))


def _attributes(settings: Settings, place: Path, digest: Any) -> tuple[Attribute, ...]:
    """Return the declared fields, with what families and levels say of them."""
    asked, levels = settings.privacy.sensitive, settings.engine.levels
    attributes = tuple(
        _attribute(name, given, asked.get(name), place, digest) for name, given in settings.attributes.items()
    )
    sensitive = {attribute.name for attribute in attributes if isinstance(attribute, Sensitive)}
    for name in asked:
        if name not in sensitive:
            raise SettingsError(f"privacy.sensitive.{name}", "is not an attribute with role: sensitive")
    return attributes if levels is None else on_levels(attributes, levels)


def _attribute(
    name: str, given: AttributeSettings, asked: DiversitySettings | None, place: Path, digest: Any
) -> Attribute:
    """Return a declared field; `asked` says which families its values are in."""
    key = f"attributes.{name}"
    quasi = given.role == "quasi-identifier"
    domains = [k for k in DOMAIN_KEYS if getattr(given, k) is not None]
    if quasi and len(domains) != 1:
        raise SettingsError(key, f"a quasi-identifier needs exactly one of {', '.join(DOMAIN_KEYS)}")
    many = (given.type or "").endswith(LIST_MARK)
    if many and quasi:
        raise SettingsError(
            f"{key}.type",
            "a list cannot be generalized: let the producer write what others may know of it into a field of its "
            "own, such as the number of its items, and declare the list as sensitive",
        )
    if not quasi:
        only = [*DOMAIN_KEYS, "publish", "weight", "missing", "unknown", "min_level", "max_level"]
        stray = [k for k in only if k in given.model_fields_set]
        if stray:
            raise SettingsError(f"{key}.{stray[0]}", "is for role: quasi-identifier only")
    if given.role not in ("sensitive", "insensitive") and "accept_linkable" in given.model_fields_set:
        raise SettingsError(f"{key}.accept_linkable", "is for role: sensitive and insensitive only")
    if given.role == "identifier" and given.accept_missing:
        raise SettingsError(f"{key}.accept_missing", "is for published fields: without an id a record is rejected")
    common: dict[str, Any] = {
        "keys": tuple(given.path or ()),
        "accept_missing": given.accept_missing,
        "coerce": given.coerce,
    }
    if given.role == "identifier":
        if given.type is not None:
            raise SettingsError(f"{key}.type", "an identifier needs no type: it is never published")
        return Identifier(name, **common)
    kind = ScalarType((given.type or "string").removesuffix(LIST_MARK))
    if given.role == "insensitive":
        return Insensitive(name, kind, given.accept_linkable, many, **common)
    if given.role == "sensitive":
        if asked is not None:
            families = tuple(map(tuple, asked.families or ()))
            common |= {"families": families, "rest": asked.rest, "shown_as": ShownAs(asked.publish)}
        return Sensitive(name, kind, given.accept_linkable, many, **common)
    domain = _domain(key, given, place, digest)
    return QuasiIdentifier(
        name,
        domain,
        given.weight,
        Missing(given.missing),
        Unknown(given.unknown),
        _publication(key, given, kind, domain),
        kind,
        min_level=given.min_level,
        max_level=given.max_level,
        **common,
    )


def _publication(key: str, given: AttributeSettings, kind: ScalarType, domain: Domain) -> PublishedForm:
    """Return how the values of a quasi-identifier are published; SettingsError if its domain is none for that."""
    if given.publish is not None and given.order is not None:
        raise SettingsError(f"{key}.publish", "is for hierarchy and values: of an order ranges are published")
    publication = PublishedForm(given.publish or "nodes")
    labels = domain.labels()
    if publication is PublishedForm.VALUES and labels is None:
        raise SettingsError(f"{key}.publish", "values needs a hierarchy or a list of values")
    if given.type is not None and labels is None:
        raise SettingsError(f"{key}.type", "is for hierarchy and values only")
    if labels is not None and kind is not ScalarType.STRING:
        _check_leaves(key, kind, list(labels), quoted=not isinstance(given.hierarchy, str))
    return PublishedForm.TIGHT if domain.tight else publication


def _check_leaves(key: str, kind: ScalarType, labels: list[str], *, quoted: bool) -> None:
    """Refuse a type in which the exact values of a hierarchy cannot be written.

    A leaf is `quoted` in the error where it stands in the settings file itself, not in a file beside it.
    """
    for number, label in enumerate(labels, start=1):
        try:
            fits = label in ("true", "false") if kind is ScalarType.BOOLEAN else _canonical(kind, label) == label
        except ValueError:
            fits = False
        if not fits:
            leaf = f"the leaf {label!r}" if quoted else f"leaf {number} of {len(labels)}, in the tree's order,"
            raise SettingsError(f"{key}.type", f"{leaf} is no {kind.value}")


def _canonical(kind: ScalarType, label: str) -> str:
    """Return a label as it is found again after it was written as a number; ValueError if it is none."""
    if kind is ScalarType.INTEGER:
        return str(int(label))
    number = float(label)
    if not math.isfinite(number):
        raise ValueError(kind)
    return str(int(number)) if number.is_integer() else str(number)


def _domain(key: str, given: AttributeSettings, place: Path, digest: Any) -> Domain:
    for name in DOMAIN_SETTINGS:
        settings = getattr(given, name)
        if settings is not None:
            return cast("DomainSettings", settings).build(f"{key}.{name}")
    if given.values is not None:
        return CategoricalDomain(Hierarchy.flat(_labels(given.values, key), f"{key}.values"))
    if given.order is not None:
        return OrderedDomain(_labels(given.order, key), f"{key}.order")
    key = f"{key}.hierarchy"
    if isinstance(given.hierarchy, BalancedSettings):
        return CategoricalDomain(
            automatic.balanced(_labels(given.hierarchy.ordered, key), given.hierarchy.arity, key)
        )
    if isinstance(given.hierarchy, WordsSettings):
        return CategoricalDomain(automatic.word_prefixes(given.hierarchy.texts, given.hierarchy.separator, key))
    if isinstance(given.hierarchy, str):
        try:
            numbered = read_numbered_table(place.parent / given.hierarchy)
        except InputError as error:
            raise SettingsError(key, str(error)) from None
        rows = [row for _, row in numbered]
        digest.update(json.dumps(rows).encode())
        return CategoricalDomain(Hierarchy.from_rows(rows, key, [line for line, _ in numbered]))
    return CategoricalDomain(Hierarchy.from_tree(given.hierarchy, key))


def _labels(given: Sequence[str | int | bool], key: str) -> tuple[str, ...]:
    return tuple(label_text(value, key) for value in given)
