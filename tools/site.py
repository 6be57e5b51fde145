"""Hooks of `make docs`: docs/index.md is navigation and `llms.txt`, links out of docs/ lead to the repository."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

_BLOB = "https://github.com/stream-anon/stream-anon/blob/main/"
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_ENTRY = re.compile(r"^- \[([^]]+)\]\(([\w/-]+\.md)\)", re.MULTILINE)
_OUT = re.compile(r"(?<=\]\()\.\./[^)\s]+")
_CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LIST_BEHIND_TEXT = re.compile(r"(\A\n|^(?!- )\S.*\n|\n\n(?: .*\n)+)(?=- )", re.MULTILINE)
_INDENT = re.compile(r"^ {2,}", re.MULTILINE)


def navigation(index: str) -> list[dict[str, Any]]:
    """Return the navigation: a tab for each section of the index, in it the pages that the section lists."""
    _, *parts = _SECTION.split(index)
    tabs = [
        {name: [{title: path} for title, path in _ENTRY.findall(listed)]}
        for name, listed in zip(parts[::2], parts[1::2], strict=True)
    ]
    return [{"Home": "index.md"}, *tabs]


def linked(text: str, page: str) -> str:
    """Return a page's text, with links that lead out of docs/ as links to the repository."""

    def absolute(found: re.Match[str]) -> str:
        path = normpath(str(PurePosixPath("docs") / PurePosixPath(page).parent / found[0]))
        return found[0] if path.startswith("docs/") else _BLOB + path

    return _OUT.sub(absolute, text)


def spaced(text: str) -> str:
    """Return a page's text with lists as mkdocs wants them: behind an empty line, each level four spaces in."""
    parts = _CODE.split(text)
    parts[::2] = [_INDENT.sub(_by_level, _LIST_BEHIND_TEXT.sub(r"\1\n", part)) for part in parts[::2]]
    return "".join(parts)


def _by_level(indent: re.Match[str]) -> str:
    """Return four spaces for each level of a list, whose text stands two or three spaces in."""
    return "    " * ((len(indent[0]) + 1) // 3)


def on_config(config: Any) -> None:
    """Set the navigation, before mkdocs looks for pages that it lacks."""
    config.nav = navigation((Path(config.docs_dir) / "index.md").read_text())


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the text of which mkdocs makes a page."""
    return spaced(linked(markdown, page.file.src_uri))


def on_page_content(html: str, **_: Any) -> str:
    """Return a page with plain bars: in the code of a table's cell each is written with a backslash before it."""
    return html.replace("\\|", "|")


def on_post_build(config: Any) -> None:
    """Put each page's text beside it. The index, which is of the form of llmstxt.org, is `llms.txt` too."""
    docs, site = Path(config.docs_dir), Path(config.site_dir)
    for path in docs.rglob("*.md"):
        page = path.relative_to(docs)
        text = linked(path.read_text(), page.as_posix())
        (site / page).write_text(text)
        if page.name == "index.md":
            (site / "llms.txt").write_text(text)
