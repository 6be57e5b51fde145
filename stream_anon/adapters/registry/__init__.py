"""Ask a schema registry: how to reach it, its REST interface, and what it replies."""
