"""Figures of a period, added up in bounded memory."""
