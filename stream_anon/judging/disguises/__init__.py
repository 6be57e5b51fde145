"""Identifiers that a policy declares as something else: found by a field's name and by the form of its values."""
