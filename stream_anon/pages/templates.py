"""Render pages from the package's templates."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from stream_anon.pages.tables import STACKED_BELOW
from stream_anon.rounding import exactly

if TYPE_CHECKING:
    from jinja2 import Environment


def rendered(template: str, **values: object) -> str:
    """Return a page; every value is escaped, and a name that has no value is an error.

    Parameters
    ----------
    template
        Its path in the package.
    """
    return _templates().get_template(template).render(values)


@cache
def _templates() -> Environment:
    # A service whose page nobody opens, and a command that writes no page, do without the library.
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    found = Environment(
        loader=PackageLoader("stream_anon", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.globals["stacked_below"] = STACKED_BELOW
    found.filters["thousands"] = "{:,}".format
    found.filters["exactly"] = exactly
    # A line may end behind each slash, as in the path of a file.
    found.filters["flowing"] = lambda text: escape(text).replace("/", Markup("/<wbr>"))
    return found
