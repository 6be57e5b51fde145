"""What the operating system draws: no other module makes a generator of its entropy."""

from __future__ import annotations

import secrets

import numpy as np


def fresh_draws() -> np.random.Generator:
    """Return a generator that nobody can replay."""
    return np.random.default_rng(secrets.randbits(256))
