"""How a policy declares its attributes, in words for people."""

from __future__ import annotations

from dataclasses import dataclass

from stream_anon.microdata.attributes import PassThrough, PublishedForm
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier


@dataclass(frozen=True, slots=True)
class AttributeFacts:
    """An attribute as the policy declares it.

    Parameters
    ----------
    domain
        What its values are, in words; empty if the policy does not say.
    size
        Number of values that are told apart; None if the policy does not say.
    published
        How it is published, in words.
    """

    name: str
    role: str
    domain: str
    size: int | None
    published: str


def attribute_facts(policy: Policy) -> tuple[AttributeFacts, ...]:
    """Return each attribute's role, domain and form of publication, in policy order."""
    facts = []
    for attribute in policy.attributes:
        if isinstance(attribute, QuasiIdentifier):
            published = {
                PublishedForm.NODES: "as hierarchy nodes",
                PublishedForm.TIGHT: "as tight ranges",
                PublishedForm.VALUES: "as sets of values",
            }[attribute.publication]
            published += _levels_in_words(attribute)
            facts.append(
                AttributeFacts(
                    attribute.name, attribute.role, attribute.domain.words(), attribute.domain.size, published
                )
            )
        else:
            published = "as it is" if attribute.published else "never"
            if attribute.name == policy.individual:
                published = "never; counts individuals"
            kind = attribute.declared_type if isinstance(attribute, PassThrough) else ""
            facts.append(AttributeFacts(attribute.name, attribute.role, kind, None, published))
    return tuple(facts)


def _levels_in_words(attribute: QuasiIdentifier) -> str:
    """Return which levels are published where not all are."""
    least, most = attribute.min_level, attribute.max_level
    if least == most:
        return f", on level {least}"
    return (f", from level {least} on" if least else "") + ("" if most is None else f", up to level {most}")
