"""Pipelines of scikit-learn that begin with raw tables, as people have them."""
