"""Files of its own for each test of what a file of tests made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.audited_files import Files


@pytest.fixture
def files(made: Files, tmp_path: Path) -> Files:
    """Return copies that a test may change; `made` is the fixture of its own file."""
    return made.copied(tmp_path)
