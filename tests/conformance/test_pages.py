"""Every page at every width in a real browser, with the longest labels and the largest numbers that it can show."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stream_anon.adapters.http.server import HttpServers
from stream_anon.service.status.status_board import StatusBoard
from tests.support import fullest
from tests.support.pages import Layout, chromium, layout, layouts, pictures

pytestmark = pytest.mark.slow

MOST_EMPTY = 12  # the area of a page by that of its text and drawings; of one with something on it the half
EMPTY = {"status-empty"}
FILES: dict[str, Callable[[Path], str]] = {
    "utility": fullest.utility,
    "utility-short": lambda folder: fullest.utility(folder, "ola.csv"),
    "leakage-suggested": fullest.leakage,
    "leakage-released": lambda folder: fullest.leakage(folder, released=True),
    "negotiation-relaxed": fullest.negotiation,
    "report": fullest.evidence,
    "negotiation-exact": lambda folder: fullest.negotiation(folder, 1.0),
}
STATUS: dict[str, Callable[[Callable[[], float]], Any]] = {
    "status": fullest.board,
    "status-empty": StatusBoard,
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pictures(tmp_path_factory.mktemp("pictures"))


@pytest.fixture
def served() -> Iterator[Callable[[Any], str]]:
    """Return what serves a status, and returns the address of its page."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    running: list[HttpServers] = []

    def serve(service: Any) -> str:
        servers = HttpServers(service, lambda: b"", "text/plain", ("127.0.0.1", 0), ("127.0.0.1", 0))
        _, (host, port) = asyncio.run_coroutine_threadsafe(servers.start(), loop).result(10)
        running.append(servers)
        return f"http://{host}:{port}/"

    yield serve
    for servers in running:
        asyncio.run_coroutine_threadsafe(servers.stop(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def _judge(name: str, found: dict[str, Layout]) -> None:
    faults = [f"{name} at {place}: {fault}" for place, own in found.items() for fault in own.faults]
    assert not faults, "\n".join(faults)
    emptiness = {place: own.emptiness for place, own in found.items()}
    assert max(emptiness.values()) < (MOST_EMPTY if name in EMPTY else MOST_EMPTY / 2), emptiness


@pytest.mark.parametrize("name", FILES)
def test_a_report_can_be_read_at_every_width(name: str, browser: Any, folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(FILES[name](tmp_path), encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    _judge(name, layouts(page, name, folder))
    page.close()


@pytest.mark.parametrize("name", [*STATUS, "status-fleet"])
def test_the_status_can_be_read_at_every_width(
    name: str, browser: Any, folder: Path, served: Callable[[Any], str]
) -> None:
    if name == "status-fleet":
        service = fullest.board(lambda: 1012.5, "at-least-once")
        alone = service.status
        service.status = lambda: fullest.workers(alone())  # type: ignore[method-assign]
    else:
        service = STATUS[name](lambda: 1012.5)
    page = browser.new_page()
    page.goto(served(service))
    while page.inner_text("#ready") == "connecting":
        page.wait_for_timeout(20)
    _judge(name, layouts(page, name, folder))
    page.close()


BAD = {
    "breaks a word of": """<dl style="display: grid; grid-template-columns: auto 1fr; width: 300px">
      <dt>Behind an open transaction of a producer</dt>
      <dd style="overflow-wrap: anywhere; margin: 0">1,234</dd></dl>""",
    "is squeezed into": "<section><p style='width: 3em'>one two three four five six seven eight nine</p></section>",
    "the page is": "<div style='width: 500px'>wide</div>",
    "has text outside of the screen": "<p style='position: absolute; left: 350px; width: 90px'>some words",
    "has text outside of its": "<p style='width: 2em'>unbreakable</p>",
    "does not say that it scrolls": "<div style='overflow-x: auto'><div style='width: 900px'>wide</div></div>",
    "lies over": "<p>1,234,567</p><p style='position: absolute; top: 3px'>7,654,321</p>",
    "has letters of": "<svg viewBox='0 0 2000 100' style='width: 300px'><text y='50'>tiny</text></svg>",
    "has a contrast of": "<p style='color: #aaa'>pale</p>",
    "is a drawing too small": "<svg style='width: 9px; height: 9px'></svg>",
}


@pytest.mark.parametrize("fault", BAD)
def test_what_cannot_be_read_is_found(fault: str, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.set_content(f"<body style='font: 15px sans-serif; background: #fff'>{BAD[fault]}")
    assert [each for each in layout(page).faults if fault in each]
    page.close()


def test_a_page_that_is_plain_has_no_fault(browser: Any) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 800})
    name = "a_name_that_is_longer_than_a_telephone_is_wide_and_has_no_place_to_break"
    page.set_content(f"""<body style='font: 15px sans-serif; background: #fff; overflow-wrap: break-word'>
      <p>Some words, 1,234 numbers, and {name}.</p><p id=said>It scrolls sideways.</p>
      <div class=sideways tabindex=0 aria-describedby=said style='overflow-x: auto'>
      <div style='width: 900px; text-align: right'>far to the right</div></div>""")
    assert layout(page).faults == []
    page.close()
