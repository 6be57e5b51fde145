"""Finds the real data that lies beside the project, where it does."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"


def shared_data(*parts: str) -> Path:
    """Return the path of a data file or folder; skip the test where it is absent."""
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"the test data {'/'.join(parts)} is not beside the project")
    return path
