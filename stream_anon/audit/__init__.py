"""Re-check releases against their certificates, without the engine."""
