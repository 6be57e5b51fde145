"""What else runs the service or the engine: several workers as one, a Faust app, Spark, Bytewax.

docs/integrations.md and docs/faust.md say what holds in each.
"""
