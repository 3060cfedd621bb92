"""Codes of the instructions of vector programs, as `_core.lanes` has them."""

V_INPUT, V_ROTATE, V_ADD, V_SUB, V_MUL, V_NEG, V_ADD_CONSTANT, V_MUL_CONSTANT = range(8)
ONE = -2  # in a table of constants: the number 1
