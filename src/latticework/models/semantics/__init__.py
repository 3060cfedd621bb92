"""Operators of models, once for all libraries: functions on arrays and secrets alike, a file a family.

They take and return what NumPy's functions do, in float64, and are written with the functions of programs, so they are
compiled as programs are. Options have PyTorch's names and meanings where PyTorch has the operator.
"""
