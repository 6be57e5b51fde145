"""Random faults on real workers and a real Kafka, and what must hold of all that was published meanwhile."""
