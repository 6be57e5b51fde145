"""`stream-anon report`: the evidence over a period, for those who answer for a release."""
