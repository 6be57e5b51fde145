"""Tokens for tests; also a command that prints one: `python tokens.py SECONDS FILE` adds a line to the file."""

from __future__ import annotations

import base64
import json
import sys
import time
from pathlib import Path


def token(user: str = "service", lives: float = 3600.0) -> str:
    """Return a token as the broker's validator for tests takes it: with a name and times, but not signed.

    It was issued a minute ago: the broker rounds that time up to a millisecond and its own clock down, so a token
    that reaches it at once would come from the future.
    """
    now = time.time()
    parts = ({"alg": "none"}, {"sub": user, "iat": now - 60.0, "exp": now + lives})
    return ".".join(base64.urlsafe_b64encode(json.dumps(p).encode()).rstrip(b"=").decode() for p in parts) + "."


if __name__ == "__main__":
    with Path(sys.argv[2]).open("a") as runs:
        runs.write("run\n")
    sys.stdout.write(token(lives=float(sys.argv[1])) + "\n")
