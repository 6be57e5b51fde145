"""A heading of a framework is answered by what a report has, not by an empty section."""

from __future__ import annotations

from stream_anon.operations.report.frameworks import _ABSENT, HEADINGS, SECTIONS, Heading, headings


def _by_text(*told: str) -> dict[str, Heading]:
    return {heading.text: heading for heading in headings(told)}


def test_with_everything_all_headings_are_answered_as_they_can_be() -> None:
    assert list(headings(_ABSENT)) == list(HEADINGS)
    assert {name for heading in HEADINGS for name in heading.sections} <= SECTIONS.keys()


def test_without_an_attack_none_is_cited() -> None:
    found = _by_text("release", "before", "sensitive", "classes")
    testing = found["8.2.3 Adversarial testing"]
    assert (testing.sections, testing.left) == ((), "No attack was made for this report.")
    assert found["Singling out"].sections == ("risks",)
    assert "attacks" not in {name for heading in found.values() for name in heading.sections}


def test_without_a_sample_the_initial_risk_is_left_open() -> None:
    assert "no sample" in _by_text("attacks")["Risk assessment: initial, threshold, residual"].left
    assert "no sample" not in _by_text("attacks", "before")["Risk assessment: initial, threshold, residual"].left


def test_what_is_left_to_people_stays() -> None:
    left = _by_text()["6.2 Threat modelling"].left
    assert left.startswith("Security and privacy practices")
    assert left.endswith("Nothing is stated under release in the settings.")
