"""Analyses of a plan before it runs: each is a domain of `plan.instructions.walk`."""
