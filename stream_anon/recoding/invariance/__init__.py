"""m-invariance: groups of several releases, so that whoever returns is always among the same values."""
