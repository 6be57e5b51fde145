"""The sinks."""
