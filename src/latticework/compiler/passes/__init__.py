"""Passes over any dialect: simplifications that keep the meaning of every output."""
