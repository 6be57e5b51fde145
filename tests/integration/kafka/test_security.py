"""TLS, SASL and ACLs on a real Kafka: who may connect, how refusals are explained, and that no secret shows."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.client.security import Security
from stream_anon.adapters.kafka.topics.descriptions import Topics
from stream_anon.adapters.kafka.topics.permissions import (
    Acl,
    Operation,
    Pattern,
    Resource,
    least_privileges,
    permissions_of,
)
from stream_anon.adapters.kafka.topics.writers import writers_of
from stream_anon.adapters.kafka.writing.transactional_producer import TransactionalProducer
from stream_anon.errors import BrokerError
from stream_anon.judging.findings import Severity
from stream_anon.operations.check.checking import examine_deployment
from stream_anon.ports.input_topics import InputTopics
from tests.support.apache_kafka import tokens
from tests.support.apache_kafka.secured import PASSWORD, USER, SecuredKafka
from tests.support.apache_kafka.tokens import token
from tests.support.oidc import CLIENT, SECRET, provider
from tests.support.service import Stage, WorkerProcess, check_published, make_records, produce, wait_until_accounted

pytestmark = pytest.mark.kafka
SECRETS = (PASSWORD, "eyJ")  # every token begins so


@pytest.fixture
async def stage(secured: SecuredKafka, unique: str, tmp_path: Path) -> Stage:
    stage = Stage(secured, unique, tmp_path)
    await stage.create_topics()
    return stage


def _topics(stage: Stage) -> Topics:
    out = stage.output
    return Topics(InputTopics((stage.name,)), out, f"{out}.certificates", f"{out}.dead-letters", f"{out}.ledger")


def _scram(secured: SecuredKafka) -> dict[str, Any]:
    return {
        "protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "username": USER,
        "ca_file": str(secured.authority.certificate),
    }


_SIGNER = "aws_msk_iam_sasl_signer.MSKAuthTokenProvider.generate_auth_token"


def _printing(folder: Path, words: str) -> tuple[str, ...]:
    script = folder / "token.py"
    script.write_text(words)
    return sys.executable, str(script)


async def _opens(connection: Connection) -> None:
    sink = TransactionalProducer(connection)
    try:
        async with asyncio.timeout(30):
            await sink.open()
    finally:
        await sink.discard()


@pytest.mark.parametrize(
    "way",
    ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "token file", "token command", "token endpoint", "IAM", "mutual"],
)
async def test_every_way_of_logging_in_works(
    secured: SecuredKafka, unique: str, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await secured.allow(least_privileges(unique, Topics(InputTopics(("a",)), "b", "c", "d", "e"), ("a",)))
    authority = secured.authority
    (tmp_path / "token").write_text(token() + "\n")
    given: dict[str, Any] = {"mechanism": way, "username": USER, "password": PASSWORD}
    if way == "token file":
        given = {"mechanism": "OAUTHBEARER", "token_file": tmp_path / "token"}
    elif way == "token command":
        given = {"mechanism": "OAUTHBEARER", "token_command": _printing(tmp_path, f"print({token()!r})")}
    elif way == "IAM":  # Apache Kafka cannot check what AWS signs: the signer gives a token of its kind
        monkeypatch.setattr(_SIGNER, lambda region: (token(), 0))
        given = {"mechanism": "AWS_MSK_IAM", "aws_region": "eu-west-1"}
    security = Security(protocol="SASL_SSL", ca_file=authority.certificate, **given)
    address = secured.at("SASL")
    if way == "mutual":
        own = authority.issue(USER)
        security = Security(
            "SSL", ca_file=authority.certificate, certificate_file=own.certificate, key_file=own.key
        )
        address = secured.at("MUTUAL")
    async with provider(token) as there:
        if way == "token endpoint":
            security = replace(
                security, mechanism="OAUTHBEARER", token_endpoint=there.url, client_id=CLIENT, client_secret=SECRET
            )
        connection = Connection(address, unique, security)
        assert (await connection.knock()).refused == ""
        await _opens(connection)
        assert len(there.forms) == (way == "token endpoint")
    assert SECRET not in repr(connection)
    assert not any(secret in repr(connection) for secret in SECRETS)


REFUSALS = {
    "wrong password": "refuses our user name or password",
    "wrong SCRAM password": "refuses our user name or password",
    "expired token": "refuses our token",
    "token of two words": "token_file: does not hold a token",
    "no token file": "token_file: cannot be read",
    "token command fails": "token_command: ended with exit code 3",
    "signed by AWS": "refuses our token (AWS_MSK_IAM)",
    "mechanism that is not offered": "does not offer",
    "authority unknown": "is not signed by an authority in kafka.security.ca_file",
    "expired": "certificate has expired",
    "another host": "for another host",
    "no certificate of ours": "asks for a certificate of ours",
    "our certificate is foreign": "refuses our certificate",
    "our certificate has expired": "refuses our certificate",
    "plain text where TLS is spoken": "kafka.security.protocol PLAINTEXT",
    "TLS where plain text is spoken": "kafka.security.protocol SSL",
}


def _refused(secured: SecuredKafka, folder: Path, case: str) -> Connection:  # noqa: C901, PLR0912 - a table
    ca = secured.authority.certificate
    scram = {"protocol": "SASL_SSL", "mechanism": "SCRAM-SHA-256", "username": USER, "ca_file": ca}
    tokens = {"protocol": "SASL_SSL", "mechanism": "OAUTHBEARER", "ca_file": ca, "token_file": folder / "token"}
    wrong, listener = PASSWORD + "!", "SASL"
    given: dict[str, Any] = {"protocol": "SSL", "ca_file": ca}
    match case:
        case "wrong password":
            given = scram | {"mechanism": "PLAIN", "password": wrong}
        case "wrong SCRAM password":
            given = scram | {"password": wrong}
        case "expired token":
            (folder / "token").write_text(token(lives=-30))
            given = tokens
        case "token of two words":
            (folder / "token").write_text(token() + " " + token())
            given = tokens
        case "signed by AWS":
            given = {**tokens, "mechanism": "AWS_MSK_IAM", "token_file": None, "aws_region": "eu-west-1"}
        case "no token file":
            given = tokens
        case "token command fails":
            script = f"import sys; sys.stderr.write({token()!r}); sys.exit(3)"
            given = tokens | {"token_file": None, "token_command": _printing(folder, script)}
        case "mechanism that is not offered":
            given = scram | {"password": PASSWORD, "mechanism": "GSSAPI"}
        case "authority unknown":
            given["ca_file"] = secured.stranger.certificate
        case "expired":
            listener = "EXPIRED"
        case "another host":
            listener = "ELSEWHERE"
        case "no certificate of ours":
            listener = "MUTUAL"
        case "our certificate is foreign" | "our certificate has expired":
            foreign = "foreign" in case
            issuer = secured.stranger if foreign else secured.authority
            own = issuer.issue("late", days=1 if foreign else 0)
            listener, given = "MUTUAL", given | {"certificate_file": own.certificate, "key_file": own.key}
        case "plain text where TLS is spoken":
            given = {"protocol": "PLAINTEXT"}
        case "TLS where plain text is spoken":
            return Connection(secured.address, "g", Security(**given))
    return Connection(secured.at(listener), "g", Security(**given))


@pytest.mark.parametrize("case", REFUSALS)
async def test_a_refusal_is_told_with_its_reason(
    secured: SecuredKafka,
    tmp_path: Path,
    case: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, PASSWORD)
    if case == "mechanism that is not offered":
        pytest.importorskip("gssapi", reason="every mechanism that the client knows without it is offered")
    connection = _refused(secured, tmp_path, case)
    await asyncio.sleep(1.1 if "expired" in case else 0)  # a certificate for 0 days ends with its first second
    # As the service sets it: below, the library logs what it sends, passwords too.
    with caplog.at_level(logging.WARNING), pytest.raises(BrokerError) as raised:
        await _opens(connection)
    assert REFUSALS[case] in str(raised.value)
    said = str(raised.value) + repr(raised.value) + repr(connection) + caplog.text
    assert not any(secret in said for secret in SECRETS)


async def test_wrong_password_is_named_in_few_lines(
    stage: Stage, secured: SecuredKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAM_ANON__KAFKA__SECURITY__PASSWORD", PASSWORD + "!")
    security = _scram(secured)
    config = stage.config(kafka={"bootstrap_servers": secured.at("SASL"), "security": security})
    with WorkerProcess(config) as worker:
        await worker.wait_for("broker-away")
        await asyncio.sleep(5)
        code, reason = worker.get("/readyz")
        assert code == 503
        assert "the broker refuses our user name or password (SCRAM-SHA-512)" in reason
        pages = [worker.get(page, "admin")[1] for page in ("/status", "/", "/metrics")]
        assert any("refuses our user name or password" in page for page in pages)
        assert len(worker.said("broker-away")) <= 2
        assert len(worker.lines) < 50
        assert not any(PASSWORD in text for text in (*pages, reason, worker.text))
    for command in (["check", "--config", str(config)], ["run", "--help"]):
        done = await asyncio.to_thread(_command, command)
        assert PASSWORD not in done.stdout + done.stderr
        if "check" in command:
            assert done.returncode == 3
            assert "the broker refuses our user name or password" in done.stderr


def _command(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stream_anon.cli.main", *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )


async def test_documented_rights_suffice_and_check_names_each_that_is_missing(
    stage: Stage, secured: SecuredKafka, tmp_path: Path
) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "password").write_text(PASSWORD + "\n")
    security = _scram(secured) | {"password_file": str(tmp_path / "secret" / "password")}
    config = stage.config(kafka={"bootstrap_servers": secured.at("SASL"), "security": security})
    needed = least_privileges(stage.name, _topics(stage), (stage.name,))
    await secured.allow(needed)
    await produce(stage, [*make_records(600, 1), b"{"])
    with WorkerProcess(config) as worker:
        check_published(await wait_until_accounted(stage, 601), 601)
        assert worker.get("/readyz")[0] == 200
        pages = [worker.get(page, "admin")[1] for page in ("/status", "/metrics")]
        assert not any(PASSWORD in text for text in (*pages, worker.text))
    report = await examine_deployment(config)
    assert not [f for f in report.findings if f.severity is Severity.FORBIDS and "may" in f.text]
    connection = Connection(
        secured.at("SASL"),
        stage.name,
        Security("SASL_SSL", "SCRAM-SHA-512", USER, PASSWORD, ca_file=secured.authority.certificate),
    )
    for acl in needed:
        if acl.operation is Operation.CREATE:
            continue  # the ledger is there by now
        await secured.forbid([acl])
        found = await permissions_of(connection, needed)
        assert found.missing == (acl,), acl.place
        await secured.allow([acl])
    await secured.forbid(needed)
    said = {(f.place, f.text) for f in (await examine_deployment(config)).findings}
    for acl in needed:
        assert (acl.place, f"this user may not {acl.operation.name.lower()}") in said
    assert not any(PASSWORD in place + text for place, text in said)


@pytest.mark.soak
async def test_a_password_that_changes_while_a_worker_runs_is_taken_from_its_file(
    stage: Stage, secured: SecuredKafka, tmp_path: Path
) -> None:
    (tmp_path / "secret").mkdir()
    file = tmp_path / "secret" / "password"
    file.write_text("old-word")
    await secured.set_password("renewed", "old-word")
    await secured.allow(least_privileges(stage.name, _topics(stage), (stage.name,)), "renewed")
    # The broker ends a connection after three seconds: every client must log in again, with the new password.
    security = {
        **_scram(secured),
        "sasl_mechanism": "SCRAM-SHA-256",
        "username": "renewed",
        "password_file": str(file),
    }
    config = stage.config(kafka={"bootstrap_servers": secured.at("SASL"), "security": security})
    with WorkerProcess(config) as worker:
        await worker.wait_for("ready")
        await produce(stage, make_records(400, 1))
        await wait_until_accounted(stage, 400)
        await secured.set_password("renewed", "new-word")
        file.write_text("new-word")
        await asyncio.sleep(5)
        await produce(stage, make_records(400, 2, first=400))
        check_published(await wait_until_accounted(stage, 800), 800)
        assert not any(word in worker.text for word in ("old-word", "new-word"))


async def test_users_whom_rules_allow_to_write_are_told_to_anybody_who_may_see_the_rules(
    stage: Stage, secured: SecuredKafka
) -> None:
    topic = f"{stage.output}.ledger"
    write = Acl(Resource.TOPIC, topic, Operation.WRITE)
    anybody = Connection(secured.address, stage.name)  # a super user on this broker
    assert await writers_of(anybody, topic) == frozenset()
    await secured.allow([write, Acl(Resource.TOPIC, topic, Operation.READ)])
    await secured.allow([Acl(Resource.TOPIC, topic, Operation.READ)], user="reader")
    assert await writers_of(anybody, topic) == {f"User:{USER}"}
    await secured.allow([Acl(Resource.TOPIC, stage.output, Operation.WRITE, Pattern.PREFIXED)], user="other")
    assert await writers_of(anybody, topic) == {f"User:{USER}", "User:other"}
    security = Security("SASL_SSL", "SCRAM-SHA-512", USER, PASSWORD, ca_file=secured.authority.certificate)
    assert await writers_of(Connection(secured.at("SASL"), stage.name, security), topic) is None


@pytest.mark.soak
async def test_token_is_fetched_again(stage: Stage, secured: SecuredKafka, tmp_path: Path) -> None:
    # The broker ends a connection with its token, after three seconds at the latest.
    (tmp_path / "command").mkdir()
    runs = tmp_path / "command" / "runs"
    security = {
        "protocol": "SASL_SSL",
        "sasl_mechanism": "OAUTHBEARER",
        "token_command": [sys.executable, tokens.__file__, "20", str(runs)],
        "ca_file": str(secured.authority.certificate),
    }
    await secured.allow(least_privileges(stage.name, _topics(stage), (stage.name,)))
    config = stage.config(kafka={"bootstrap_servers": secured.at("SASL"), "security": security})
    with WorkerProcess(config) as worker:
        await worker.wait_for("ready")
        await produce(stage, make_records(1200, 1), rate=200)
        check_published(await wait_until_accounted(stage, 1200), 1200)
        assert len(runs.read_text().splitlines()) >= 2
        assert "eyJ" not in worker.text
