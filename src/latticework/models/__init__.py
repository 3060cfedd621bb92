"""Trained models as programs: what PyTorch, ONNX files and fitted scikit-learn estimators hold.

Each importer makes a `ModelGraph` of what the model computes; `ImportedProgram` evaluates it, on arrays and on secrets
alike, by the meanings of its operators.
"""
