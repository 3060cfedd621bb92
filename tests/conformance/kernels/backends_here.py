"""The backends that the suite runs: every one by itself, `cpu` once for each instruction set."""

import pytest

from latticework import _core

VARIANTS = _core.backend_variants()  # of `cpu`, which is the first that this machine has
BACKENDS = [
    pytest.param(name, id=name, marks=[] if is_here else pytest.mark.skip(f"no instructions for {name} here"))
    for name, is_here in [*VARIANTS, *((name, True) for name in _core.backend_names() if name != "cpu")]
]
EXCEPT_REF = [backend for backend in BACKENDS if backend.id != "ref"]
