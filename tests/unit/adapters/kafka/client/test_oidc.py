"""Tokens of an OpenID provider, and that neither secret nor token shows in what is said of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from aiohttp import web

from stream_anon.adapters.kafka.client import oidc
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.client.oidc import EndpointToken
from stream_anon.adapters.kafka.client.security import Security
from stream_anon.adapters.kafka.client.tokens import TokenError
from tests.support.oidc import CLIENT, SECRET, Provider, provider


def _counting() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"token{next(numbers)}"


def _asking(there: Provider, secret: str = SECRET, scope: str = "") -> EndpointToken:
    return EndpointToken(there.url, CLIENT, lambda: secret, scope)


async def test_ten_connections_share_one_token_and_its_scope_is_asked_for() -> None:
    async with provider(_counting()) as there:
        tokens = _asking(there, scope="kafka read")
        assert set(await asyncio.gather(*(tokens.token() for _ in range(10)))) == {"token1"}
        assert there.forms == [{"grant_type": "client_credentials", "scope": "kafka read"}]


@pytest.mark.parametrize(("lives", "wanted"), [(0.001, "token2"), (3600, "token1"), (None, "token1")])
async def test_a_token_is_kept_for_most_of_the_time_that_it_lives(lives: float | None, wanted: str) -> None:
    async with provider(_counting(), lives=lives) as there:
        tokens = _asking(there)
        assert await tokens.token() == "token1"
        await asyncio.sleep(0.01)
        assert await tokens.token() == wanted


BAD = {
    "wrong secret": (None, "answered with status 401"),
    "redirect": (lambda: web.Response(status=302, headers={"Location": "/token"}), "answered with status 302"),
    "no JSON": (lambda: web.Response(text=SECRET), "answered without a token"),
    "no token": (lambda: web.json_response({"id_token": SECRET}), "answered without a token"),
    "dead token": (lambda: web.json_response({"access_token": "a", "expires_in": 0}), "answered without a token"),
    "two words": (
        lambda: web.json_response({"access_token": f"{SECRET} b"}),
        "token_endpoint: does not hold a token",
    ),
    "endless": (lambda: web.Response(body=b"[" * 1_000_000), "answered without a token"),
}


@pytest.mark.parametrize("case", BAD)
async def test_a_refusal_is_an_error_without_secrets_and_is_not_kept(case: str) -> None:
    answer, words = BAD[case]
    async with provider(_counting(), answer=answer) as there:
        tokens = _asking(there, secret=SECRET if answer else "another")
        for _ in range(2):
            with pytest.raises(TokenError, match=words) as raised:
                await tokens.token()
            assert SECRET not in str(raised.value)
            assert "another" not in str(raised.value)
        assert len(there.forms) == 2


async def test_a_provider_that_is_away_or_silent_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async with provider(_counting()) as there:
        pass
    with pytest.raises(TokenError, match="cannot be reached"):
        await _asking(there).token()

    ended = asyncio.Event()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        ended.set()

    monkeypatch.setattr(oidc, "_WITHIN", 0.1)
    silent = await asyncio.start_server(listen, "127.0.0.1", 0)
    async with silent:
        port = silent.sockets[0].getsockname()[1]
        with pytest.raises(TokenError, match="took more than"):
            await EndpointToken(f"http://127.0.0.1:{port}/", CLIENT, lambda: SECRET).token()
        await ended.wait()


async def test_a_changed_secret_is_read_from_its_file_and_none_shows(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    async with provider(_counting(), lives=0.001) as there:
        security = Security(
            "SASL_SSL", "OAUTHBEARER", token_endpoint=there.url, client_id=CLIENT, client_secret_file=file
        )
        connection = Connection("127.0.0.1:1", "g", security)
        tokens = connection.options("x")["sasl_oauth_token_provider"]
        with pytest.raises(TokenError, match="client_secret_file: cannot be read"):
            await tokens.token()
        for text, fits in (("another\n", False), (SECRET + "\n", True)):
            file.write_text(text, encoding="utf-8")
            if fits:
                assert await tokens.token() == "token1"
            else:
                with pytest.raises(TokenError, match="401"):
                    await tokens.token()
        assert SECRET not in repr(Connection("a", "g", Security(client_secret=SECRET)))


async def test_an_endpoint_is_trusted_only_if_an_authority_of_the_file_vouches_for_it(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    tokens = EndpointToken("https://127.0.0.1:1/", CLIENT, lambda: SECRET, ca_file=tmp_path / "ca.pem")
    with pytest.raises(TokenError, match="cannot be reached"):
        await tokens.token()
