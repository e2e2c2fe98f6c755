"""Measures dnnmove against the copy ceiling and its peers; run it as ``python -m benchmarks``."""
