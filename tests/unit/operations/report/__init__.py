"""The evidence over a period."""
