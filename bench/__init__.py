"""Benchmarks: `latticework bench SUITE`. Every suite prints the rows of `bench.rows`."""
