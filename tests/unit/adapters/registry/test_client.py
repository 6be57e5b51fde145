"""The registry's client: what it asks, and what it makes of every kind of answer."""

from __future__ import annotations

import base64
import shutil
import ssl
from pathlib import Path

import pytest
from aiohttp import web

from stream_anon.adapters.registry.access import RegistryAccess
from stream_anon.errors import Refused, RegistryError
from stream_anon.formats.registry.asking import may_be_told
from stream_anon.formats.registry.framing import Framing
from stream_anon.formats.registry.registered import UNREADABLE, RegisteredSchema
from stream_anon.ports.schema_news import MOST_SCHEMA_BYTES
from tests.support.apache_kafka.certificates import Authority
from tests.support.registry.memory_registry import MemoryRegistry

SCHEMA = '{"type": "string"}'
GUID = "89791762-2336-4186-9674-299b90a802e2"


def _client(registry: MemoryRegistry, **given: object) -> RegistryAccess:
    return RegistryAccess(registry.url, timeout=2.0, **given)  # type: ignore[arg-type]


FRAMINGS = [Framing.CONFLUENT, Framing.APICURIO_GLOBAL, Framing.APICURIO_CONTENT]


async def _schema(
    registry: MemoryRegistry, key: int | str, framing: Framing = Framing.CONFLUENT, **given: object
) -> RegisteredSchema | None:
    async with _client(registry, framing=framing, **given).session() as session:
        return await session.schema(key)


async def test_a_schema_is_found_by_its_id_and_by_its_guid_and_one_that_is_not_there_is_none() -> None:
    async with MemoryRegistry() as registry:
        registry.add(SCHEMA, 7, guid=GUID)
        assert await _schema(registry, 7) == await _schema(registry, GUID) == RegisteredSchema(SCHEMA, "AVRO")
        assert await _schema(registry, 8) is None


@pytest.mark.parametrize(
    "answer",
    [
        web.Response(status=500),
        web.Response(status=404, text="<html>nobody here</html>"),
        web.Response(status=200, text="<html>welcome</html>"),
        web.Response(status=200, body=b'{"schema": 5}'),
        web.Response(status=200, body=b"[" * 100_000),
        web.Response(status=200, body=b"\xff\xfe"),
        web.Response(status=500, body=b"a" * (MOST_SCHEMA_BYTES + 1)),
        web.Response(status=302, headers={"Location": "/schemas/ids/7"}),
        web.Response(status=401),
    ],
    ids=["500", "html-404", "html", "no-text", "deep", "no-utf8", "endless", "redirect", "login"],
)
async def test_whatever_a_registry_answers_but_a_schema_is_waited_for(answer: web.Response) -> None:
    async with MemoryRegistry() as registry:
        registry.fault = answer
        with pytest.raises(RegistryError) as caught:
            await _schema(registry, 7)
    assert "aaaa" not in str(caught.value)
    assert str(caught.value).startswith("registry: GET /schemas/ids/7: ")
    assert ("kafka.registry.url" in str(caught.value)) == (answer.status == 404)
    assert len(registry.asked) == 1


async def test_a_schema_larger_than_one_may_be_is_unreadable_and_holds_nothing_up() -> None:
    async with MemoryRegistry() as registry:
        registry.add(" " * (MOST_SCHEMA_BYTES + 1), 7)
        registry.add(SCHEMA, 8, references=[{"name": "n", "subject": "people-value", "version": 1}])
        assert await _schema(registry, 7) == await _schema(registry, 8) == RegisteredSchema("", UNREADABLE)


async def test_fields_that_are_null_count_as_left_out() -> None:
    async with MemoryRegistry() as registry:
        registry.fault = web.json_response({"schema": SCHEMA, "schemaType": None, "references": None})
        assert await _schema(registry, 7) == RegisteredSchema(SCHEMA, "AVRO")


@pytest.mark.parametrize(
    ("status", "after", "pauses"),
    [
        (401, "", (0, 30)),
        (403, "x", (0, 30)),
        (429, "7", (7, 30)),
        (429, "9999999999", (30, 30)),
        (503, "7", (0, None)),
    ],
)
async def test_a_refusal_asks_for_longer_pauses_as_far_as_retry_after_says_and_within_bounds(
    status: int, after: str, pauses: tuple[float, float | None]
) -> None:
    async with MemoryRegistry() as registry:
        registry.fault = web.Response(status=status, headers={"Retry-After": after} if after else {})
        with pytest.raises(RegistryError) as caught:
            await _schema(registry, 7)
    assert (caught.value.least_pause, caught.value.longest_pause) == pauses


async def test_a_registry_answers_if_it_says_anything_of_its_own() -> None:
    async with MemoryRegistry() as registry, _client(registry).session() as session:
        await session.raise_if_away()
        for status, there in ((404, True), (401, False), (503, False), (302, False)):
            registry.fault = web.Response(status=status)
            if there:
                await session.raise_if_away()
                continue
            with pytest.raises(RegistryError, match=f"status {status}"):
                await session.raise_if_away()


async def test_a_registry_that_knows_no_guids_has_none_of_that_name() -> None:
    async with MemoryRegistry() as registry:
        registry.unknown = web.json_response({"error_code": 0, "message": "no such resource"}, status=404)
        assert await _schema(registry, GUID) is None
        with pytest.raises(RegistryError, match="status 404"):
            await _schema(registry, 7)


@pytest.mark.parametrize("key", [7, GUID])
async def test_a_url_that_is_not_that_of_the_interface_is_waited_for_and_no_schema_counts_as_missing(
    key: int | str,
) -> None:
    async with MemoryRegistry() as registry:  # Confluent's own answers so to each path that it does not know
        registry.fault = web.json_response({"error_code": 404, "message": "HTTP 404 Not Found"}, status=404)
        with pytest.raises(RegistryError, match=r"kafka\.registry\.url"):
            await _schema(registry, key)


async def test_a_registry_whose_404_has_no_code_of_its_own_has_no_such_schema() -> None:
    async with MemoryRegistry() as registry:
        registry.unknown = web.json_response({"error_code": 404, "message": "no content with id 7"}, status=404)
        assert await _schema(registry, 7) is None


async def test_a_registry_that_is_away_or_silent_is_waited_for() -> None:
    registry = MemoryRegistry()
    registry.port = 1
    with pytest.raises(RegistryError, match="cannot be reached"):
        await _schema(registry, 7)


@pytest.mark.parametrize("framing", FRAMINGS)
async def test_what_a_schema_refers_to_comes_with_it_the_innermost_first(framing: Framing) -> None:
    async with MemoryRegistry() as registry:
        registry.add('"inner"', 1, subject="a group/inner")
        onward = [{"name": "i", "subject": "a group/inner", "version": 1}]
        registry.add('"outer"', 2, subject="outer", references=onward)
        registry.add(SCHEMA, 3, references=[{"name": "outer", "subject": "outer", "version": 1}, *onward])
        found = await _schema(registry, 3, framing)
    assert found == RegisteredSchema(SCHEMA, "AVRO", (("i", '"inner"'), ("outer", '"outer"')))


def _references(*subjects: str) -> list[dict[str, object]]:
    return [{"name": subject, "subject": subject, "version": 1} for subject in subjects]


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize(("count", "kind"), [(64, "AVRO"), (65, UNREADABLE)])
async def test_a_schema_may_refer_to_sixty_four_others(framing: Framing, count: int, kind: str) -> None:
    names = [f"p{number}" for number in range(count)]
    async with MemoryRegistry() as registry:
        for number, name in enumerate(names, 100):
            registry.add('"part"', number, subject=name)
        registry.add(SCHEMA, 8, references=_references(*names))
        found = await _schema(registry, 8, framing)
        assert found is not None
        assert found.kind == kind
        assert len(registry.asked) < 300


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize(("deep", "kind"), [(8, "AVRO"), (9, UNREADABLE), (29, UNREADABLE)])
async def test_references_may_be_eight_deep(framing: Framing, deep: int, kind: str) -> None:
    async with MemoryRegistry() as registry:
        for number in range(deep + 1):
            onward = _references(f"s{number + 1}") if number < deep else []
            registry.add(SCHEMA, 100 + number, subject=f"s{number}", references=onward)
        found = await _schema(registry, 100, framing)
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize("framing", FRAMINGS)
async def test_a_schema_counts_as_absent_while_the_registry_lacks_a_part_of_it(framing: Framing) -> None:
    """A follower may be seconds behind: a second answer is waited for, as about the schema itself."""
    async with MemoryRegistry() as registry:
        registry.add(SCHEMA, 8, references=_references("inner"))
        assert await _schema(registry, 8, framing) is None
        registry.add('"inner"', 9, subject="inner")
        assert await _schema(registry, 8, framing) == RegisteredSchema(SCHEMA, "AVRO", (("inner", '"inner"'),))


@pytest.mark.parametrize("framing", FRAMINGS)
async def test_a_schema_alone_is_had_whatever_it_refers_to(framing: Framing) -> None:
    async with MemoryRegistry() as registry:
        registry.add(SCHEMA, 8, references=_references("nowhere"))
        async with _client(registry, framing=framing).session() as session:
            assert await session.schema(8, alone=True) == RegisteredSchema(SCHEMA, "AVRO")
        assert len(registry.asked) == 1


@pytest.mark.parametrize("version", [None, ""])
async def test_a_reference_of_apicurio_without_a_version_makes_a_schema_unreadable(version: str | None) -> None:
    async with MemoryRegistry() as registry:
        registry.add(SCHEMA, 8)
        registry.references = web.json_response([{"name": "n", "artifactId": "a", "version": version}])
        found = await _schema(registry, 8, Framing.APICURIO_GLOBAL)
    assert found == RegisteredSchema("", UNREADABLE)


async def test_an_apicurio_that_knows_no_references_gives_schemas_without_them() -> None:
    async with MemoryRegistry() as registry:
        registry.add(SCHEMA, 8)
        registry.references = web.json_response({"error_code": 404, "message": "no such path"}, status=404)
        assert await _schema(registry, 8, Framing.APICURIO_CONTENT) == RegisteredSchema(SCHEMA, "AVRO")


@pytest.mark.parametrize(
    "answer",
    [web.Response(status=500), web.Response(status=401), web.Response(text="<html>"), web.json_response([5])],
    ids=["500", "login", "html", "numbers"],
)
async def test_whatever_apicurio_answers_but_references_is_waited_for(answer: web.Response) -> None:
    async with MemoryRegistry() as registry:
        registry.add(SCHEMA, 8)
        registry.references = answer
        with pytest.raises(RegistryError, match="ids/globalIds/8/references"):
            await _schema(registry, 8, Framing.APICURIO_GLOBAL)


@pytest.mark.parametrize("framing", FRAMINGS)
async def test_schemas_that_together_are_larger_than_one_may_be_make_a_schema_unreadable(framing: Framing) -> None:
    async with MemoryRegistry() as registry:
        parts = [{"name": f"p{number}", "subject": f"p{number}", "version": 1} for number in range(4)]
        for number, part in enumerate(parts):
            registry.add(" " * (MOST_SCHEMA_BYTES // 3), number, subject=str(part["subject"]))
        registry.add(SCHEMA, 8, references=parts[:2])
        registry.add(SCHEMA, 9, references=parts)
        within, beyond = await _schema(registry, 8, framing), await _schema(registry, 9, framing)
    assert within is not None
    assert len(within.references) == 2
    assert beyond == RegisteredSchema("", UNREADABLE)


async def test_a_password_or_a_token_is_sent_and_read_anew_from_its_file(tmp_path: Path) -> None:
    basic = "Basic " + base64.b64encode(b"me:secret").decode()
    file = tmp_path / "secret"
    file.write_text("secret\n")
    async with MemoryRegistry(basic) as registry:
        registry.add(SCHEMA, 7)
        assert await _schema(registry, 7, username="me", password="secret") is not None  # noqa: S106
        assert await _schema(registry, 7, username="me", password_file=file) is not None
        file.write_text("wrong")
        with pytest.raises(RegistryError, match="status 401"):
            await _schema(registry, 7, username="me", password_file=file)
        file.unlink()
        with pytest.raises(RegistryError, match="password_file: cannot be read"):
            await _schema(registry, 7, username="me", password_file=file)
    async with MemoryRegistry("Bearer abc") as registry:
        registry.add(SCHEMA, 7)
        assert await _schema(registry, 7, token="abc") is not None  # noqa: S106
        for wrong in ("a b", "a\nb", "ä"):
            with pytest.raises(RegistryError, match="does not hold a token"):
                await _schema(registry, 7, token=wrong)


async def test_no_representation_shows_a_secret() -> None:
    shown = repr(RegistryAccess("http://here", username="me", password="hidden-1", token="hidden-2"))  # noqa: S106
    assert "hidden" not in shown


async def test_a_schema_is_registered_once_and_looked_up_afterwards() -> None:
    async with MemoryRegistry() as registry, _client(registry).session() as session:
        assert await session.looked_up("out-value", SCHEMA, "JSON") is None
        number = await session.register("out-value", SCHEMA, "JSON")
        assert await session.register("out-value", SCHEMA, "JSON") == number
        assert await session.looked_up("out-value", SCHEMA, "JSON") == number
        newest = await session.newest("out-value")
        assert newest == RegisteredSchema(SCHEMA, "JSON", id=number)
        assert await session.newest("other/value ?") is None


async def test_a_registration_that_the_registry_refuses_as_incompatible_is_refused_with_a_clear_word() -> None:
    async with MemoryRegistry() as registry, _client(registry).session() as session:
        registry.refuses = True
        with pytest.raises(Refused, match="does not go with the subject's schemas"):
            await session.register("out-value", SCHEMA, "AVRO")


async def test_a_registration_that_meets_another_is_tried_again() -> None:
    async with MemoryRegistry() as registry, _client(registry).session() as session:
        registry.conflicts = 2
        assert await session.register("out-value", SCHEMA, "AVRO") == 1


@pytest.mark.parametrize("framing", [Framing.APICURIO_GLOBAL, Framing.APICURIO_CONTENT])
async def test_apicurio_is_asked_for_its_own_ids(framing: Framing) -> None:
    async with MemoryRegistry() as registry:
        registry.add(SCHEMA, 5_000_000_000)
        access = RegistryAccess(f"{registry.url}/apis/ccompat/v7", framing)
        async with access.session() as session:
            assert await session.schema(5_000_000_000) == RegisteredSchema(SCHEMA, "AVRO")
            assert await session.schema(6) is None


@pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates need `openssl` on the path")
async def test_tls_is_checked_both_ways_and_a_file_that_cannot_be_loaded_is_waited_for(tmp_path: Path) -> None:
    authority, stranger = Authority(tmp_path / "ours", "ours"), Authority(tmp_path / "other", "other")
    server, own = authority.issue("server", "127.0.0.1"), authority.issue("worker")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority.certificate)
    tls.load_cert_chain(server.certificate, server.key)
    tls.verify_mode = ssl.CERT_REQUIRED
    async with MemoryRegistry(tls=tls) as registry:
        registry.add(SCHEMA, 7)
        both = {"ca_file": authority.certificate, "certificate_file": own.certificate, "key_file": own.key}
        assert await _schema(registry, 7, **both) is not None
        for wrong in (
            {"ca_file": authority.certificate},
            {**both, "ca_file": stranger.certificate},
            {},
        ):
            with pytest.raises(RegistryError, match="cannot be reached"):
                await _schema(registry, 7, **wrong)
        with pytest.raises(RegistryError, match="cannot be loaded"):
            await _schema(registry, 7, **{**both, "key_file": tmp_path / "nowhere"})


@pytest.mark.parametrize(
    ("number", "told"), [(7, True), (999_999, True), (1_000_000, False), (-3, False), ("4f6e6e61-...", False)]
)
def test_an_id_that_may_be_bytes_of_a_record_is_not_told(number: int | str, told: bool) -> None:
    """A record that is not framed, and begins with a byte 0 or 1, looks as if it named a schema by its bytes."""
    assert may_be_told(number) is told
