"""Measures what operations cost on the machine at hand, as a cost table."""
