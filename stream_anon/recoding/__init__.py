"""Recode whole attributes: levels, the lattice over them, and what it answers."""
