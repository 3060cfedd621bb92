"""Every tensor op: shape rule, meaning and tracing agree with NumPy on random cases."""

import inspect

import numpy as np
import pytest

from latticework.compiler.passes import dce
from latticework.frontend import Secret, program, trace
from latticework.ir.builder import Builder
from latticework.ir.dialects import loop_dialect
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.ir.interpret import interpret
from latticework.ir.module import Module
from latticework.ir.verify import verify
from latticework.tensor.ops import ALL_OPS
from latticework.tensor.ops.stacked import evaluate_stacked

CASES = 40
SLOTS = 64


def cases(op):
    rng = np.random.default_rng([ord(c) for c in op.name])
    for _ in range(CASES):
        yield rng, op.random_case(rng, SLOTS)


def module_of(op, case, secret):
    """A module of that one op."""
    module = Module(input_names=[f"x{i}" for i in range(len(case.inputs))], outputs=["y"], sources=dict(case.sources))
    for array, hidden in zip(case.inputs, secret, strict=True):
        module.body.add_arg(TensorType(shape=array.shape, dtype="float64", secret=bool(hidden)))
    builder = Builder(module.body)
    result = builder.build(op.spec, module.inputs, **case.attrs)
    builder.create(loop_dialect.YIELD, [result])
    return module, result


def test_the_registry_has_no_name_twice():
    assert len({op.name for op in ALL_OPS}) == len(ALL_OPS)
    assert all(op.spec.name == f"tensor.{op.name}" for op in ALL_OPS)


@pytest.mark.parametrize("op", ALL_OPS, ids=lambda op: op.name)
def test_inferred_type_and_meaning_are_numpys(op):
    for rng, case in cases(op):
        secret = rng.random(len(case.inputs)) < 0.7
        module, result = module_of(op, case, secret)
        verify(module)
        expected = np.asarray(case.expression(*case.inputs))
        assert result.type.shape == expected.shape
        assert result.type.secret == (bool(secret.any()) or op.name == "trivial")
        np.testing.assert_allclose(interpret(module, case.inputs)[0], expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(op.reference(case.inputs, case.attrs, case.sources), expected, atol=1e-12)


@pytest.mark.parametrize("op", [op for op in ALL_OPS if op.name != "constant"], ids=lambda op: op.name)
def test_runs_at_once_have_the_bits_of_each(op):
    for rng, case in cases(op):
        _, result = module_of(op, case, [True] * len(case.inputs))
        leads = [[(), (1, 3), (2, 1), (2, 3)][rng.integers(4)] for _ in case.inputs]
        arrays = [x + 0.1 * rng.uniform(0, 1, (*lead, *x.shape)) for x, lead in zip(case.inputs, leads, strict=True)]
        found = evaluate_stacked(result.owner, arrays)
        lead = np.broadcast_shapes(*(lead for lead in leads if lead)) if any(leads) else ()
        assert found.shape == (*lead, *result.type.shape)
        for run in np.ndindex(*lead):
            each = [
                a[tuple(min(n, m - 1) for n, m in zip(run, own, strict=True))] if own else a
                for a, own in zip(arrays, leads, strict=True)
            ]
            assert np.array_equal(found[run], op.reference(each, case.attrs, case.sources), equal_nan=True)


@pytest.mark.parametrize("op", ALL_OPS, ids=lambda op: op.name)
def test_cases_fit_the_slots(op):
    for _, case in cases(op):
        for array in (*case.inputs, np.asarray(case.expression(*case.inputs))):
            assert array.size <= SLOTS


@pytest.mark.parametrize("op", [op for op in ALL_OPS if op.numpy], ids=lambda op: op.name)
def test_numpy_expressions_trace_to_the_op(op):
    for _, case in cases(op):
        names = [f"x{i}" for i in range(len(case.inputs))]

        def function(*args, case=case):
            return case.expression(*args)

        function.__signature__ = inspect.Signature(
            [
                inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Secret[array.shape])
                for name, array in zip(names, case.inputs, strict=True)
            ]
        )
        module = dce.run(trace(program(function)))
        verify(module)
        assert {node.name for node in module.walk()} <= {op.spec.name, "tensor.constant", "loop.yield"}
        expected = np.asarray(case.expression(*case.inputs))
        np.testing.assert_allclose(interpret(module, case.inputs)[0], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("op", [op for op in ALL_OPS if op.spec.name != "tensor.constant"], ids=lambda op: op.name)
def test_a_layout_attribute_is_the_layout_of_the_result(op):
    case = op.random_case(np.random.default_rng(0), SLOTS)
    module = Module()
    for array in case.inputs:
        module.body.add_arg(TensorType(shape=array.shape, dtype="float64", secret=True))
    assert Builder(module.body).build(op.spec, module.inputs, **case.attrs, layout="rows").type.layout == "rows"
