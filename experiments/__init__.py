"""Studies, benchmarks, probes and picture sheets behind the docs; not in the wheel. ``python -m experiments`` lists them."""
