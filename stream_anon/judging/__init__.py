"""What a policy and records say before anything is published: counts, findings, and conditions that forbid it."""
