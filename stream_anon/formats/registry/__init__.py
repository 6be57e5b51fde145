"""Records that name their schema in a registry: framing, reading, writing, and what was learned of schemas."""
