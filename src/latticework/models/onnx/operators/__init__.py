"""Operators of ONNX: their attributes and versions, brought to the semantics that all libraries share."""
