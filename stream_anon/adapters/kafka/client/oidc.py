"""Tokens of an OpenID provider: the client credentials grant (RFC 6749, section 4.4)."""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote_plus

import aiohttp
import msgspec

from stream_anon.adapters.kafka.client.tokens import MOST_BYTES, KeptToken, TokenError, cleaned

_KEY = "kafka.security.token_endpoint"
_WITHIN = 10.0
_KEPT = 0.8  # of the time that a token lives, as Kafka's own clients keep it
_LIVES = 60.0  # seconds, where the provider does not say


class _Answer(msgspec.Struct):
    """What a provider answers, besides what nobody asks here."""

    access_token: str
    expires_in: Annotated[float, msgspec.Meta(gt=0)] = _LIVES


class EndpointToken(KeptToken):
    """Ask a token endpoint, and keep the token for most of the time that it lives.

    Parameters
    ----------
    endpoint
        Its address.
    client_id
        The name of this client at the provider.
    secret
        Returns the client's secret; called for each request, so that a changed one is used.
    scope
        What is asked for; empty for nothing in particular.
    ca_file
        The authorities that may vouch for the endpoint, PEM; None for those of the system.
    """

    def __init__(
        self, endpoint: str, client_id: str, secret: Callable[[], str], scope: str = "", ca_file: Path | None = None
    ) -> None:
        super().__init__()
        self._endpoint, self._client_id, self._secret, self._scope = endpoint, client_id, secret, scope
        self._ca_file = ca_file

    async def _obtained(self) -> tuple[str, float]:
        try:
            async with asyncio.timeout(_WITHIN):
                status, body = await self._asked()
        except TimeoutError:
            raise TokenError(f"{_KEY}: took more than {_WITHIN:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise TokenError(f"{_KEY}: cannot be reached ({type(error).__name__})") from None
        token, lives = _read(status, body)
        return token, _KEPT * lives

    async def _asked(self) -> tuple[int, bytes]:
        form = {"grant_type": "client_credentials"} | ({"scope": self._scope} if self._scope else {})
        secret = await asyncio.to_thread(self._secret)
        # RFC 6749, section 2.3.1: both are written as in a form before they are joined.
        login = b64encode(f"{quote_plus(self._client_id)}:{quote_plus(secret)}".encode()).decode()
        headers = {"Authorization": f"Basic {login}", "Accept": "application/json"}
        options: dict[str, Any] = {} if self._ca_file is None else {"ssl": await asyncio.to_thread(self._trusting)}
        async with (
            aiohttp.ClientSession() as session,
            # A redirect would carry the secret to somebody else.
            session.post(self._endpoint, data=form, headers=headers, allow_redirects=False, **options) as answer,
        ):
            body = b""
            async for piece in answer.content.iter_chunked(MOST_BYTES):
                body += piece
                if len(body) > MOST_BYTES:
                    break
            return answer.status, body

    def _trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._ca_file)


def _read(status: int, body: bytes) -> tuple[str, float]:
    """Return the token of an answer and the seconds that it lives; the error holds nothing of what was read."""
    if status != 200:
        raise TokenError(f"{_KEY}: answered with status {status}")
    try:
        answer = msgspec.json.decode(body[: MOST_BYTES + 1], type=_Answer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise TokenError(f"{_KEY}: answered without a token") from None
    return cleaned(answer.access_token.encode("utf-8", "replace"), "token_endpoint"), answer.expires_in
