"""What else runs the service or the engine: several workers as one, a Faust app, Spark, Bytewax.

docs/guides/integrations.md and docs/guides/faust.md say what holds in each.
"""
