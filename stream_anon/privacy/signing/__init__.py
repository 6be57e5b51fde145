"""Sign what proves a release, and tell by public keys who signed it."""
