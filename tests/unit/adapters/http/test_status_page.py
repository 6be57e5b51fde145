"""The status page in a real browser: live, quiet, safe from what labels hold, for keyboards.

How it looks at every width, by day and at night: tests/conformance/test_pages.py.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from stream_anon.adapters.http.server import HttpServers
from stream_anon.service import events as e
from stream_anon.service.status.status_board import StatusBoard
from tests.support.classes import made_up_classes
from tests.support.pages import missing
from tests.support.told_events import PUBLISHED

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

HOSTILE = "<img src=x onerror=alert(1)>"
STARTED = e.WorkerStarted(
    "stream_anon 0.1.0",
    "sha256:ab",
    "anonymizer",
    "people",
    "people.anonymous",
    "exactly-once",
    "forest",
    10,
    30.0,
    1000,
    ("age", "city", "education"),
    declared=("person", "age", "city", "education", "diagnosis"),
    asked=("k 10", "diagnosis: distinct_l 3", "diagnosis: t_closeness 0.2 (equal)"),
)


def window(batch: str, released: int = 620) -> e.WindowPublished:
    """Return a window of 40 classes with labels of three kinds, one of them hostile."""
    ages = [[{"min": low, "max": low + 9} for low in (20, 30, 40, 60)][i % 4] for i in range(40)]
    cities = [["Aachen", ["Bonn", None], HOSTILE, "*", None][i % 5] for i in range(40)]
    levels = [["school", HOSTILE][i // 20] for i in range(40)]
    return replace(
        PUBLISHED,
        batch=batch,
        ranges=(("people", 0, 5, 655),),
        records_in=650,
        released=released,
        suppressed={"unplaced": 20},
        rejected={"missing": 10},
        classes=made_up_classes([10 + i % 13 for i in range(40)], (ages, cities, levels)),
        achieved_k=10,
        achieved_l={},
        gcp=0.21,
        arrivals=((1000.0, 640),),
        readings=e.Readings(),
        faults={("missing", 1): 7, ("missing", -1): 3},
        missing={},
    )


class Seen:
    """A page, and what the browser had to say about it."""

    def __init__(self, page: Any, board: StatusBoard, servers: HttpServers) -> None:
        self.page, self.board, self.servers = page, board, servers
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda _: self.complaints.append("a dialog opened"))
        page.on("request", lambda request: self.requests.append(request.url))

    async def text(self, selector: str) -> str:
        found: str = await self.page.inner_text(selector)
        return found

    async def until(self, condition: str) -> None:
        async with asyncio.timeout(10):  # the page's policy forbids Playwright's own way, which evaluates a text
            while not await self.page.evaluate(condition):  # noqa: ASYNC110
                await asyncio.sleep(0.05)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Any]:
    """Return the distribution's Chromium, one for all tests."""
    chromium = shutil.which("chromium")
    if chromium is None:
        missing("chromium")
    try:
        from playwright.async_api import async_playwright
    except ImportError:
        missing("playwright")
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        await started.close()


@pytest_asyncio.fixture(loop_scope="module")
async def seen(browser: Any) -> AsyncIterator[Seen]:
    begun = time.monotonic()
    board = StatusBoard(lambda: 1012.5 + time.monotonic() - begun)
    servers = HttpServers(board, lambda: b"", "text/plain", ("127.0.0.1", 0), ("127.0.0.1", 0))
    _, (host, port) = await servers.start()
    for event in (
        STARTED,
        e.ReadinessChanged(True),
        e.TakeoverDone((("people", 0, 5), ("people", 1, 9)), 3, 0, 90, 90, (), (), 2, 1, 0.1),
        e.RecordsConsumed(740),
        window("00ff"),
        e.WindowAudited("00ff", "passed", (), 0.01),
        e.WindowMeasured((("age", 0.38, 0.1), (HOSTILE, 0.31, 0.12), ("education", 0.2, 0.01)), 0.01),
        e.WindowProgress(420, 1000.0, 1012.0, True, False, 12),
    ):
        board(event)
    page = await browser.new_page()
    try:
        found = Seen(page, board, servers)
        await page.goto(f"http://{host}:{port}/")
        await found.until("document.querySelectorAll('.leaf').length > 0")
        yield found
    finally:
        await page.close()
        await servers.stop()


async def test_the_page_shows_the_status_and_asks_only_its_own_server(seen: Seen) -> None:
    assert await seen.text("#ready") == "ready"
    assert "420 records, room for 1,000" in await seen.text("#open-records")
    assert await seen.page.locator(".leaf").count() == 40
    assert "✓ passed" in await seen.text("#certificates")
    assert await seen.page.locator("#warnings").is_hidden()

    seen.board(e.RecordsConsumed(900))
    seen.board(window("11ee"))
    seen.board(e.WindowAudited("11ee", "failed", ("a class has fewer than k records",), 0.01))
    await seen.until("document.querySelectorAll('#certificates .failed').length === 1")
    assert "1 published windows do not fit" in await seen.text("#warnings")
    await seen.until("document.querySelector('#rate-in').textContent !== '0'")
    assert "1,240" in await seen.text("#totals")

    assert seen.complaints == []
    assert {url.split("/")[2].split(":")[0] for url in seen.requests if not url.startswith("data:")} == {
        "127.0.0.1"
    }
    assert {url.rpartition("/")[2] for url in seen.requests if not url.startswith("data:")} == {"", "events"}


async def test_a_label_never_becomes_markup(seen: Seen) -> None:
    for selector in (".leaf", "#classes td", "#trees li"):
        shown = await seen.page.locator(selector).all_text_contents()
        assert any("<img src=x" in text for text in shown), selector
    assert await seen.page.locator("img").count() == 0
    assert seen.complaints == []


async def test_an_injected_script_does_not_run(seen: Seen) -> None:
    await seen.page.evaluate(
        "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)"
    )
    assert await seen.page.evaluate("window.ran") is None
    assert any("Content Security Policy" in text for text in seen.complaints)


async def test_a_keyboard_reaches_the_leaves(seen: Seen) -> None:
    reached = []
    for _ in range(6):
        await seen.page.keyboard.press("Tab")
        reached.append(
            await seen.page.evaluate(
                "document.activeElement.getAttribute('class') || document.activeElement.tagName"
            )
        )
    assert reached[:2] == ["skip", "leaf"]
    assert {"SUMMARY", "A"} <= set(reached)

    await seen.page.focus(".leaf")
    first = await seen.text("#leaf")
    await seen.page.keyboard.press("ArrowRight")
    assert "records: age 40–49" in first  # noqa: RUF001
    assert await seen.text("#leaf") != first
    await seen.page.keyboard.press("Home")
    assert await seen.text("#leaf") == first
    assert await seen.page.locator(".leaf[tabindex='0']").count() == 1


async def test_a_worker_of_several_that_is_not_ready_is_shown(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await seen.page.locator("#workers").is_hidden()
    workers = [
        {"number": 0, "ready": True, "reason": "", "partitions_owned": 3},
        {"number": 1, "ready": False, "reason": HOSTILE, "partitions_owned": 0},
    ]
    alone = seen.board.status
    monkeypatch.setattr(seen.board, "status", lambda: {**alone(), "workers": workers})
    seen.board(e.RecordsConsumed(1))
    await seen.until("!document.querySelector('#workers').hidden")
    assert await seen.text("#open-records") == "420 records, room for 2,000, in the windows of 2 workers"
    rows = (await seen.text("#worker-list")).splitlines()
    assert [row.split("\t") for row in rows[1:]] == [["0", "ready", "3"], ["1", f"not ready: {HOSTILE}", "0"]]
    assert seen.complaints == []


async def test_certificates_say_how_full_their_windows_were(seen: Seen) -> None:
    heads = await seen.page.locator("#certificates th").all_inner_texts()
    cells = await seen.page.locator("#certificates td > :last-child").all_inner_texts()
    first = dict(zip(heads, cells, strict=True))
    assert first["released"] == "620"
    assert first["full"] == "64\u00a0%"
    assert first["loss"] == "21\u00a0%"


async def test_a_window_is_never_more_than_full_however_many_records_one_person_sent(seen: Seen) -> None:
    flooded = replace(window("33bb", released=980), suppressed={"unplaced": 20, "over-limit": 5000})
    seen.board(flooded)
    await seen.until("document.querySelectorAll('#certificates tr').length === 3")
    cells = await seen.page.locator("#certificates tr:nth-child(2) td > :last-child").all_inner_texts()
    assert cells[3] == "5,020"
    assert cells[5] == "100\u00a0%"


async def test_the_page_says_what_was_asked_what_was_lost_and_what_was_turned_away(seen: Seen) -> None:
    assert "k 10\ndiagnosis: distinct_l 3\ndiagnosis: t_closeness 0.2 (equal)" in await seen.text("#place")
    assert "missing (age)\u00a07, missing\u00a03" in await seen.text("#totals")
    losses = (await seen.text("#attribute-losses")).split()
    assert {"age", "city", "education"} <= set(losses)


async def test_the_page_says_what_each_attribute_leaks_before_and_after_the_release(seen: Seen) -> None:
    rows = [row.replace("\u00a0", " ").split("\t") for row in (await seen.text("#leakage")).splitlines()]
    assert rows == [
        ["attribute", "before", "after"],
        [HOSTILE, "31 %", "12 %"],
        ["age", "38 %", "10 %"],
        ["education", "20 %", "1 %"],
    ]
    assert "of one in an hour, with noise" in await seen.text("#leakage-note")
    seen.board(e.WindowMeasured((), 0.01))
    seen.board(e.WindowMeasured((("age", 0.4, 0.2),), 0.01))
    await seen.until("document.querySelector('#leakage').textContent.includes('40\u00a0%')")
    assert len((await seen.text("#leakage")).splitlines()) == 2
    assert seen.complaints == []


async def test_while_nothing_is_told_of_original_records_the_page_says_how_many_individuals_that_takes(
    seen: Seen,
) -> None:
    for most, end in (
        (1000, "these hold at most 1,000 records (window.max_records)."),
        (5000, "hide each of them."),
    ):
        found = json.dumps({"age": {"before": None, "after": most / 1e5}})
        await seen.page.evaluate(f"leakage({found}, {{max_records: {most}, leakage_needs: 1708}})")
        said = await seen.text("#leakage-note")
        assert "told of windows of about 1,708 individuals or more" in said
        assert said.endswith(end)
        assert (await seen.text("#leakage")).split("\n")[1].split("\t")[1] == "\u2013"
    assert seen.complaints == []


async def test_the_page_says_why_more_was_read_than_released(seen: Seen) -> None:
    words = await seen.text("#again")
    assert "90 records were read again" in words
    assert "each record is released once" in words


async def test_a_page_that_is_loaded_again_shows_the_last_minute(seen: Seen) -> None:
    await seen.until("document.querySelector('#rate-in').textContent !== '0'")
    drawn = await seen.page.locator("#spark-in path").get_attribute("d")
    await seen.page.reload()
    await seen.until("document.querySelectorAll('.leaf').length > 0")
    assert drawn.count("L") == 59
    assert await seen.text("#rate-in") == "74", "740 records in the last ten seconds"


async def test_windows_that_close_half_empty_give_a_hint(seen: Seen) -> None:
    assert await seen.page.locator("#hints").is_hidden()
    for number in range(12):
        seen.board(window(f"{number:04x}", released=100))
    await seen.until("!document.querySelector('#hints').hidden")
    assert "windows close at 12% of max_records: fewer workers" in await seen.text("#hints")


async def test_a_worker_that_compiles_says_so(seen: Seen) -> None:
    seen.board(e.ReadinessChanged(False, "compiling kernels"))
    await seen.until("document.querySelector('#ready').textContent === 'not ready: compiling kernels'")


async def test_every_graphic_and_region_has_a_label_or_is_hidden_from_screen_readers(seen: Seen) -> None:
    unnamed = await seen.page.evaluate(
        """[...document.querySelectorAll('svg, section, [role=meter], [role=region], [tabindex]')]
          .filter(x => !x.getAttribute('aria-label') && !x.getAttribute('aria-labelledby')
                       && !x.closest('[aria-hidden=true]')).map(x => x.outerHTML.slice(0, 80))"""
    )
    assert unnamed == []
    assert await seen.page.evaluate("document.documentElement.lang") == "en"


async def test_a_service_that_is_gone_is_shown_as_gone(seen: Seen) -> None:
    await seen.servers.stop()
    await seen.until("document.querySelector('#ready').textContent.includes('no connection')")


async def test_an_open_window_shows_its_count_and_age_only(seen: Seen) -> None:
    """What the browser got of it, and what it shows."""
    status = seen.board.status()
    assert set(status["open_window"]) == {"records", "age_seconds", "another_is_closing", "reading_is_paused"}  # type: ignore[call-overload]
    seen.board(replace(window("22dd"), classes=made_up_classes([], ([], [], []))))
    await seen.until("document.querySelector('#forest-note').textContent.includes('released no class')")
    assert await seen.page.locator(".leaf").count() == 0
