"""Tensor programs of the Rotom paper: what the layouts that were chosen cost, beside published and measured counts."""
