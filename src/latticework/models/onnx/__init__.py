"""ONNX files as programs.

`reading.py` reads a file, `tensors.py` its arrays, `attributes.py` what nodes are given, `parts.py` finds the nodes
that the outputs need, `building.py` makes a graph of them, `shapes.py` settles the shapes of inputs, `wholes.py` says
which of them may be whole numbers, `limits.py` bounds what an untrusted file makes us compute, and `operators/` says
what operators mean.
"""

from latticework.models.onnx.door import from_onnx

__all__ = ["from_onnx"]
