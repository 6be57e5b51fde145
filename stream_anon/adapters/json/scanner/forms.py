"""The forms of a value: what the scanner knows of it before anybody asks what it means.

A string's span is within its quotes; that of a decimal ends before zeros that mean nothing, so that `248.0` is the
integer `248`. An `ODD` value is sound JSON of which only a closer look tells what it means: a string with escapes,
a number with an exponent or with more digits than kernels calculate with. Its span is all of its text, with quotes.
"""

from __future__ import annotations

ABSENT, NULL, STRING, INTEGER, DECIMAL, TRUE, FALSE, OTHER, OBJECT, ODD = range(10)
MOST_DIGITS = 18  # of an integer in 64 bits
MOST_EXACT = 15  # of a decimal that no other one shares its float with
