"""Irregular circuits: the Coyote paper's tables, compiled, run encrypted, and compared with scalar code."""
