"""Settings, wiring, the worker loop, takeover and checkpoint."""
