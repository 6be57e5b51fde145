"""Settings of the formats in which records stand in topics."""
