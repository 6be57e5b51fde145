"""`stream-anon pause --for`: which durations are taken, and what is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_anon.cli.run import orders
from stream_anon.errors import SettingsError
from tests.support.policies import write_policy


@pytest.mark.parametrize(("lasting", "seconds"), [(None, None), ("90s", 90), ("30m", 1800), ("744h", 2_678_400)])
def test_a_pause_lasts_as_long_as_asked_or_has_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lasting: str | None, seconds: float | None
) -> None:
    sent: list[object] = []
    monkeypatch.setattr(orders, "give", lambda *order: sent.append(order) or "paused")
    assert orders.order(write_policy(tmp_path), "pause", lasting) == 0
    assert sent == [("127.0.0.1", 9465, "pause", seconds)]


@pytest.mark.parametrize("lasting", ["0s", "-5m", "745h", "soon", ""])
def test_no_sensible_duration_orders_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lasting: str) -> None:
    monkeypatch.setattr(orders, "give", lambda *_: pytest.fail("it was ordered"))
    with pytest.raises(SettingsError, match=r"^--for: must be a duration such as"):
        orders.order(write_policy(tmp_path), "pause", lasting)
