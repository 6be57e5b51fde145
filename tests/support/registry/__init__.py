"""Schema registries for tests: one in memory, and a real Apicurio."""
