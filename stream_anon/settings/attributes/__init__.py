"""Settings of declared fields, and of the domains of quasi-identifiers."""
