"""Domains: how values become codes and how intervals of codes are published."""
