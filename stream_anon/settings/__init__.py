"""The settings: their model, the policy that they describe, and what is generated from them."""
