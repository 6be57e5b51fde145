from __future__ import annotations

import numpy as np
import pytest

from stream_anon.privacy.gcp import gcp


def test_a_class_weighs_by_its_records() -> None:
    ncp = np.array([[0.0, 1.0], [0.5, 1.0]])
    assert gcp(ncp, np.array([30, 10]), 0) == pytest.approx((0.25 * 30 + 1.0 * 10) / 40)


def test_a_suppressed_record_costs_one() -> None:
    ncp = np.array([[0.0], [0.5]])
    assert gcp(ncp, np.array([30]), 10) == pytest.approx((0.25 * 30 + 10) / 40)
    assert gcp(np.empty((2, 0)), np.empty(0, np.int64), 7) == 1.0


def test_without_a_record_there_is_no_loss() -> None:
    assert gcp(np.empty((2, 0)), np.empty(0, np.int64), 0) is None
