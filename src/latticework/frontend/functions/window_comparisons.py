"""Operators of imported models that compare the elements of windows."""

from __future__ import annotations


def is_pool(operator: str) -> bool:
    """Whether an operator of a model takes the largest elements of windows."""
    return "max_pool" in operator or "MaxPool" in operator
