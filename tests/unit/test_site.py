"""The site: its index leads to every page, and pages read on it as they do in the repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.data import ROOT
from tools.site import linked, navigation, spaced

DOCS = ROOT / "docs"
INDEX = (DOCS / "index.md").read_text()
PAGES = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}


def test_the_index_leads_to_every_page_once() -> None:
    home, *tabs = navigation(INDEX)
    listed = [path for tab in tabs for pages in tab.values() for page in pages for path in page.values()]
    assert sorted([*home.values(), *listed]) == sorted(PAGES)


def test_the_index_is_of_the_form_of_llms_txt() -> None:
    """A title, a summary, then lists under headings: a link and a sentence each."""
    title, summary, *_ = INDEX.split("\n\n")
    assert title.startswith("# ")
    assert all(line.startswith("> ") for line in summary.splitlines())
    for part in INDEX.split("\n## ")[1:]:
        for line in filter(None, part.splitlines()[1:]):
            assert re.fullmatch(r"- \[[^]]+\]\([\w/-]+\.md\): .+\.", line), line


def test_links_out_of_the_docs_lead_to_the_repository() -> None:
    ours = "https://github.com/stream-anon/stream-anon/blob/main/"
    text = "[a](../../README.md#try-it) [b](../explain/privacy.md) [c](policy.md) [d](https://example.org/../x)"
    expected = (
        f"[a]({ours}README.md#try-it) [b](../explain/privacy.md) [c](policy.md) [d](https://example.org/../x)"
    )
    assert linked(text, "start/quickstart.md") == expected


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("For example:\n- one\n- two\n", "For example:\n\n- one\n- two\n"),
        ("- one,\n\n  and more\n- two\n", "- one,\n\n    and more\n\n- two\n"),
        ("1. one\n   - inner\n     on two lines\n", "1. one\n    - inner\n        on two lines\n"),
        ("```\nls\n```\n- one\n", "```\nls\n```\n\n- one\n"),
        ("```yaml\nkeys:\n- one\n   - two\n```\n", "```yaml\nkeys:\n- one\n   - two\n```\n"),
    ],
)
def test_lists_stand_as_mkdocs_wants_them(written: str, read: str) -> None:
    assert spaced(written) == read


@pytest.mark.slow
@pytest.mark.skipif(find_spec("material") is None, reason="mkdocs-material is not installed: `make docs` does that")
def test_the_site_is_built_without_a_warning_and_fetches_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=True, timeout=120)
    for page in PAGES:
        html = (tmp_path / page).with_suffix(".html").read_text()
        fetched = re.findall(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//[^>]*", html)
        assert fetched == [], page
        assert "\\|" not in html, page
        assert (tmp_path / page).read_text().startswith("# "), "the text stands beside the page"
    assert (tmp_path / "llms.txt").read_text() == linked(INDEX, "index.md")
