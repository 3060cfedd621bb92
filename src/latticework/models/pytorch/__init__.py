"""Modules of PyTorch as programs, by `torch.export`.

`export.py` exports and tells what PyTorch refuses in our words; `module_checks.py` refuses what would compute something
else; `read.py` makes a `ModelGraph` of an exported program, with what no input reaches computed by PyTorch
(`folding.py`) and the user's places (`node_locations.py`); `operators/` says what each overload of ATen means;
`import_pytorch.py` is `lw.from_torch`.

PyTorch is imported inside functions only: it is an optional package.
"""
