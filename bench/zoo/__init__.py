"""Trained models, most of them made by others, imported, compiled and run encrypted."""
