"""Tensor operations, and the layouts in which their operands lie in slots."""
