"""One room for each outside system; rooms do not know each other."""
