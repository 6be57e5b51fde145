"""What is said of brokers that let nobody in, and that neither secrets nor a library's words are part of it."""

from __future__ import annotations

import asyncio
import ssl
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    InconsistentGroupProtocolError,
    KafkaConnectionError,
    KafkaError,
    MessageSizeTooLargeError,
    NodeNotReadyError,
    NotLeaderForPartitionError,
    SaslAuthenticationFailed,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)

from stream_anon.adapters.kafka.assigning.sharing import Sharing
from stream_anon.adapters.kafka.client.connection import Connection, Door, broker_error, connection_error
from stream_anon.adapters.kafka.client.connection_errors import in_words
from stream_anon.adapters.kafka.client.security import Security
from stream_anon.adapters.kafka.client.tokens import CommandToken, FileToken, TokenError
from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from stream_anon.adapters.kafka.reading.source import KafkaSource
from stream_anon.adapters.kafka.writing.transactional_producer import TransactionalProducer
from stream_anon.errors import BrokerError, Cause, SettingsError
from stream_anon.ports.input_topics import InputTopics

SECRET = "Zyxwvut"  # noqa: S105
PLAIN = Security("SASL_SSL", "PLAIN", "user", SECRET)


def _cut(cause: BaseException | None) -> KafkaConnectionError:
    error = KafkaConnectionError(SECRET)
    error.__cause__ = cause
    return error


def _alert(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, SECRET)
    error.reason = reason
    return error


def _wrapped(cause: BaseException) -> KafkaError:
    error = KafkaError(SECRET)
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (TopicAuthorizationFailedError(), "permission"),
        (_wrapped(GroupAuthorizationFailedError()), "permission"),
        (SaslAuthenticationFailed(), "credentials"),
        (_cut(ssl.SSLCertVerificationError(1, SECRET)), "credentials"),
        (_cut(_alert("TLSV1_ALERT_UNKNOWN_CA")), "credentials"),
        (_cut(_alert("WRONG_VERSION_NUMBER")), "unreachable"),
        (_cut(ssl.SSLError(1, SECRET)), "unreachable"),
        (UnknownTopicOrPartitionError(), "topic"),
        (_wrapped(MessageSizeTooLargeError()), "too-large"),
        (NodeNotReadyError(), "unreachable"),
        (_cut(None), "unreachable"),
        (TimeoutError(), "unreachable"),
        (NotLeaderForPartitionError(), "broker"),
        (AssertionError(SECRET), "broker"),
    ],
)
def test_an_error_of_the_client_has_the_cause_that_an_alert_names(error: BaseException, cause: str) -> None:
    assert broker_error("asking", error).cause == cause


@pytest.mark.parametrize(
    ("door", "told", "cause"),
    [
        (Door(refused="the broker refuses our token"), "connecting: the broker refuses our token", "credentials"),
        (Door(), "connecting: some brokers answer and others do not", "unreachable"),
    ],
)
async def test_brokers_of_which_some_answer_are_not_told_as_absent(door: Door, told: str, cause: str) -> None:
    async def no() -> bool:
        return False

    async def knock() -> Door:
        return door

    source = object.__new__(KafkaSource)
    source._sharing = Sharing()
    source._consumer = SimpleNamespace(_client=SimpleNamespace(force_metadata_update=no))  # type: ignore[assignment]
    source._connection = SimpleNamespace(knock=knock)  # type: ignore[assignment]
    with pytest.raises(BrokerError, match=told) as raised:
        await source.reachable()
    assert raised.value.cause == cause


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (SaslAuthenticationFailed(SECRET), "refuses our user name or password"),
        (_cut(ssl.SSLError(1, SECRET)), "the TLS connection fails"),
        (_cut(None), "closes connections before the first answer: it is stopping or takes no more of them, or"),
        (ValueError(SECRET), "does not fit our password"),
        (ConnectionRefusedError(SECRET), ""),
        (TimeoutError(SECRET), ""),
        (_cut(ConnectionRefusedError(SECRET)), ""),
        (OSError(SECRET), ""),
    ],
)
def test_a_refusal_is_told_in_our_words_and_an_absence_is_no_refusal(error: BaseException, words: str) -> None:
    said = in_words(error, PLAIN)
    assert words in said
    assert bool(said) == bool(words)
    assert SECRET not in said


@pytest.mark.parametrize(
    ("servers", "absent"),
    [
        ("127.0.0.1:1", "connection refused"),
        ("nowhere.invalid:9092", "no such host name"),
        ("127.0.0.1:1,nowhere.invalid:9092", "connection refused"),
    ],
)
async def test_an_absent_broker_is_told_as_absent(servers: str, absent: str) -> None:
    connection = Connection(servers, "g")
    assert (await connection.knock()).refused == ""
    error = await connection_error(connection, "connecting", KafkaConnectionError(SECRET))
    assert str(error) == f"connecting: nothing answers at kafka.bootstrap_servers ({absent})"


@pytest.mark.parametrize("protocol", ["SASL_SSL", "SASL_PLAINTEXT", "PLAINTEXT"])
async def test_a_listener_that_only_closes_connections_has_not_refused_our_credentials(protocol: str) -> None:
    security = replace(PLAIN, protocol=protocol)

    async def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(close, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        error = await connection_error(
            Connection(f"127.0.0.1:{port}", "g", security), "connecting", KafkaConnectionError(SECRET)
        )
    assert error.cause is Cause.UNREACHABLE
    assert "closes connections" in str(error) or "does not speak TLS" in str(error)


@pytest.mark.parametrize(
    ("fails", "told"),
    [(TimeoutError(), "no answer in time"), (KafkaConnectionError(SECRET), "it is stopping, or refuses our token")],
)
async def test_a_broker_that_welcomes_a_token_and_then_fails_need_not_have_refused_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fails: Exception, told: str
) -> None:
    async def welcome(_: object) -> None:
        return None

    async def fail(*_: object) -> None:
        raise fails

    monkeypatch.setattr(AIOKafkaConnection, "connect", welcome)
    monkeypatch.setattr(AIOKafkaConnection, "send", fail)
    monkeypatch.setattr(AIOKafkaConnection, "close", lambda _: asyncio.ensure_future(asyncio.sleep(0)))
    (tmp_path / "token").write_text("token")
    security = Security("SASL_PLAINTEXT", "OAUTHBEARER", token_file=tmp_path / "token")
    error = await connection_error(Connection("a:1", "g", security), "connecting", KafkaConnectionError(SECRET))
    assert error.cause is Cause.UNREACHABLE
    assert told in str(error)


async def test_of_brokers_that_refuse_us_one_that_names_a_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    doors = {"a": Door("it closes connections", cause=Cause.UNREACHABLE), "b": Door("it refuses our password")}

    async def knock(_: Connection, host: str, port: int) -> Door:
        return doors[host]

    monkeypatch.setattr(Connection, "_knock", knock)
    assert await Connection("a:1,b:2", "g").knock() == doors["b"]


async def test_a_start_that_gets_no_answer_from_brokers_that_let_us_in_says_where_to_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def open_door(_: Connection) -> Door:
        return Door()

    monkeypatch.setattr(Connection, "knock", open_door)
    error = await connection_error(Connection("127.0.0.1:1", "g"), "starting the producer", TimeoutError())
    assert str(error).startswith("starting the producer: no answer in time, although a broker accepts the login")
    assert "__transaction_state" in str(error)


def test_a_stranger_in_the_group_is_told_in_words_and_with_what_to_do() -> None:
    said = str(broker_error("joining the group", InconsistentGroupProtocolError()))
    assert said.startswith("joining the group: kafka.group has a member that is not a worker")
    assert "Error" not in said


def test_no_secret_stands_in_a_representation() -> None:
    security = Security("SASL_SSL", "PLAIN", "user", SECRET, token_command=(SECRET,), key_password=SECRET)
    assert SECRET not in repr(Connection("localhost:1", "g", security))


def test_files_that_cannot_be_read_are_an_error_before_the_start(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(SECRET)
    for file in (tmp_path / "ca.pem", tmp_path / "nowhere.pem"):
        with pytest.raises(SettingsError, match=r"kafka\.security") as raised:
            Connection("localhost:1", "g", Security("SSL", ca_file=file)).options("x")
        assert SECRET not in str(raised.value)


def test_a_changed_password_file_is_read_for_the_next_client(tmp_path: Path) -> None:
    security = Security("SASL_SSL", "SCRAM-SHA-256", "user", password_file=tmp_path / "password")
    connection = Connection("127.0.0.1:9", "g", security)
    for text in ("first", "second"):
        (tmp_path / "password").write_text(text + "\n")
        assert connection.options("x")["sasl_plain_password"] == text
    assert "second" not in repr(connection)


def test_a_password_file_that_cannot_be_read_ends_a_start_and_is_waited_for_later(tmp_path: Path) -> None:
    security = Security("SASL_PLAINTEXT", "PLAIN", "user", password_file=tmp_path / "password")
    with pytest.raises(SettingsError, match=r"^kafka\.security\.password_file: cannot be read$"):
        Connection("127.0.0.1:9", "g", security).options("x")
    with pytest.raises(BrokerError, match="cannot be read"):
        Connection("127.0.0.1:9", "g", security, checked=True).options("x")
    (tmp_path / "password").write_bytes(b"\xff" + SECRET.encode())
    with pytest.raises(SettingsError) as raised:
        Connection("127.0.0.1:9", "g", security).options("x")
    assert SECRET not in str(raised.value)


def test_a_secrets_file_without_an_end_is_refused_by_its_size() -> None:
    security = Security("SASL_PLAINTEXT", "PLAIN", "user", password_file=Path("/dev/zero"))
    with pytest.raises(SettingsError, match="password_file: is larger than 64 KiB"):
        Connection("127.0.0.1:9", "g", security).options("x")


async def test_certificate_that_is_being_rewritten_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("")
    connection = Connection("127.0.0.1:9", "g", Security("SSL", ca_file=tmp_path / "ca.pem"), checked=True)
    source = KafkaSource(connection, InputTopics(("people",)))
    for part in (TransactionalProducer(connection).open, KafkaLedger(connection, "ledger").open, source.start):
        with pytest.raises(BrokerError, match=r"^kafka\.security: .* cannot be loaded"):
            await part()
    assert "cannot be loaded" in (await connection.knock()).refused


@pytest.mark.parametrize(
    "text", ["", " \n", f"{SECRET} {SECRET}", f"{SECRET}\x01auth=x", f"{SECRET}é", "x" * 70_000]
)
async def test_an_invalid_token_is_neither_sent_nor_shown(tmp_path: Path, text: str) -> None:
    (tmp_path / "token").write_text(text)
    for provider in (FileToken(tmp_path / "token"), _printing(tmp_path, text)):
        with pytest.raises(TokenError) as raised:
            await provider.token()
        assert SECRET not in str(raised.value)


def _printing(folder: Path, text: str) -> CommandToken:
    (folder / "printed").write_text(text)
    script = f"import shutil, sys; shutil.copyfileobj(open({str(folder / 'printed')!r}), sys.stdout)"
    return CommandToken([sys.executable, "-S", "-c", script])


async def test_a_renewed_token_file_is_read_again(tmp_path: Path) -> None:
    provider = FileToken(tmp_path / "token")
    for text in ("first", "second"):
        (tmp_path / "token").write_text(text + "\n")
        assert await provider.token() == text


async def test_ten_connections_share_one_run_of_the_command_and_a_failed_run_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "count.py").write_text(
        "import pathlib, sys\n"
        "runs = pathlib.Path(sys.argv[1])\n"
        "runs.write_text((runs.read_text() if runs.exists() else '') + 'x')\n"
        "n = len(runs.read_text())\n"
        "sys.exit(1) if n == 1 else print('token', n, sep='')\n"
    )
    provider = CommandToken([sys.executable, "-S", str(tmp_path / "count.py"), str(tmp_path / "runs")])
    with pytest.raises(TokenError, match="exit code 1"):
        await provider.token()
    assert set(await asyncio.gather(*(provider.token() for _ in range(10)))) == {"token2"}
    provider._until = 0.0  # as if the time were over
    assert await provider.token() == "token3"


async def test_a_token_command_that_is_missing_is_an_error_that_says_so() -> None:
    with pytest.raises(TokenError, match="cannot be run"):
        await CommandToken(["/nowhere/at/all"]).token()
