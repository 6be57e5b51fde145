"""The ledger: a compacted topic with the next offset to release of every input partition."""
