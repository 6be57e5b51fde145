"""What is stated of a release: the section `release`."""
