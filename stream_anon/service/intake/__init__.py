"""Read the input: poll, check that nothing is missing, decode, and hand rows to the engine."""
