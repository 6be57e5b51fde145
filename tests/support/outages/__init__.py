"""Outages of three brokers under load, each healed before the next; and what must hold of what was published."""
