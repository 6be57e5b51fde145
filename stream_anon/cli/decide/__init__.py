"""Commands for choosing a policy and preparing a run."""
