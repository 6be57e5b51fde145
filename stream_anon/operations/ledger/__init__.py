"""Change the ledger by hand: forget what was released, or go on in another cluster."""
