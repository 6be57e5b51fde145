"""Records that name their schema in a registry: framing, the registry's client, reading and writing."""
