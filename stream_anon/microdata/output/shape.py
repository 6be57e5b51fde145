"""The shapes in which released records may be written."""

from __future__ import annotations

from enum import StrEnum


class Shape(StrEnum):
    """How released records are written.

    Whatever the shape, a record says the same: `stream_anon.microdata.output.typed` computes one from the other.
    """

    NATURAL = "natural"  # a value as its level is best written: 30, {"min": 30, "max": 39} or "*"
    TYPED = "typed"  # one type an attribute: an object with min and max, a text, or a list of texts
    FLAT = "flat"  # the same as columns: age_min and age_max, patient_age for the age of the object patient
