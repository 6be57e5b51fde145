"""Debezium's connectors for PostgreSQL and JDBC in a real Kafka Connect, from their Maven jars."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tests.support.apache_kafka import ApacheKafka
from tests.support.java import LOGGING, QUICK, Jars, JavaProcess, write_properties
from tests.support.ports import free_port
from tests.support.postgres import Postgres

JARS = Jars("Debezium", Path(__file__).parent, "apicurio-registry-utils-converter")


def postgres_source(
    database: Postgres, topic: str, *, tables: str, properties: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the configuration of a connector that writes all that it knows of some tables to one topic."""
    return {
        "name": "source",
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "tasks.max": "1",
        "plugin.name": "pgoutput",
        "database.hostname": "127.0.0.1",
        "database.port": str(database.port),
        "database.user": database.user,
        "database.password": database.password,
        "database.dbname": "postgres",
        "topic.prefix": "db",
        "table.include.list": tables,
        "publication.autocreate.mode": "filtered",
        "skipped.operations": "none",
        "heartbeat.interval.ms": "500",
        "provide.transaction.metadata": "true",
        # The rows' topic, and those of heartbeats, transactions and messages.
        "transforms": "one",
        "transforms.one.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.one.regex": ".*",
        "transforms.one.replacement": topic,
        **(properties or {}),
    }


def jdbc_sink(database: Postgres, topic: str, table: str) -> dict[str, str]:
    """Return the configuration of a connector that writes the records of a topic into a table, which it creates."""
    return {
        "name": "sink",
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "tasks.max": "1",
        "topics": topic,
        "connection.url": f"jdbc:postgresql://127.0.0.1:{database.port}/postgres",
        "connection.username": database.user,
        "connection.password": database.password,
        "insert.mode": "insert",
        "primary.key.mode": "none",
        "schema.evolution": "basic",
        "collection.name.format": table,
    }


def in_json(*, schemas: bool) -> dict[str, str]:
    """Return the settings of a converter to JSON, with the schema of each record beside it or without."""
    name = "org.apache.kafka.connect.json.JsonConverter"
    return {"converter": name, "converter.schemas.enable": str(schemas).lower()}


def in_avro(registry: str) -> dict[str, str]:
    """Return the settings of a converter to Avro whose schemas go to Apicurio, as Debezium's pages advise."""
    name = "io.apicurio.registry.utils.converter.AvroConverter"
    settings = {"url": registry, "auto-register": "true"}
    return {"converter": name} | {f"converter.apicurio.registry.{key}": value for key, value in settings.items()}


class Connect:
    """One process with one connector, stopped by its own process id.

    Parameters
    ----------
    folder
        Where its configuration, offsets and log live.
    connector
        The connector's configuration.
    converter
        Settings of the converter of keys and values.
    """

    def __init__(
        self, folder: Path, kafka: ApacheKafka, connector: Mapping[str, str], converter: Mapping[str, str]
    ) -> None:
        self._folder = folder
        self._worker = {
            "bootstrap.servers": kafka.address,
            **{f"{side}.{key}": value for side in ("key", "value") for key, value in converter.items()},
            "consumer.isolation.level": "read_committed",
            "offset.storage.file.filename": str(folder / "offsets"),
            "offset.flush.interval.ms": "1000",
            "listeners": f"http://127.0.0.1:{free_port()}",
        }
        self._connector = dict(connector)
        self._process = JavaProcess(folder, "connect")

    @property
    def log(self) -> str:
        """Return the end of what it said."""
        return self._process.log.read_text()[-4000:]

    def __enter__(self) -> Self:
        JARS.fetch()
        both = (("worker", self._worker), ("connector", self._connector))
        files = [write_properties(self._folder / f"{name}.properties", lines) for name, lines in both]
        logging = self._folder / "log4j2.properties"
        logging.write_text(LOGGING)
        program = "org.apache.kafka.connect.cli.ConnectStandalone"
        options = ["-Xmx512m", f"-Dlog4j2.configurationFile={logging}", "-cp", JARS.path]
        self._process.start([*QUICK, *options, program, *map(str, files)])
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stop()
