"""An OpenID provider for tests: gives tokens to one client on 127.0.0.1."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_plus

from aiohttp import web

CLIENT, SECRET = "stream anon", "s3cret:/+&é"  # what must be escaped before it becomes a login


@dataclass
class Provider:
    """Answers requests for tokens by its own rules, and keeps the forms that it got."""

    give: Callable[[], str]
    lives: float | None = 300
    answer: Callable[[], web.StreamResponse] | None = None
    forms: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""

    async def _token(self, request: web.Request) -> web.StreamResponse:
        self.forms.append(dict(await request.post()))
        if self.answer is not None:
            return self.answer()
        kind, _, login = request.headers.get("Authorization", "").partition(" ")
        name, _, secret = b64decode(login).decode().partition(":")
        if kind != "Basic" or (unquote_plus(name), unquote_plus(secret)) != (CLIENT, SECRET):
            return web.json_response({"error": "invalid_client", "error_description": secret}, status=401)
        lives = {} if self.lives is None else {"expires_in": self.lives}
        return web.json_response({"access_token": self.give(), "token_type": "Bearer"} | lives)


@asynccontextmanager
async def provider(give: Callable[[], str], **rules: Any) -> AsyncIterator[Provider]:
    """Run a provider for a while."""
    made = Provider(give, **rules)
    app = web.Application()
    app.router.add_post("/token", made._token)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/token"
        yield made
    finally:
        await runner.cleanup()
