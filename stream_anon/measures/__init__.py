"""What a table tells of people, and what a release of it lost: pure functions on columns."""
