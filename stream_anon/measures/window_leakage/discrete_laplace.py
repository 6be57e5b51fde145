"""Noise that is a whole number, drawn by whole numbers alone.

The low bits of a Laplace draw in floating point tell what it was added to (Mironov, CCS 2012). Here nothing is
rounded. The method is that of Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy",
NeurIPS 2020, algorithms 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable

Below = Callable[[int], int]
"""Draws a whole number from 0 up to, without, its argument, each as likely as the others."""


def discrete_laplace(scale: int, below: Below) -> int:
    """Draw a whole number k with a probability proportional to exp(-|k| / scale); O(1) draws in the mean.

    Added to a whole number that one person changes by d at most, it makes the sum (d / scale)-differentially
    private (Ghosh et al., STOC 2009). The mean of |k| is less than `scale`.

    Parameters
    ----------
    below
        `secrets.randbelow` wherever it matters.
    """
    while True:
        rest = below(scale)
        if not _bernoulli_exp(rest, scale, below):
            continue
        wholes = 0
        while _bernoulli_exp(1, 1, below):
            wholes += 1
        size, negative = wholes * scale + rest, below(2) == 1
        if size or not negative:  # else 0 would come twice as often
            return -size if negative else size


def _bernoulli_exp(part: int, whole: int, below: Below) -> bool:
    """Return True with probability exp(-part / whole), for a part not above the whole."""
    tries = 1
    while below(whole * tries) < part:
        tries += 1
    return tries % 2 == 1
