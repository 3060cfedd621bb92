"""What ONNX's operators mean: their attributes and versions, brought to the meanings that all doors share."""
