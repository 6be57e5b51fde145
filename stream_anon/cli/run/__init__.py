"""Commands that run the service, or change what it does."""
