"""Put the common style and script into a page."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
STACKED_BELOW = (24, 34, 44, 54, 64)
"""Widths in rem: a table of the class `below-34` is stacked where its frame is narrower than 34."""


def styled(page: str) -> str:
    """Return a page with the style in place of `STYLE` and the script of tables in place of `TABLES`."""
    return page.replace("/* STYLE */", _read("style.css") + _read("stacked.css")).replace(
        "/* TABLES */", _read("tables.js")
    )


@cache
def style_of_reports() -> str:
    """Return the style of a page without a script, where the frame of a table says whether it is stacked."""
    stacked = _read("stacked.css")
    narrow = (
        f"@container (max-width: {width}rem) {{\n{stacked.replace('.stacked', f'.below-{width}')}}}\n"
        for width in STACKED_BELOW
    )
    return "".join((_read("style.css"), stacked, *narrow))


@cache
def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
