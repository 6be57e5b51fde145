"""A real Apache Kafka on loopback, from its Maven jars."""

from tests.support.apache_kafka.launcher import ApacheKafka, missing_parts

__all__ = ["ApacheKafka", "missing_parts"]
