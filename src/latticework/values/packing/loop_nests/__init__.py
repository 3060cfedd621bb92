"""Loop nests between packed tensors, and the linear maps and slot vectors that they stand for."""
