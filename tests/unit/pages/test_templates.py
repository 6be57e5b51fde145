"""Templates of pages: the library is strict, escapes everything, and is not loaded before a page is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from stream_anon.pages.tables import PageTable, Row
from stream_anon.pages.templates import rendered
from tests.support.data import ROOT
from tests.support.pages import markup_of, rows_of

STATUS = "adapters/http/status_page.html.j2"
UTILITY = "operations/utility/utility_page.html.j2"
TEXTS = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1) | st.sampled_from(
    ["<script>", "\"' x=", "&lt;"]
)


def test_a_value_that_nobody_gave_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="report"):
        rendered(UTILITY)


@pytest.mark.parametrize("name", ["style.css", "stacked.css", "tables.js"])
def test_style_and_script_stand_in_the_page_as_they_are(name: str) -> None:
    assert (ROOT / "stream_anon/pages" / name).read_text() in rendered(STATUS)


@given(st.lists(TEXTS, min_size=6, max_size=6))
def test_a_text_is_shown_as_it_is_and_never_becomes_markup(texts: list[str]) -> None:
    def page(title: str, first: str, second: str, one: str, other: str, remark: str) -> str:
        table = PageTable(title, [first, second], [Row([one, other], before=0.5)], texts=2, remarks=[remark])
        return rendered(UTILITY, report={"source": title, "records": 1}, k=remark, tables=[table])

    found = page(*texts)
    assert markup_of(found) == markup_of(page(*"abcdef"))
    assert rows_of(found) == [[*texts[1:3], ""], [*texts[3:5], ""]]


def test_a_table_shows_its_first_hundred_rows_and_says_how_many_are_left() -> None:
    def page(rows: int) -> str:
        table = PageTable("", ["each"], [Row([str(i)]) for i in range(rows)])
        return rendered(UTILITY, report={"source": "", "records": 1}, k=1, tables=[table])

    assert rows_of(page(1101))[1:] == [[str(i)] for i in range(100)]
    assert "and 1,001 more; --json lists them" in page(1101)
    assert "more" not in page(100)


def test_a_service_whose_page_nobody_opens_does_not_load_the_library() -> None:
    code = """if True:
        import sys
        from stream_anon.adapters.http.answers import admin_pages
        pages = admin_pages(None)
        assert "jinja2" not in sys.modules
        pages["/"]()
        assert "jinja2" in sys.modules"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
