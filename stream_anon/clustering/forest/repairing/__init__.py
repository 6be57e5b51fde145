"""REPAIR and PEEL: rows leave their class for another, until all are legal or as long as it pays."""
