"""Audit files and topics."""
