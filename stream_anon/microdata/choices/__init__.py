"""What a policy chooses beside what it protects: when windows close, and what forms the classes."""
