"""Circuits of single numbers: rewriting them, and the vector code that computes many of their operations at once.

Source of the idea: Coyote (ASPLOS'23).
"""
