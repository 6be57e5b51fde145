"""Kafka: the source, the sinks, the fence, the topics."""
