"""The status page: one file of this package, which loads nothing from anywhere else."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache

from stream_anon.pages.templates import rendered

KIND = "text/html; charset=utf-8"


@cache
def page() -> tuple[bytes, dict[str, str]]:
    """Return the page, and headers that let a browser use the page's own script and style only."""
    text = rendered("adapters/http/status_page.html.j2")
    policy = [
        "default-src 'none'",
        f"script-src {_hashes(text, 'script')}",
        f"style-src {_hashes(text, 'style')}",
        "img-src data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
    headers = {
        "Content-Security-Policy": "; ".join(policy),
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Frame-Options": "DENY",
    }
    return text.encode(), headers


def _hashes(text: str, tag: str) -> str:
    contents = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    digests = (base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() for content in contents)
    return " ".join(f"'sha256-{digest}'" for digest in digests)
