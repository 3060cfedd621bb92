"""Circuits of scalar operations: their form as arrays, what becomes of them on lanes, and what is told of it.

Source of the idea: Coyote (ASPLOS'23).
"""
