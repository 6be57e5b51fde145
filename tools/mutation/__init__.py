"""Try the tests: change one thing in the code that protects people, and see whether a test notices."""
