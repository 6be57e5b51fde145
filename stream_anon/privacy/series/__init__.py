"""The gate of a series of releases: what is counted of it beyond what is counted of any release."""
