"""The page of a negotiation in a real browser: it answers as Python does, alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_anon.adapters.clock import SystemClock
from stream_anon.microdata.bounds import RecordBound
from stream_anon.operations.negotiate.negotiating import (
    Negotiation,
    NegotiationRequest,
    negotiate_over,
)
from stream_anon.operations.negotiate.negotiation_page import negotiation_page
from stream_anon.operations.samples import sample_of_file
from stream_anon.recoding.negotiation import Request, negotiate
from stream_anon.settings.policy_file import load_policy
from tests.support.pages import chromium
from tests.support.policies import people, write_document, write_json_lines

pytestmark = pytest.mark.slow
HOSTILE = "age</script><img src=x onerror=alert(1)>"
VALUES = ("Oslo", "Bergen", "north", "south", "flu", "cold", "secret", "p17")
CITY = {"hierarchy": {"north": ["Oslo", "Bergen"], "south": ["Rome", "Bari"]}}


def _negotiation(folder: Path, copies: int = 1) -> Negotiation:
    """Return a negotiation over 600 records of 300 people; `copies` of the city make the lattice larger."""
    quasi = {"role": "quasi-identifier"}
    attributes = {
        "person": {"role": "identifier"},
        HOSTILE: {**quasi, "path": ["age"], "numeric": {"min": 0, "max": 99, "levels": [5, 10, 50]}},
        "visits": {**quasi, "numeric": {"min": 0, "max": 9}},
        **{f"home.city{i or ''}": {**quasi, **CITY} for i in range(copies)},
        "illness": {"role": "sensitive", "accept_linkable": True},
    }
    records = people(600, seed=3, each=2)
    for record in records:
        record["home"] = {f"city{i or ''}": record["home"]["city"] for i in range(copies)}
    document = {"privacy": {"k": 3, "individual": "person", "sensitive": {"illness": {"distinct_l": 2}}}}
    policy = load_policy(write_document(folder, document | {"attributes": attributes}))
    table = sample_of_file(policy, str(write_json_lines(folder / "sample.jsonl", records)))
    return negotiate_over(policy, table, NegotiationRequest(3, 2, {HOSTILE: 2}, RecordBound(0.02)), SystemClock())


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


Open = Callable[..., Any]


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Return what opens a negotiation's page; nobody may complain and nothing be loaded."""
    complaints: list[str] = []
    requests: list[str] = []
    pages = []

    def open_page(found: Negotiation, **context: Any) -> Any:
        file = tmp_path / "page.html"
        file.write_text(negotiation_page(found), encoding="utf-8")
        page = browser.new_page(**context)
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda _: complaints.append("a dialog opened"))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(file.as_uri())
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert complaints == []
    assert all(url.startswith("file:") for url in requests)
    assert len(requests) == len(pages)


def _python(found: Negotiation, asked: dict[str, Any]) -> dict[str, Any]:
    request = Request(asked["k"], tuple(asked["limits"]), asked["most"], asked["l"])
    answer = asdict(negotiate(found.lattice, request))

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return list(value) if isinstance(value, tuple) else value

    return plain(answer)  # type: ignore[no-any-return]


def test_two_hundred_random_requests_have_the_answers_that_python_gives(opened: Open, tmp_path: Path) -> None:
    found = _negotiation(tmp_path)
    page = opened(found)
    draws = np.random.default_rng(0)
    requests = [
        {
            "k": int(draws.integers(2, 60)) if turn % 10 else 300,
            "l": int(draws.integers(1, 4)),
            "limits": [int(draws.integers(0, top + 1)) for top in found.lattice.shape.tops],
            "most": int(draws.choice([0, 3, 12, 60, 200])),
        }
        for turn in range(200)
    ]
    answers = page.evaluate("asked => asked.map(negotiate)", requests)
    expected = [_python(found, asked) for asked in requests]
    assert answers == expected
    assert 20 < sum(answer["exact"] is not None for answer in expected) < 180


def test_the_page_shows_the_answer_of_the_command_and_no_value(opened: Open, tmp_path: Path) -> None:
    found = _negotiation(tmp_path)
    page = opened(found)
    exact, relaxations = found.answer.exact, found.answer.relaxations
    scheme = exact or (relaxations and relaxations.suppression)
    assert scheme is not None
    assert f"{scheme.suppressed} records suppressed" in page.inner_text(".answers section")
    assert HOSTILE in page.inner_text("#asked")
    assert page.query_selector("img") is None
    text = (tmp_path / "page.html").read_text()
    assert [value for value in VALUES if re.search(rf"\b{value}\b", text)] == []
    assert "engine: {name: full-domain, levels: {" in page.inner_text("#policy")


def test_sliders_answer_while_one_moves_them_by_keyboard(opened: Open, tmp_path: Path) -> None:
    found = _negotiation(tmp_path)
    page = opened(found)
    before = page.inner_text("#policy")
    for _ in range(60):
        page.press("#k", "ArrowRight")
    assert page.evaluate("asked().k") == 63
    assert page.inner_text("#policy") != before
    assert page.get_attribute("#k", "aria-valuetext") == "63"
    # Every control is reached by the tabulator, the button too.
    page.focus("#k")
    reached = []
    for _ in range(12):
        reached.append(page.evaluate("document.activeElement.id"))
        page.keyboard.press("Tab")
    assert reached[:7] == ["k", "l", "most", "level0", "level1", "level2", "policy"]
    assert "copy" in reached
    page.press("#most", "End")
    assert page.evaluate("asked().most") == found.records
    assert page.inner_text("#verdict").startswith("Exact: ")


def test_the_lattice_is_drawn_whole_up_to_500_nodes_and_around_the_answers_beyond(
    opened: Open, tmp_path: Path
) -> None:
    small = _negotiation(tmp_path)
    page = opened(small)
    assert page.evaluate("document.querySelectorAll('circle').length") == small.nodes <= 500
    good = page.evaluate("document.querySelectorAll('circle.good').length")
    every = np.arange(small.nodes)
    request = small.request
    assert good == (small.lattice.suppressed(every, request.k, request.l) <= request.most_suppressed).sum()
    large = _negotiation(tmp_path, copies=4)
    assert large.nodes > 500
    page = opened(large)
    assert 3 < page.evaluate("document.querySelectorAll('circle').length") < 100
    assert "only the neighbours" in page.inner_text("#legend")
