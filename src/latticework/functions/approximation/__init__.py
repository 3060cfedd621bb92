"""Polynomial approximation of functions on an interval."""
