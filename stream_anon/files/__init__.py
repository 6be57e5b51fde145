"""The same engine over a file or a frame: read, anonymize, write, report."""
