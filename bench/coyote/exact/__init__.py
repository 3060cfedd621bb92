"""Exact models of small circuits: by constraint programming (OR-tools' CP-SAT), with proved bounds."""
