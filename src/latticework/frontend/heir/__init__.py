"""Programs that HEIR compiled, from the text of `heir-opt --mlir-to-ckks --scheme-to-openfhe`.

`parse.py` reads the text, generic or pretty, into operations; `evaluate_text.py` refuses what is not known, all at
once, and carries functions out, on arrays or on vectors of a module (`slot_vectors.py`); `packing.py` learns from the
client functions which slot holds which element; `heir_program.py` is what `lw.from_heir` returns.
"""

from latticework.frontend.heir.heir_program import HeirProgram, from_heir

__all__ = ["HeirProgram", "from_heir"]
