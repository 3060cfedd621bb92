"""Circuits of scalar operations: their form as arrays, what becomes of them on lanes, and what is told of it."""
