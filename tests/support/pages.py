"""Pages that stand alone: whether they are sound, and what a browser makes of them at every width."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

WIDTHS = (390, 768, 1280, 1920)
PICTURES = "STREAM_ANON_PICTURES"
"""The variable that names the folder for screenshots."""
_MEASURING = Path(__file__).with_name("measuring.js").read_text(encoding="utf-8")


HOSTILE = """</style></title></h1></span><script>"'&lt;"""
"""What changes a page wherever it is not escaped."""


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "wbr":
            return
        self.seen.append((tag, [name for name, _ in attrs]))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def markup_of(page: str) -> list[tuple[str, list[str]]]:
    """Return the tags of a page with the names of their attributes; fail where one is not closed.

    Where a line may end is left out.
    """
    tags = _Tags()
    tags.feed(page)
    assert tags.open == []
    return tags.seen


def tags_of(page: str) -> set[str]:
    """Return the kinds of tags of a page; fail where it asks for something from elsewhere."""
    assert not re.search(r"(?:src|href)=|url\(|https?:", page)
    return {tag for tag, _ in markup_of(page)}


def hostile(report: Any) -> Any:
    """Return a report like another, each of whose texts ends in `HOSTILE`."""
    if isinstance(report, str) and not isinstance(report, Enum):
        return report + HOSTILE
    if isinstance(report, (tuple, list)):
        return type(report)(map(hostile, report))
    if isinstance(report, Mapping):
        return {hostile(key): hostile(value) for key, value in report.items()}
    if is_dataclass(report) and not isinstance(report, type):
        return replace(report, **{each.name: hostile(getattr(report, each.name)) for each in fields(report)})
    return report


class _Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._in: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")
        elif tag == "span":
            self._in.append(dict(attrs).get("class") or "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "span":
            self._in.pop()

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1] and "label" not in self._in:
            self.rows[-1][-1] += data


def rows_of(page: str) -> list[list[str]]:
    """Return the text of each cell of each row of a page's tables, headings among them."""
    found = _Cells()
    found.feed("".join(re.findall("<table.*?</table>", page, re.DOTALL)))
    return [[cell.strip() for cell in row] for row in found.rows]


def missing(name: str) -> None:
    """Skip the test, since a program is not installed; where everything must be tried, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{name} is not installed")
    pytest.skip(f"{name} is not installed")


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield the distribution's Chromium; skip the test where it is not installed."""
    program = shutil.which("chromium")
    if program is None:
        missing("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def pictures(otherwise: Path) -> Path:
    """Return the folder for screenshots: the one that the environment names, or another one."""
    folder = Path(os.environ.get(PICTURES) or otherwise)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@dataclass(frozen=True, slots=True)
class Layout:
    """How a page is laid out at one width.

    Parameters
    ----------
    faults
        What cannot be read, as sentences.
    height
        Of the page, in pixels.
    emptiness
        The area of the page by that of the text and the drawings on it.
    """

    faults: list[str]
    height: int
    emptiness: float


def layout(page: Any) -> Layout:
    """Return how a page of a browser is laid out, with all its sections open."""
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return Layout(**page.evaluate(_MEASURING))


def layouts(page: Any, name: str, folder: Path) -> dict[str, Layout]:
    """Return how a page is laid out at each width by day, and at two of them at night; write pictures of it."""
    found = {}
    for scheme, widths in (("light", WIDTHS), ("dark", (WIDTHS[0], WIDTHS[2]))):
        page.emulate_media(color_scheme=scheme)
        for width in widths:
            page.set_viewport_size({"width": width, "height": 900})
            found[f"{width} px, {scheme}"] = layout(page)
            page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)
    return found
