"""Attacks on a release by somebody who knows people: how often each succeeds, beside people who are not in it."""
