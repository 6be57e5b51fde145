"""The temporary file of the audit: nobody else can open it, and a full disk is told without what was to be kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_anon.errors import InputError
from stream_anon.operations.audit.temporary_lines import TemporaryLines


def test_lines_come_back_and_leave_no_name_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLITE_TMPDIR", str(tmp_path))
    with TemporaryLines() as lines:
        large = [(b"a", b"x" * 2**20), (b"\x00b", b""), (b"a", b'["\xc3\xa9"]\n[1]')]
        lines.put(1, large * 5)
        lines.put(2, [])
        lines.put(3, [(b"a", b"y")])
        assert list(tmp_path.iterdir()) == []
        assert sorted(lines.taken(1)) == sorted(large * 5)
        assert lines.taken(1) == lines.taken(2) == []
        assert lines.taken(3) == [(b"a", b"y")]


def test_a_full_disk_is_an_error_that_shows_no_line() -> None:
    with TemporaryLines() as lines:
        lines._base.execute("PRAGMA max_page_count = 20")
        with pytest.raises(InputError, match="full") as caught:
            lines.put(1, [(b"a", b"secret" * 100_000)])
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__
