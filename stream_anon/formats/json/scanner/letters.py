"""Bytes that mean something in JSON, by name. Kernels see them as constants."""

from __future__ import annotations

TAB, NEWLINE, RETURN, BLANK = b"\t\n\r "
QUOTE, BACKSLASH, SLASH = b'"\\/'
COMMA, COLON = b",:"
OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET = b"{}[]"
PLUS, MINUS, POINT = b"+-."
DIGIT_0, DIGIT_9 = b"09"
UPPER_A, UPPER_Z = b"AZ"
LOWER_A, LOWER_B, LOWER_E, LOWER_F, LOWER_N, LOWER_R, LOWER_T, LOWER_U = b"abefnrtu"
DELETE = 0x7F
FIRST_NON_ASCII = 0x80
CASE = 0x20
"""The bit in which a lower-case letter differs from the upper-case one."""
