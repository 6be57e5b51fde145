"""The gate of classes that counterfeits complete: what is counted beyond what is counted of any class."""
