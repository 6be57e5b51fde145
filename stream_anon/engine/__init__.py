"""The one state machine: coded batches and time in, releases out."""
