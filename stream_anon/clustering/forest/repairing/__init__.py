"""REPAIR: classes that fail a criterion are mended."""
