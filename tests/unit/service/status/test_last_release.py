"""What the status page shows of the last released window."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from stream_anon.service.status.last_release import LOSS_BINS, MOST_CLASSES, last_release
from tests.support.classes import made_up_classes
from tests.support.told_events import PUBLISHED


def test_a_window_of_thousands_of_classes_shows_the_largest_and_counts_the_rest() -> None:
    sizes = [10 + n % 7 for n in range(1000)] + [99]
    shown = last_release(replace(PUBLISHED, classes=made_up_classes(sizes)), ["city"], 10)

    classes = shown["classes"]
    assert isinstance(classes, list)
    assert len(classes) == MOST_CLASSES
    assert classes[0] == {"records": 99, "values": ["*"], "loss": 0.5}
    assert shown["more_classes"] == 1001 - MOST_CLASSES


@pytest.mark.parametrize("k", [2, 3, 10, 17])
def test_every_class_is_in_exactly_one_bin(k: int) -> None:
    sizes = [*range(k, 3 * k), 50 * k, k - 1]
    shown = last_release(replace(PUBLISHED, classes=made_up_classes(sizes)), ["city"], k)
    bins = shown["sizes"]
    assert isinstance(bins, list)
    assert sum(one["classes"] for one in bins) == len(sizes)
    assert bins[0]["from"] == k
    assert all(one["to"] + 1 == after["from"] for one, after in pairwise(bins))
    assert bins[-1]["to"] is None
    for one in bins[1:-1]:
        assert one["classes"] == sum(one["from"] <= size <= one["to"] for size in sizes)


def test_a_loss_on_the_edge_of_a_bin_is_counted() -> None:
    losses = np.array([[0.0, 0.1, 0.10001, 0.95, 1.0]])
    classes = replace(made_up_classes([1, 2, 4, 8, 16]), ncp=losses)
    bins = last_release(replace(PUBLISHED, classes=classes), ["city"], 2)["losses"]
    assert isinstance(bins, list)
    counts = [one["records"] for one in bins]
    assert counts == [3, 4, 0, 0, 0, 0, 0, 0, 0, 24]
    assert len(counts) == LOSS_BINS


def test_a_window_without_classes_is_shown_as_empty() -> None:
    shown = last_release(replace(PUBLISHED, classes=made_up_classes([])), ["city"], 5)
    assert shown["classes"] == []
    assert shown["more_classes"] == 0
