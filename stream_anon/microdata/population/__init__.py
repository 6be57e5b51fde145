"""The population that a release is drawn from: how many people have which quasi-identifiers."""
