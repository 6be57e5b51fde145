"""Negotiate levels on a sample: what reaches k, or what would have to give way."""
