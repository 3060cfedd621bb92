"""ONNX files as programs.

`read_onnx.py` reads a file, `tensors.py` its arrays, `node_attributes.py` what nodes are given, `subgraph.py` finds the
nodes that the outputs need, `building.py` makes a graph of them, `input_shapes.py` settles the shapes of inputs,
`integer_inputs.py` says which of them may be whole numbers, `size_limits.py` bounds what an untrusted file makes us
compute, and `operators/` says what operators mean.
"""

from latticework.models.onnx.import_onnx import from_onnx

__all__ = ["from_onnx"]
