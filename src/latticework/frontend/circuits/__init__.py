"""Circuits of numbers as users write them, approximate or of exact integers."""
