"""The same engine over a file: read, anonymize, write, report."""
