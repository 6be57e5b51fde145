"""Record batches as columns, without an object for each record."""
