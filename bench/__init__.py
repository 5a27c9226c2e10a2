"""Benchmarks: what Fairline costs, as ratios taken in the same run. `python -m bench` runs them."""
