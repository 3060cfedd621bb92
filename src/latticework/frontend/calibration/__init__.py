"""Calibration: sample data, and the ranges that values take on them."""
