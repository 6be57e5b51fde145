"""Settings of formats and of the registry: what goes together, and what a client gets of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream_anon.adapters.registry.access import RegistryAccess
from stream_anon.errors import SettingsError
from stream_anon.formats.codecs import RecordFormats
from stream_anon.service.wiring.clients import formats_of
from stream_anon.settings.loading import kafka_of, parse_settings
from tests.support.policies import PEOPLE

URL = "http://127.0.0.1:8081"


def _formats(**kafka: Any) -> RecordFormats:
    section = {"bootstrap_servers": "nowhere:9092", "group": "g", "input": "people", "output": "out"}
    return formats_of(kafka_of(parse_settings({**PEOPLE, "kafka": section | kafka})))


def test_topics_are_json_unless_a_format_is_set_for_both_or_for_each() -> None:
    assert _formats() == RecordFormats()
    access = RegistryAccess(URL)
    both = _formats(format="json-schema", registry={"url": URL})
    assert both == RecordFormats("json-schema", "json-schema", access, "out-value")
    one = _formats(format={"input": "avro"}, registry={"url": URL, "subject": "s", "register_schema": False})
    assert one == RecordFormats("avro", "json", access, "s", register=False)


@pytest.mark.parametrize(
    ("kafka", "message"),
    [
        ({"format": "avro"}, "needs kafka.registry"),
        ({"format": "xml", "registry": {"url": URL}}, "kafka.format"),
        ({"format": {"input": "avro", "between": "json"}}, "unknown key; allowed: input, output"),
        ({"registry": {"url": "ftp://x"}}, "kafka.registry.url"),
        ({"registry": {"url": "http://me:secret@x"}}, "kafka.registry.url"),
        ({"registry": {"url": URL, "username": "me"}}, "username goes with"),
        ({"registry": {"url": URL, "password": "p"}}, "username goes with"),
        ({"registry": {"url": URL, "token": "t", "token_file": "f"}}, "give one of"),
        ({"registry": {"url": "http://far", "token": "t"}}, "needs an https url"),
        ({"registry": {"url": URL, "key_file": "f"}}, "key_file is for"),
        ({"registry": {"url": URL, "framing": "apicurio-global"}}, "ccompat"),
        ({"registry": {"url": URL, "framing": "glue"}}, "needs schemas"),
        ({"registry": {"url": URL, "schemas": {"abc": "f"}}}, "abc is neither a number nor a UUID"),
        ({"registry": {"url": URL, "schemas": {-1: "f"}}}, "-1 is neither"),
        ({"registry": {"url": URL, "schemas": {2**63: "f"}}}, "is neither"),
        ({"registry": {"url": "http://reg:99999"}}, "port of url"),
        ({"registry": {"url": "http://reg:0"}}, "port of url"),
    ],
)
def test_what_does_not_go_together_is_refused_with_its_key(kafka: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        _formats(**kafka)
    assert "secret" not in str(caught.value)


def test_ids_of_schemas_may_be_numbers_or_uuids_in_any_spelling() -> None:
    upper = "89791762-2336-4186-9674-299B90A802E2"
    formats = _formats(registry={"url": URL, "schemas": {7: "a", "008": "b", upper: "c"}}, format="avro")
    assert formats.registry is not None
    assert set(formats.registry.schemas) == {"7", "8", upper.lower()}


def test_secrets_come_from_settings_or_files_and_show_nowhere() -> None:
    formats = _formats(registry={"url": URL, "username": "me", "password": "hidden"})
    assert formats.registry is not None
    assert formats.registry.password == "hidden"  # noqa: S105
    assert "hidden" not in repr(formats)
    by_file = _formats(registry={"url": "https://far", "token_file": "/run/token"})
    assert by_file.registry is not None
    assert by_file.registry.token_file == Path("/run/token")


@pytest.mark.parametrize("first", ["section", "keys"])
def test_variables_of_single_keys_join_the_variable_of_their_section_in_any_order(
    first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a chart gives them: a shell may hand them on in another order than it got them."""
    names = {
        "": f'{{"url": "{URL}", "username": "anonymizer", "timeout": 7}}',
        "__PASSWORD_FILE": "/run/secret",
        "__CA_FILE": "/run/ca.crt",
        "__TIMEOUT": "9",
    }
    for name, value in names.items() if first == "section" else reversed(names.items()):
        monkeypatch.setenv(f"STREAM_ANON__KAFKA__REGISTRY{name}", value)
    access = _formats(format="json-schema").registry
    assert access is not None
    assert (access.url, access.username, access.timeout) == (URL, "anonymizer", 9.0)
    assert (access.password_file, access.ca_file) == (Path("/run/secret"), Path("/run/ca.crt"))
