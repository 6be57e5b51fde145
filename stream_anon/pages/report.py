"""Pages of reports: one file without a script, that asks for nothing from anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from stream_anon.pages.style import STACKED_BELOW, style_of_reports

_LETTER, _WIDE_LETTER, _GAP, _BAR = 0.63, 0.94, 1.0, 7.0  # rem, in the widest of usual fonts
_COMFORT = 20  # letters of a name that stand in one line where there is room


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table.

    Parameters
    ----------
    cells
        Plain texts.
    parts
        Of its bar: the class of each part, `before` or `after`, and its length from 0 to 1; empty for no bar.
    told
        What the bar says, for who cannot see it.
    loud
        Whether it says something bad.
    """

    cells: Sequence[str]
    parts: Sequence[tuple[str, float]] = ()
    told: str = ""
    loud: bool = False


def opened(title: str, heading: str) -> Iterator[str]:
    """Yield the lines of a page up to its heading, both of which are plain text."""
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    yield f"<title>{escape(title)}</title>\n<style>\n{style_of_reports()}</style>\n</head>\n<body>"
    yield f"<h1>{flowing(heading)}</h1>"


def flowing(text: str) -> str:
    """Return a plain text for a page; a line may end behind each slash, as in the path of a file."""
    return escape(text).replace("/", "/<wbr>")


def closed() -> Iterator[str]:
    """Yield the end of a page."""
    yield "</body>\n</html>"


def table(headings: Sequence[str], rows: Sequence[Row], texts: int = 1) -> Iterator[str]:
    """Yield a table; where its columns do not fit it is shown as a list of its rows.

    Parameters
    ----------
    headings
        Plain texts, one for each cell of a row.
    texts
        How many of the first columns hold words; the others hold numbers.
    """
    drawn = any(row.parts for row in rows)
    kinds = ["" if not 0 < i < texts else ' class="text"' for i in range(len(headings))]
    yield f'<div class="frame"><table class="{_stacked(headings, rows, texts, drawn=drawn)}">'
    heads = (f'<th scope="col"{kind}>{escape(own)}</th>' for own, kind in zip(headings, kinds, strict=True))
    yield '<tr class="heads">' + "".join(heads) + ("<th></th></tr>" if drawn else "</tr>")
    for before, row in zip([None, *rows], rows, strict=False):
        same = texts > 1 and before is not None and before.cells[0] == row.cells[0]
        kind = " ".join(name for name, is_so in (("bad", row.loud), ("same", same)) if is_so)
        cells = (
            f'<td{own}><span class="label">{escape(heading)}</span><span>{escape(cell)}</span></td>'
            for heading, cell, own in zip(headings, row.cells, kinds, strict=True)
        )
        last = f'<td class="drawn">{_bar(row)}</td>' if drawn else ""
        yield (f'<tr class="{kind}">' if kind else "<tr>") + "".join(cells) + last + "</tr>"
    yield "</table></div>"


def _bar(row: Row) -> str:
    """Return a bar whose parts lie over each other; without a part there is nothing to draw."""
    if not row.parts:
        return ""
    drawn = "".join(f'<rect class="{name}" width="{100 * share:.2f}" height="8"/>' for name, share in row.parts)
    track = '<rect class="track" width="100" height="8"/>'
    told = escape(row.told)
    frame = f'<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="{told}">'
    return f"{frame}{track}{drawn}</svg>"


def _stacked(headings: Sequence[str], rows: Sequence[Row], texts: int, *, drawn: bool) -> str:
    """Return the class that stacks a table wherever its frame is too narrow for its columns."""
    needed = _BAR if drawn else 0.0
    for column, heading in enumerate(headings):
        cells = [row.cells[column] for row in rows]
        words = [word for text in (heading, *(cells if column < texts else ())) for word in text.split()]
        lines = [text[:_COMFORT] for text in cells] if column < texts else cells
        needed += max(map(_width, (*words, *lines)), default=0.0) + _GAP
    return next((f"below-{width}" for width in STACKED_BELOW if needed <= width), "stacked")


def _width(text: str) -> float:
    """Return how wide a text may be, in rem."""
    return sum(_WIDE_LETTER if letter in "mwMW@%—…" or ord(letter) > 0x2FF else _LETTER for letter in text)
