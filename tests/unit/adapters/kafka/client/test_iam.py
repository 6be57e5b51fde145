"""Tokens for MSK with IAM: what is signed is what AWS checks, and no credential shows in what is said of them."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import threading
from base64 import urlsafe_b64decode
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from botocore.exceptions import TokenRetrievalError

from stream_anon.adapters.kafka.client import iam
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.client.iam import IamToken
from stream_anon.adapters.kafka.client.security import Security
from stream_anon.adapters.kafka.client.tokens import TokenError
from stream_anon.errors import SettingsError

KEY_ID, SECRET, SESSION = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "session/+= token"
SIGNER = "aws_msk_iam_sasl_signer.MSKAuthTokenProvider.generate_auth_token"


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the credentials of this machine, and the service of a cloud that would give some."""
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", SESSION)


def signature(url: str, secret: str) -> str:
    """Return the signature that AWS expects of a signed address: Signature Version 4, by hand."""
    parts = urlsplit(url)
    given = dict(parse_qsl(parts.query))
    signed = {name: value for name, value in given.items() if name not in ("X-Amz-Signature", "User-Agent")}
    query = "&".join(f"{quote(name, safe='')}={quote(signed[name], safe='')}" for name in sorted(signed))
    nothing = hashlib.sha256(b"").hexdigest()
    request = "\n".join(["GET", parts.path, query, f"host:{parts.netloc}\n", "host", nothing])
    _, day, region, service, ending = given["X-Amz-Credential"].split("/")
    scope = f"{day}/{region}/{service}/{ending}"
    text = "\n".join(["AWS4-HMAC-SHA256", given["X-Amz-Date"], scope, hashlib.sha256(request.encode()).hexdigest()])
    key = f"AWS4{secret}".encode()
    for step in (day, region, service, ending):
        key = hmac.digest(key, step.encode(), "sha256")
    return hmac.new(key, text.encode(), "sha256").hexdigest()


async def test_a_token_is_an_address_signed_as_aws_checks_it(credentials: None) -> None:
    token = await IamToken("eu-west-1").token()
    url = urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
    parts, given = urlsplit(url), dict(parse_qsl(urlsplit(url).query))
    assert (parts.scheme, parts.netloc, parts.path) == ("https", "kafka.eu-west-1.amazonaws.com", "/")
    assert given["Action"] == "kafka-cluster:Connect"
    assert given["X-Amz-Credential"].split("/")[0] == KEY_ID
    assert given["X-Amz-Credential"].split("/")[2:] == ["eu-west-1", "kafka-cluster", "aws4_request"]
    assert (given["X-Amz-SignedHeaders"], given["X-Amz-Expires"]) == ("host", "900")
    assert given["X-Amz-Security-Token"] == SESSION
    assert given["X-Amz-Signature"] == signature(url, SECRET)
    assert given["X-Amz-Signature"] != signature(url, SECRET + "x")
    assert SECRET not in url


async def test_ten_connections_share_one_token_for_a_while(
    credentials: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed: list[str] = []

    def sign(region: str) -> tuple[str, int]:
        signed.append(region)
        return f"token{len(signed)}", 0

    monkeypatch.setattr(SIGNER, sign)
    tokens = IamToken("eu-west-1")
    assert set(await asyncio.gather(*(tokens.token() for _ in range(10)))) == {"token1"}
    assert signed == ["eu-west-1"]
    monkeypatch.setattr(tokens, "_until", asyncio.get_running_loop().time())
    assert await tokens.token() == "token2"


def test_all_clients_of_a_connection_have_one_provider_and_log_in_as_brokers_know_it(credentials: None) -> None:
    connection = Connection("b", "g", Security("SASL_SSL", "AWS_MSK_IAM", aws_region="eu-west-1"))
    one, other = connection.options("x"), connection.options("y")
    assert one["sasl_mechanism"] == "OAUTHBEARER"
    assert isinstance(one["sasl_oauth_token_provider"], IamToken)
    assert one["sasl_oauth_token_provider"] is other["sasl_oauth_token_provider"]
    assert "sasl_plain_username" not in one


async def test_missing_credentials_are_an_error_that_says_so_and_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tokens = IamToken("eu-west-1")
    with pytest.raises(TokenError, match="no AWS credentials were found"):
        await tokens.token()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    with pytest.raises(TokenError, match="AWS credentials cannot be obtained") as raised:
        await tokens.token()
    assert KEY_ID not in str(raised.value)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    assert await tokens.token()


async def test_what_aws_says_of_a_failure_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(region: str) -> tuple[str, int]:
        raise TokenRetrievalError(provider="sso", error_msg=SECRET)

    monkeypatch.setattr(SIGNER, fail)
    with pytest.raises(TokenError, match=r"cannot be obtained \(TokenRetrievalError\)") as raised:
        await IamToken("eu-west-1").token()
    assert SECRET not in str(raised.value)


async def test_credentials_that_do_not_come_in_time_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def hang(region: str) -> tuple[str, int]:
        ended.wait(10)
        return "late", 0

    monkeypatch.setattr(SIGNER, hang)
    monkeypatch.setattr(iam, "_WITHIN", 0.05)
    try:
        with pytest.raises(TokenError, match=r"no AWS credentials within 0.05 s"):
            await IamToken("eu-west-1").token()
    finally:
        ended.set()


def test_without_the_signer_the_connection_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iam, "find_spec", lambda _: None)
    connection = Connection("b", "g", Security("SASL_SSL", "AWS_MSK_IAM", aws_region="eu-west-1"))
    with pytest.raises(SettingsError, match=r"pip install '\.\[msk\]' in a clone"):
        connection.options("x")
