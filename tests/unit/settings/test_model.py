from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream_anon.errors import SettingsError
from stream_anon.service.wiring.clients import connection_of
from stream_anon.settings.loading import load_settings, parse_settings
from stream_anon.settings.service_keys import returns_key_of
from tests.support.policies import PEOPLE, refusals, write_policy

MINIMAL = """\
kafka: {bootstrap_servers: "127.0.0.1:9092", group: g, input: people, output: people.anonymous}
privacy: {k: 5, individual: name}
window: {max_records: 1000, max_delay: 30s}
attributes:
  name: {role: identifier}
  sex: {role: quasi-identifier, values: [f, m]}
"""


def _with_input(topics: object) -> dict[str, Any]:
    return {"kafka": {"bootstrap_servers": "b", "group": "g", "input": topics, "output": "o"}}


def _with_brokers(servers: str) -> dict[str, Any]:
    return {"kafka": _with_input("i")["kafka"] | {"bootstrap_servers": servers}}


@pytest.mark.parametrize("servers", ["b", "b-1.example_2:9092, b2", "127.0.0.1:1,[::1]:9092", "fd00::2"])
def test_every_form_of_a_brokers_address_is_accepted(document: dict[str, Any], servers: str) -> None:
    settings = parse_settings(document | _with_brokers(servers))
    assert settings.kafka is not None
    assert settings.kafka.bootstrap_servers == servers


@pytest.mark.parametrize("individual", ["every-record", {"field": "every-record"}])
@pytest.mark.parametrize("updates", ["release", "skip"])
def test_change_events_are_refused_where_each_record_counts_as_a_person(
    document: dict[str, Any], individual: object, updates: str
) -> None:
    kafka = _with_input("i")["kafka"] | {"envelope": "debezium", "updates": updates}
    error = _refused(document | {"kafka": kafka, "privacy": {"k": 5, "individual": individual}})
    assert "privacy.individual: every-record is not for kafka.envelope: debezium" in error.message
    assert "Name the column that tells people apart" in error.message
    for allowed in ({"individual": "name"}, {"individual": {"field": "name"}}):
        assert parse_settings(document | {"kafka": kafka, "privacy": {"k": 5, **allowed}})
    for envelope in ("none", "connect"):
        bare = _with_input("i")["kafka"] | {"envelope": envelope}
        assert parse_settings(document | {"kafka": bare, "privacy": {"k": 5, "individual": individual}})


def _with_security(security: dict[str, Any]) -> dict[str, Any]:
    return {"kafka": _with_input("i")["kafka"] | {"security": security}}


RETURNING = {"privacy": {"k": 5, "individual": "name", "returning": {"most": 3, "period": "30d", "key_file": "k"}}}


@pytest.mark.parametrize(
    ("kafka", "words"),
    [
        ({"delivery": "at-least-once"}, "needs kafka.delivery: exactly-once"),
        ({"input": ["a", "b"]}, "needs one topic as kafka.input"),
        ({"input": {"pattern": "a.*"}}, "needs one topic as kafka.input"),
    ],
)
def test_releases_are_counted_exactly_once_and_of_one_topic(
    document: dict[str, Any], kafka: dict[str, Any], words: str
) -> None:
    error = _refused(document | {"kafka": _with_input("i")["kafka"] | kafka} | RETURNING)
    assert words in error.message
    settings = parse_settings(document | _with_input(["i"]) | RETURNING)
    assert settings.kafka is not None
    assert settings.privacy.returning is not None
    assert (settings.privacy.returning.period, settings.kafka.returns) == (30 * 86_400.0, "o.returns")


def test_a_service_that_counts_needs_a_key_and_nothing_else_does(document: dict[str, Any]) -> None:
    given = {"privacy": {"k": 5, "individual": "name", "returning": {"most": 3, "period": "30d"}}}
    settings = parse_settings(document | _with_input("i") | given)
    with pytest.raises(SettingsError, match=r"privacy\.returning\.key_file: is required"):
        returns_key_of(settings)


def test_the_key_of_returns_lies_beside_its_settings(document: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(document | RETURNING))
    returning = load_settings(path).privacy.returning
    assert returning is not None
    assert returning.key_file == str(tmp_path / "k")


def test_an_event_that_may_be_sent_again_is_no_person(document: dict[str, Any]) -> None:
    kafka = _with_input("i")["kafka"] | {"envelope": "cloudevents"}
    error = _refused(document | {"kafka": kafka, "privacy": {"k": 5, "individual": "every-record"}})
    assert "every-record is not for kafka.envelope: cloudevents: an event that is sent again" in error.message
    assert parse_settings(document | {"kafka": kafka}).privacy.individuals.field == "name"


@pytest.fixture
def document() -> dict[str, Any]:
    return {
        "privacy": {"k": 5, "individual": "name"},
        "attributes": {"name": {"role": "identifier"}, "sex": {"role": "quasi-identifier", "values": ["f", "m"]}},
    }


def _refused(document: Any, place: str | None = "policy.yaml") -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        parse_settings(document, None, place)
    return caught.value


def test_side_topics_and_defaults_are_filled_in(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(MINIMAL)
    settings = load_settings(path)
    assert settings.kafka is not None
    assert settings.kafka.certificates == "people.anonymous.certificates"
    assert settings.kafka.dead_letters == "people.anonymous.dead-letters"
    assert settings.kafka.ledger == "people.anonymous.ledger"
    assert settings.kafka.delivery == "exactly-once"
    assert (settings.window.max_delay, settings.window.shortfall) == (30.0, "suppress")
    assert settings.privacy.max_share == 0.5
    assert settings.http.host == settings.http.admin_host == "127.0.0.1"


@pytest.mark.parametrize(
    ("given", "seconds"), [("500ms", 0.5), ("30s", 30), ("2m", 120), ("1.5h", 5400), (7, 7), ("9", 9)]
)
def test_durations_are_read_with_their_unit(document: dict[str, Any], given: object, seconds: float) -> None:
    document["window"] = {"max_delay": given}
    assert parse_settings(document).window.max_delay == pytest.approx(seconds)


# What is written, the key that is refused, and what the message tells.
WRONG_SETTINGS = r"""
privcy: {} -> privcy: kafka, privacy, window, engine, input, output, certificates, attributes
_env_file: x -> _env_file: unknown key
7: x -> 7: unknown key
privacy: {k: 5, individual: n, kk: 1} -> privacy.kk: k, individual
privacy: {k: 1, individual: n} -> privacy.k: greater than or equal to 2
privacy: {k: 5} -> privacy.individual: required
privacy: null -> privacy: mapping of keys
privacy: [1] -> privacy: mapping of keys
window: {max_delay: soon} -> window.max_delay: 500ms, 30s or 2m
window: {max_delay: 25h} -> window.max_delay: 86400
window: {max_records: 1} -> window.max_records: 2
window: {shortfall: drop} -> window.shortfall: 'suppress' or 'hold'
engine: {name: magic} -> engine.name: 'forest'
attributes: {} -> attributes: at least 1
attributes: {a: {}} -> attributes.a.role: required
attributes: {a: {role: boss}} -> attributes.a.role: 'identifier'
attributes: {a: {role: sensitive, secret: 1}} -> attributes.a.secret: role, type
attributes: {a: {role: quasi-identifier, numeric: {min: 1, mx: 2}}} -> attributes.a.numeric.mx: min, max, step
kafka: {group: g} -> kafka.bootstrap_servers: required
kafka: {bootstrap_servers: b, group: g, input: t, output: t} -> kafka: different topics
kafka: {bootstrap_servers: 'b:abc', group: g, input: i, output: o} -> kafka.bootstrap_servers: HOST:PORT
kafka: {bootstrap_servers: 'b:', group: g, input: i, output: o} -> kafka.bootstrap_servers: HOST:PORT
kafka: {bootstrap_servers: '[::1', group: g, input: i, output: o} -> kafka.bootstrap_servers: HOST:PORT
kafka: {bootstrap_servers: ':9092', group: g, input: i, output: o} -> kafka.bootstrap_servers: HOST:PORT
kafka: {bootstrap_servers: ',', group: g, input: i, output: o} -> kafka.bootstrap_servers: HOST:PORT
kafka: {bootstrap_servers: 'b:0', group: g, input: i, output: o} -> kafka.bootstrap_servers: HOST:PORT
kafka: {bootstrap_servers: 'b:65536', group: g, input: i, output: o} -> kafka.bootstrap_servers: HOST:PORT
kafka: {bootstrap_servers: 'kafka://b:9092', group: g, input: i, output: o} -> kafka.bootstrap_servers: HOST:PORT
kafka: {bootstrap_servers: 'a:1,b c:2', group: g, input: i, output: o} -> kafka.bootstrap_servers: HOST:PORT
kafka: {bootstrap_servers: b, group: g, input: [a, o], output: o} -> kafka: different topics
kafka: {bootstrap_servers: b, group: g, input: [a, a], output: o} -> kafka: different topics
kafka: {bootstrap_servers: b, group: g, input: [], output: o} -> kafka.input: at least 1
kafka: {bootstrap_servers: b, group: g, input: '', output: o} -> kafka.input: at least 1
kafka: {bootstrap_servers: b, group: g, input: {patern: x}, output: o} -> kafka.input.patern: pattern
kafka: {bootstrap_servers: b, group: g, input: {pattern: (}, output: o} -> kafka.input.pattern: regular expression
kafka: {bootstrap_servers: b, group: g, input: {pattern: 'o|i.*'}, output: o} -> kafka: also fits o:
kafka: {bootstrap_servers: b, group: g, input: {pattern: 'o\.ledg.*'}, output: o} -> kafka: also fits o.ledger:
http: {port: 70000} -> http.port: 65535
"""


@pytest.mark.parametrize(("written", "key", "allowed"), refusals(WRONG_SETTINGS))
def test_a_wrong_setting_is_refused_with_its_key_and_what_is_allowed(
    document: dict[str, Any], written: str, key: str, allowed: str
) -> None:
    error = _refused(document | yaml.safe_load(f"{{{written}}}"))
    assert error.key == key
    assert allowed in error.message
    assert str(error).startswith("policy.yaml: ")


def test_no_message_shows_the_password(document: dict[str, Any]) -> None:
    secure = {"protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "username": "u", "password": "hunter2"}
    settings = parse_settings(document | _with_security(secure))
    assert settings.kafka is not None
    assert connection_of(settings.kafka).options("x")["sasl_plain_password"] == "hunter2"  # noqa: S105
    assert "hunter2" not in repr(settings)
    for wrong in (secure | {"username": None}, secure | {"password_file": "x"}, secure | {"password": ["hunter2"]}):
        assert "hunter2" not in str(_refused(document | _with_security(wrong)))


_OIDC = {"token_endpoint": "https://login.example/token", "client_id": "c", "client_secret": "s"}


@pytest.mark.parametrize(
    "endpoint", ["https://a.example:8443/realms/x/token", "http://127.0.0.1:80/t", "https://a"]
)
def test_a_token_endpoint_needs_encryption_unless_it_is_this_machine(document: Any, endpoint: str) -> None:
    login = {"protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER", **_OIDC, "token_endpoint": endpoint}
    settings = parse_settings(document | _with_security(login))
    assert settings.kafka is not None
    security = connection_of(settings.kafka).security
    assert (security.token_endpoint, security.client_id, security.client_secret) == (endpoint, "c", "s")


@pytest.mark.parametrize(
    "security",
    [
        {"sasl_mechanism": "OAUTHBEARER"},
        {"sasl_mechanism": "OAUTHBEARER", "token_file": "a", "token_command": ["b"]},
        {"sasl_mechanism": "OAUTHBEARER", "token_command": []},
        {"sasl_mechanism": "OAUTHBEARER", "token_endpoint": "https://a/t"},
        {"sasl_mechanism": "OAUTHBEARER", "token_endpoint": "https://a/t", "client_id": "c"},
        {"sasl_mechanism": "OAUTHBEARER", **_OIDC, "token_endpoint": "http://a/t"},
        {"sasl_mechanism": "OAUTHBEARER", **_OIDC, "token_endpoint": "http://localhost.a/t"},
        {"sasl_mechanism": "OAUTHBEARER", **_OIDC, "token_endpoint": "http://localhost@a/t"},
        {"sasl_mechanism": "OAUTHBEARER", **_OIDC, "client_secret_file": "s"},
        {"sasl_mechanism": "OAUTHBEARER", **_OIDC, "token_file": "f"},
        {"sasl_mechanism": "OAUTHBEARER", "token_file": "f", "scope": "s"},
        {"sasl_mechanism": "SCRAM-SHA-512", "username": "u", "token_file": "a"},
        {"sasl_mechanism": "AWS_MSK_IAM"},
        {"sasl_mechanism": "AWS_MSK_IAM", "aws_region": "Ireland"},
        {"sasl_mechanism": "AWS_MSK_IAM", "aws_region": "eu-west-1", "token_file": "a"},
        {"sasl_mechanism": "AWS_MSK_IAM", "aws_region": "eu-west-1", "protocol": "SASL_PLAINTEXT"},
        {"sasl_mechanism": "OAUTHBEARER", "token_file": "f", "aws_region": "eu-west-1"},
        {"protocol": "SSL", "key_file": "a"},
        {"protocol": "SSL", "certificate_file": "a", "key_password": "a", "key_password_file": "b"},
    ],
)
def test_a_login_that_cannot_succeed_is_refused(document: dict[str, Any], security: dict[str, Any]) -> None:
    error = _refused(document | _with_security({"protocol": "SASL_SSL"} | security))
    assert error.key.startswith("kafka.security")


@pytest.mark.parametrize("region", ["eu-west-1", "us-gov-east-1", "ap-southeast-2", "cn-northwest-1"])
def test_msk_with_iam_needs_a_region_only(document: Any, region: str) -> None:
    login = {"protocol": "SASL_SSL", "sasl_mechanism": "AWS_MSK_IAM", "aws_region": region}
    settings = parse_settings(document | _with_security(login))
    assert settings.kafka is not None
    security = connection_of(settings.kafka).security
    assert (security.mechanism, security.aws_region, security.by_token) == ("AWS_MSK_IAM", region, True)


def test_the_settings_name_a_secret_file_and_the_connection_reads_it(
    document: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "password").write_text("hunter2\n")
    security = {"protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "username": "u"}
    settings = parse_settings(document | _with_security(security | {"password_file": str(tmp_path / "password")}))
    assert settings.kafka is not None
    assert connection_of(settings.kafka).options("x")["sasl_plain_password"] == "hunter2"  # noqa: S105


@pytest.mark.parametrize(
    ("given", "names", "held", "strange"),
    [
        ("people", ("people",), "people", "people2"),
        (["a", "b"], ("a", "b"), "b", "ab"),
        ({"pattern": r"people\.(?!anonymous).*"}, (), "people.north", "old.people.north"),
    ],
)
@pytest.mark.parametrize("by", ["file", "environment"])
def test_an_input_holds_exactly_its_topics(
    document: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    given: object,
    names: tuple[str, ...],
    held: str,
    strange: str,
    by: str,
) -> None:
    kafka = {"bootstrap_servers": "b", "group": "g", "input": given, "output": "people.anonymous"}
    if by == "environment":
        kafka["input"] = "something"
        monkeypatch.setenv("STREAM_ANON__KAFKA__INPUT", given if isinstance(given, str) else json.dumps(given))
    settings = parse_settings(document | {"kafka": kafka})
    assert settings.kafka is not None
    inputs = settings.kafka.inputs
    assert inputs.names == names
    assert inputs.holds(held)
    assert not inputs.holds(strange)
    assert not inputs.holds("people.anonymous")
    assert inputs.among([strange, held]) == (names or (held,))


def test_the_environment_wins_over_the_file(document: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    document["window"] = {"max_records": 50, "max_delay": 5}
    monkeypatch.setenv("STREAM_ANON__WINDOW__MAX_RECORDS", "77")
    monkeypatch.setenv("STREAM_ANON__LOGS__LEVEL", "debug")
    settings = parse_settings(document)
    assert (settings.window.max_records, settings.window.max_delay) == (77, 5)
    assert settings.logs.level == "debug"


@pytest.mark.parametrize(
    ("name", "value", "key"),
    [
        ("STREAM_ANON__WINDOWS__MAX_RECORDS", "7", "STREAM_ANON__WINDOWS__MAX_RECORDS"),
        ("STREAM_ANON__ATTRIBUTES__SEX__ROLE", "insensitive", "STREAM_ANON__ATTRIBUTES__SEX__ROLE"),
        ("stream_anon__attributes__sex__role", "insensitive", "stream_anon__attributes__sex__role"),
        ("STREAM_ANON__ATTRIBUTES", "{}", "STREAM_ANON__ATTRIBUTES"),
        ("STREAM_ANON__WINDOW__MAXRECORDS", "7", "window.maxrecords"),
        ("STREAM_ANON__WINDOW__MAX_RECORDS", "many", "window.max_records"),
        ("STREAM_ANON__WINDOW", "many", "STREAM_ANON__WINDOW"),
        ("STREAM_ANON__", "many", "STREAM_ANON__"),
    ],
)
def test_a_misspelt_variable_is_refused_by_name(
    document: dict[str, Any], monkeypatch: pytest.MonkeyPatch, name: str, value: str, key: str
) -> None:
    monkeypatch.setenv(name, value)
    error = _refused(document)
    assert error.key == key
    assert "many" not in str(error).replace(name, "")


def test_command_line_options_win_over_the_file(document: dict[str, Any]) -> None:
    settings = parse_settings(document, {"privacy": {"k": 9}, "window": {"max_records": 60}, "engine": {}})
    assert (settings.privacy.k, settings.window.max_records) == (9, 60)
    assert settings.privacy.individual == "name"
    assert _refused_with(document | {"privacy": [1]}, {"privacy": {"k": 9}}).key == "privacy"


def _refused_with(document: Any, overrides: Any) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        parse_settings(document, overrides, "p")
    return caught.value


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [1", "not valid YAML in line"),
        ("- 1\n", "mapping of sections"),
        ("", "mapping of sections"),
        (MINIMAL + "  sex: {role: insensitive}\n", "stands twice in line 7"),
        (MINIMAL.replace("privacy: {k: 5", "privacy: {k: 2, k: 5"), "stands twice in line 2"),
    ],
)
def test_a_file_that_is_no_settings_file_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=complaint) as caught:
        load_settings(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no such file"):
        load_settings(tmp_path / "none.yaml")


def test_a_variable_that_is_no_json_is_named_and_its_value_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, document: dict[str, Any]
) -> None:
    monkeypatch.setenv("STREAM_ANON__KAFKA__SECURITY", "{hunter2")
    error = _refused(document)
    assert error.key == "STREAM_ANON__KAFKA__*"
    assert "hunter2" not in str(error)


def test_an_option_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAM_ANON__PRIVACY__K", "7")
    monkeypatch.setenv("STREAM_ANON__WINDOW__MAX_RECORDS", "700")
    found = parse_settings(PEOPLE, {"privacy": {"k": 5}, "window": {}})
    assert (found.privacy.k, found.window.max_records, found.privacy.individual) == (5, 700, "person")


def test_the_key_of_draws_lies_beside_the_settings_that_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own").mkdir()
    path = write_policy(tmp_path / "own", engine={"draws_key_file": "key"})
    monkeypatch.chdir(tmp_path)
    for named in (path, path.relative_to(tmp_path)):
        assert load_settings(named).engine.draws_key_file == str(path.parent / "key")
    monkeypatch.setenv("STREAM_ANON__ENGINE__DRAWS_KEY_FILE", "/run/secrets/key")
    assert load_settings(path).engine.draws_key_file == "/run/secrets/key"


_KEYS: dict[str, Callable[[str], dict[str, Any]]] = {
    "engine.draws_key_file": lambda file: {"engine": {"draws_key_file": file}},
    "privacy.returning.key_file": lambda file: {
        "privacy": {"returning": {"most": 2, "period": "7d", "key_file": file}}
    },
    "certificates.sign.key_file": lambda file: {"certificates": {"sign": {"key_file": file}}},
    "output.digest_key_file": lambda file: {"output": {"digest_key_file": file}},
}


@pytest.mark.parametrize(("one", "other"), [*combinations(_KEYS, 2)])
def test_no_file_holds_two_keys(one: str, other: str, document: dict[str, Any], tmp_path: Path) -> None:
    def written(first: str, second: str) -> Path:
        given = [_KEYS[one](first), _KEYS[other](second)]
        privacy = {key: value for each in given for key, value in each.pop("privacy", {}).items()}
        path = tmp_path / "policy.yaml"
        path.write_text(json.dumps({**document, **given[0], **given[1], "privacy": document["privacy"] | privacy}))
        return path

    load_settings(written("a", "b"))
    (tmp_path / "link").symlink_to(tmp_path / "a")
    for same in ("a", "./a", str(tmp_path / "a"), "link"):
        with pytest.raises(SettingsError, match=rf"{re.escape(other)}: is the file of {re.escape(one)} too"):
            load_settings(written("a", same))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("auto", None),
        ("16MiB", 2**24),
        ("1 GB", 10**9),
        ("2GiB", 2**31),
        ("50000KB", 5 * 10**7),
        ("17MB", 17 * 10**6),
    ],
)
def test_the_memory_of_a_window_is_a_size(document: dict[str, Any], text: str, size: int | None) -> None:
    settings = parse_settings(document | {"window": {"max_memory": text}})
    assert settings.window.memory == size


@pytest.mark.parametrize("text", ["0MB", "-1GB", "1", "1TB", "GB", "1.5GB", "1GB "])
def test_what_is_no_size_is_refused(document: dict[str, Any], text: str) -> None:
    with pytest.raises(SettingsError, match=r"window\.max_memory"):
        parse_settings(document | {"window": {"max_memory": text}})


@pytest.mark.parametrize("text", ["4KB", "16MB", "15MiB"])
def test_memory_in_which_no_window_has_room_is_refused(document: dict[str, Any], text: str) -> None:
    with pytest.raises(SettingsError, match="max_memory must be 16MiB or more"):
        parse_settings(document | {"window": {"max_memory": text}})


def _risky(**privacy: Any) -> dict[str, Any]:
    return PEOPLE | {"privacy": {"individual": "person", **privacy}}


@pytest.mark.parametrize(
    ("privacy", "key", "complaint"),
    [
        ({}, "privacy", "k or max_risk is required"),
        ({"k": None, "max_risk": 0.09}, "privacy.k", "must be a number from 2 on"),
        ({"k": 11, "max_risk": 0.09}, "privacy", "k: 11 and max_risk: 0.09 do not agree, which asks for k: 12"),
        ({"k": 13, "max_risk": 0.09}, "privacy", "do not agree"),
        ({"k": "none", "max_risk": 0.09}, "privacy", "k: none and max_risk: 0.09 do not agree"),
        ({"max_risk": 0}, "privacy.max_risk", "greater than or equal to 0.000001"),
        ({"max_risk": -0.1}, "privacy.max_risk", "greater than or equal to"),
        ({"max_risk": 0.51}, "privacy.max_risk", "less than or equal to 0.5"),
        ({"max_risk": float("nan")}, "privacy.max_risk", "less than or equal to 0.5"),
        ({"max_risk": "low"}, "privacy.max_risk", "number"),
    ],
)
def test_a_risk_is_refused_that_no_k_keeps_or_that_contradicts_one(
    privacy: dict[str, Any], key: str, complaint: str
) -> None:
    error = _refused(_risky(**privacy))
    assert error.key == key
    assert complaint in str(error)


def test_whoever_wins_replaces_k_by_a_risk_and_a_risk_by_k(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_settings(_risky(max_risk=0.09)).privacy.asked_k == 12
    assert parse_settings(_risky(max_risk=0.09), {"privacy": {"k": 5}}).privacy.asked_k == 5
    assert parse_settings(_risky(k=9), {"privacy": {"max_risk": 0.05}}).privacy.asked_k == 20
    monkeypatch.setenv("STREAM_ANON__PRIVACY__MAX_RISK", "0.075")
    assert parse_settings(_risky(k=9)).privacy.asked_k == 14
    assert parse_settings(_risky(k=9), {"privacy": {"k": 7}}).privacy.asked_k == 7
    monkeypatch.setenv("STREAM_ANON__PRIVACY__K", "10")
    assert "do not agree" in str(_refused(_risky(k=9)))
    monkeypatch.delenv("STREAM_ANON__PRIVACY__MAX_RISK")
    assert parse_settings(_risky(max_risk=0.09)).privacy.asked_k == 10
