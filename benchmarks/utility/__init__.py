"""Parts of `benchmarks/utility_study.py`: which measure of a release predicts what classifiers learn from it."""
