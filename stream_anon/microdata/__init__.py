"""What we talk about: attributes, hierarchies, the policy, coded batches, releases."""
