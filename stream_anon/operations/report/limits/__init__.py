"""What figures do not say: what is not promised, and what a report is not of."""
