"""The answer to each path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec
from aiohttp import web

from stream_anon.adapters.http.status_page import KIND as HTML
from stream_anon.adapters.http.status_page import page

TEXT = "text/plain; charset=utf-8"
JSON = "application/json; charset=utf-8"
ORDER_HEADER = "X-Stream-Anon-Order"
LONGEST_ORDER = 31 * 86_400.0  # seconds, where an end is given
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Server": "stream-anon",  # by default the library names itself and Python, with their versions
}


class ObservedService(Protocol):
    """The questions that the pages ask the service."""

    def readiness(self) -> tuple[bool, str]:
        """Return whether the worker owns partitions or stands by for them; and why not, or a remark."""
        ...

    def status(self) -> Mapping[str, object]:
        """Return the status page as JSON values."""
        ...


Page = Callable[[], web.Response]
Order = Callable[[float], str]
"""Carries out an order that holds for so many seconds, maybe infinitely many; tells what happens now."""


def answer(body: bytes, kind: str = TEXT, status: int = 200) -> web.Response:
    """Return a response that caches do not keep."""
    return web.Response(body=body, status=status, headers={**HEADERS, "Content-Type": kind})


def wrong_method(allowed: str) -> web.Response:
    """Return the answer to a request of another method than those that are allowed."""
    refused = answer(b"method not allowed\n", status=405)
    refused.headers["Allow"] = allowed
    return refused


def public_pages(service: ObservedService, metrics: Callable[[], bytes], metrics_type: str) -> dict[str, Page]:
    """Return the pages for probes and for Prometheus."""

    def ready() -> web.Response:
        fine, reason = service.readiness()
        text = ("ready" if fine else "not ready") + (f": {reason}" if reason else "") + "\n"
        return answer(text.encode(), status=200 if fine else 503)

    return {
        # An answer shows that the event loop runs; nothing else makes a worker dead.
        "/livez": lambda: answer(b"live\n"),
        "/readyz": ready,
        "/metrics": lambda: answer(metrics(), metrics_type),
    }


def admin_pages(service: ObservedService) -> dict[str, Page]:
    """Return the pages for operators."""

    def root() -> web.Response:
        body, headers = page()
        response = answer(body, HTML)
        response.headers.update(headers)
        return response

    def status() -> web.Response:
        return answer(msgspec.json.format(compact_status(service), indent=2) + b"\n", JSON)

    return {"/": root, "/status": status}


def obey(request: web.BaseRequest, order: Order) -> web.Response:
    """Carry out an order of an operator.

    Before a browser sends this header for a page of another origin, it asks for permission, and never gets it.
    """
    if request.method != "POST":
        return wrong_method("POST")
    if request.headers.get(ORDER_HEADER) != request.path.removeprefix("/"):
        return answer(f"forbidden: the header {ORDER_HEADER} must name the order\n".encode(), status=403)
    seconds = _seconds(request.query.get("for", "inf"))
    if seconds is None:
        return answer(f"for must be seconds, up to {LONGEST_ORDER:.0f}\n".encode(), status=400)
    return answer(f"{order(seconds)}\n".encode())


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 < seconds <= LONGEST_ORDER or text == "inf" else None


def compact_status(service: ObservedService) -> bytes:
    """Return the status as JSON in one line."""
    return msgspec.json.encode(service.status())


def respond(request: web.BaseRequest, pages: Mapping[str, Page]) -> web.Response:
    """Return the page that a request names; no answer repeats a part of the request."""
    page = pages.get(request.path)
    if page is None:
        return answer(b"not found\n", status=404)
    if request.method not in ("GET", "HEAD"):
        return wrong_method("GET, HEAD")
    return page()
