"""k-anonymity where the data flows: Kafka in, k-anonymous Kafka out."""
