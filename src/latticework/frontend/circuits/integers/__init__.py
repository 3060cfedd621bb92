"""Whole numbers of circuits beyond + - *: comparisons, remainders, bits, tables, exactly modulo t."""
