"""Where a report answers what frameworks for anonymization ask, and what only a person can answer.

The headings are those of tables of contents and of public summaries; the texts behind them were not copied. What a
framework asks of a particular release must be read there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from stream_anon.microdata.output.statement import Statement

SECTIONS = {
    "release": "For whom, and for what",
    "policy": "What is promised",
    "fields": "Fields",
    "records": "Records",
    "classes": "Equivalence classes",
    "risks": "Risk that somebody is found",
    "sensitive": "What was asked, and what was reached",
    "loss": "Information loss",
    "delay": "Delay",
    "history": "What changed: policies",
    "audit": "Audit",
    "attacks": "Attacks",
    "limits": "What is not promised",
    "questions": "Questions for people",
}
"""The sections of a report by name, with the title that a person reads, in their order."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a framework.

    Parameters
    ----------
    sections
        Those of the report that answer it, by name; none if only a person can.
    left
        What the report cannot answer; empty if nothing.
    needs
        What else it answers only with, by a name of `_ABSENT`.
    """

    framework: str
    text: str
    sections: tuple[str, ...]
    left: str = ""
    needs: tuple[str, ...] = ()


_ABSENT = {
    "release": "Nothing is stated under release in the settings.",
    "attacks": "No attack was made for this report.",
    "before": "The risk before: no sample of the input was given.",
    "sensitive": "No criterion was asked of a sensitive field.",
    "classes": "Nothing was released in this period.",
}
"""What is said of a section, or of a part of one, that not every report has."""

_WP216 = "WP216 (Article 29 Working Party, Opinion 05/2014)"
_ISO = "ISO/IEC 27559:2022"
_HIPAA = "HIPAA, expert determination: 45 CFR 164.514(b)(1)"
_EMA = "EMA policy 0070 and Health Canada PRCI, anonymization report"

HEADINGS = (
    Heading(_WP216, "Singling out", ("risks", "attacks")),
    Heading(
        _WP216, "Linkability", ("attacks", "limits"), "Other data about these people that a recipient may hold."
    ),
    Heading(_WP216, "Inference", ("sensitive", "attacks")),
    Heading(
        _ISO,
        "6.2 Threat modelling",
        ("release",),
        "Security and privacy practices of the recipient; motives and capacity to find people.",
    ),
    Heading(_ISO, "6.3 Transparency and impact assessment", ("limits",), "Harm to people; whom they were told."),
    Heading(_ISO, "7.2 Data features", ("fields", "records")),
    Heading(
        _ISO, "7.3 Attack modelling", ("risks",), "Whether the maximum or the mean must be below the threshold."
    ),
    Heading(_ISO, "8.2.2 Quantifying identifiability", ("classes", "risks", "sensitive")),
    Heading(_ISO, "8.2.3 Adversarial testing", ("attacks",)),
    Heading(
        _ISO, "8.3 Mitigation", ("policy", "loss", "history"), "Changes of the environment, such as contracts."
    ),
    Heading(_ISO, "9.2 Before data are made available", ("release", "audit"), "Roles, procedures, communication."),
    Heading(
        _ISO, "9.3 After data are made available", ("history", "audit"), "Who watches the environment of the data."
    ),
    Heading(_ISO, "9.4 Mitigation in case of incident", (), "What is done if somebody is found."),
    Heading(_HIPAA, "Principles and methods that are generally accepted", ("policy", "fields", "risks")),
    Heading(
        _HIPAA,
        "Risk is very small that an anticipated recipient identifies somebody",
        ("risks", "attacks", "limits"),
        "Replicability, availability and distinguishability of each field, by the expert.",
    ),
    Heading(_HIPAA, "Methods and results that justify the determination", ("records", "classes", "risks", "audit")),
    Heading(_HIPAA, "The expert's knowledge and experience", (), "Who the expert is, and until when it holds."),
    Heading(_EMA, "Methodology", ("policy",), "Why it was chosen."),
    Heading(_EMA, "Identification of data variables", ("fields",)),
    Heading(_EMA, "Risk assessment: initial, threshold, residual", ("risks", "attacks"), needs=("before",)),
    Heading(_EMA, "Data utility", ("loss",), "Whether what is left serves the purpose."),
)


def headings(told: Collection[str]) -> Iterator[Heading]:
    """Yield the headings as a report answers them that has what is named of `release`, `attacks` and so on.

    A section with nothing in it answers nothing: it is left out, and what it lacks is said.
    """
    absent = {name: text for name, text in _ABSENT.items() if name not in told}
    for heading in HEADINGS:
        lacks = [text for name, text in absent.items() if name in (*heading.sections, *heading.needs)]
        sections = tuple(name for name in heading.sections if name not in absent)
        left = " ".join(([heading.left] if heading.left else []) + lacks)
        yield replace(heading, sections=sections, left=left)


OF_RELEASE = {
    "recipient": "Who receives the records?",
    "purpose": "For what?",
    "legal_basis": "On which legal basis?",
    "means": "By which means might somebody try to find people, and which of them were taken into account?",
    "owner": "Who answers for the release?",
    "valid_until": "Until when may records be released?",
    "review_by": "By when is it looked at again?",
}
"""What settings state of a release, by key, as questions."""


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """What somebody must answer who signs.

    Parameters
    ----------
    answer
        What the settings state; empty if they do not.
    """

    name: str
    text: str
    answer: str = ""


def questions(stated: Statement) -> list[OpenQuestion]:
    """Return what only people can answer, with what they have written in the settings already."""
    told = stated.told
    others = (
        ("quasi-identifiers", "Who has looked at the table of fields, and what do others know of these people?"),
        ("threshold", "Why is this threshold the right one for this recipient and these data?"),
        ("recipient-controls", "What keeps the recipient from trying: contract, access, training, audit?"),
        ("harm", "What would happen to somebody who is found?"),
        ("other-data", "Which other data about these people can the recipient get?"),
        ("utility", "Does what is left serve the purpose?"),
        ("residual-risks", "Which of the risks that are not covered are accepted, and by whom?"),
        ("incident", "What is done if somebody is found?"),
        ("signature", "Name, role, date and signature of who has decided."),
    )
    answered = [OpenQuestion(name, text, told.get(name, "")) for name, text in OF_RELEASE.items()]
    return [*answered, *(OpenQuestion(name, text) for name, text in others)]
