"""JSON: bytes to coded batches, releases to bytes."""
