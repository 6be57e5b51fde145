"""Decode released records of every format for the audit, by code that no writer shares."""
