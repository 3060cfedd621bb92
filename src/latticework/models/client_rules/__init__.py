"""Operators that the owner of the data can compute, a table a library: cheap there, or impossible encrypted."""
