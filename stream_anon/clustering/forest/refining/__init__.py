"""REFINE and PEEL: classes give each other rows."""
