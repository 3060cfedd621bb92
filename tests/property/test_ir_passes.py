"""cse and dce keep the bits of every output, leave nothing to do, and leave their argument alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_modules import modules

from latticework.compiler.passes import cse, dce
from latticework.ir import interpret, print_module, verify

X = np.array([0.5, -1.0, 0.0, 2.0])
Y = np.array([1.0, -0.0, 3.0, -0.5])


@pytest.mark.parametrize("step", [cse.PASS, dce.PASS], ids=lambda step: step.name)
@settings(max_examples=40, deadline=None)
@given(module=modules(notes=False), trip=st.integers(0, 3))
def test_meaning_is_kept(step, module, trip):
    before = print_module(module)
    result = step.run(module, None)
    verify(result)
    assert print_module(module) == before
    with np.errstate(all="ignore"):
        expected, got = (interpret(m, {"n": trip, "x": X, "y": Y}) for m in (module, result))
    assert [a.tobytes() for a in got] == [a.tobytes() for a in expected]
    assert print_module(step.run(result, None)) == print_module(result)
    assert sum(1 for _ in result.walk()) <= sum(1 for _ in module.walk())
