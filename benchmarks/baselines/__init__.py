"""Published methods to compare with: in benchmarks only, never an engine."""
