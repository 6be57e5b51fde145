"""Whole-number noise has the distribution that it is said to have."""

from __future__ import annotations

from math import exp, tanh
from random import Random

import numpy as np
import pytest
from scipy.stats import chisquare

from stream_anon.measures.window_leakage.discrete_laplace import discrete_laplace


@pytest.mark.parametrize("scale", [1, 3, 40])
def test_a_number_is_as_likely_as_exp_of_its_size_over_the_scale(scale: int) -> None:
    below, runs = Random(scale).randrange, 20_000
    drawn = np.array([discrete_laplace(scale, below) for _ in range(runs)])
    most = 4 * scale  # what is beyond is counted together
    probability = {k: tanh(1 / (2 * scale)) * exp(-abs(k) / scale) for k in range(-most, most + 1)}
    expected = np.array([*probability.values(), 1 - sum(probability.values())]) * runs
    seen = [np.count_nonzero(drawn == k) for k in probability]
    assert chisquare([*seen, runs - sum(seen)], expected).pvalue > 0.001
