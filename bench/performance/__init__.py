"""Processor time of twenty fixed cases over commits: `python -m bench.performance`."""
