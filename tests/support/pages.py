"""Pages that stand alone: whether they are sound, and what a browser makes of them on a telephone."""

from __future__ import annotations

import asyncio
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

TELEPHONE = {"width": 390, "height": 800}


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags_of(page: str) -> set[str]:
    """Return the tags of a page; fail where one is not closed, or where it asks for something from elsewhere."""
    tags = _Tags()
    tags.feed(page)
    assert tags.open == []
    assert not re.search(r"(?:src|href)=|url\(|https?:", page)
    return tags.seen


def on_a_telephone(page: str, folder: Path, *counted: str) -> tuple[int, list[int]]:
    """Return how wide a page is on a telephone, and how many elements of each selector can be seen there."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    playwright = pytest.importorskip("playwright.async_api", reason="playwright is not installed")
    path = folder / "page.html"
    path.write_text(page)
    wide = "r => r.getBoundingClientRect().width > 1"

    async def measured() -> tuple[int, list[int]]:
        async with playwright.async_playwright() as driver:
            browser = await driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = await browser.new_page(viewport=TELEPHONE)
            await page.goto(path.as_uri())
            width = await page.evaluate("document.documentElement.scrollWidth")
            narrow = "r => r.getBoundingClientRect().width < 90"
            cells = f"[...document.querySelectorAll('td:first-child')].filter({narrow}).length"
            assert await page.evaluate(cells) == 0, "names are broken letter by letter"
            found = [
                await page.evaluate(f"[...document.querySelectorAll('{each}')].filter({wide}).length")
                for each in counted
            ]
            await browser.close()
            return width, found

    return asyncio.run(measured())
