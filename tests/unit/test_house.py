"""Rooms stay small enough to be read: what may be larger is named here, with its reason."""

from __future__ import annotations

from pathlib import Path

from tests.support.data import ROOT

MOST_MODULES, MOST_LINES = 15, 300
LARGER = {
    "adapters/kafka/ledger/ledger.py": "one class: its methods share the state of one follower",
    "adapters/kafka/reading/source.py": "one class: its methods share the state of one consumer",
    "ports/log_lines.py": "the table of all log lines",
    "audit/audit.py": "one class: a release is audited in one pass",
    "engine/window.py": "one class: the open window and what is admitted to it",
    "microdata/attributes.py": "a kind of attribute each, and all of them short",
    "microdata/policy.py": "the policy and its parts",
    "privacy/criteria.py": "what decides about publication stands in one file",
    "service/status/status_board.py": "one class: the state that one page shows",
}


def _package() -> list[Path]:
    return sorted((ROOT / "stream_anon").rglob("*.py"))


def _lines(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


def test_a_folder_has_at_most_fifteen_modules() -> None:
    folders = {path.parent for path in _package()}
    crowded = {
        folder.name: count
        for folder in folders
        if (count := len([p for p in folder.glob("*.py") if p.name != "__init__.py"])) > MOST_MODULES
    }
    assert crowded == {}


def test_a_file_has_at_most_three_hundred_lines_or_a_reason() -> None:
    larger = {path.relative_to(ROOT / "stream_anon").as_posix() for path in _package() if _lines(path) > MOST_LINES}
    assert larger - LARGER.keys() == set(), "split it, or say why not"
    assert LARGER.keys() - larger == set(), "no longer larger: the exception can go"
