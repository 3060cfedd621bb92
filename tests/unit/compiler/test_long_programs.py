"""No stage recurses over the length of a program: thousands of chained operations of every kind go through each."""

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors, line, primitives_of, small_chain

import latticework as lw
from latticework.compiler.circuits.circuit_pipeline import LaneOptions, to_lanes, to_scalars
from latticework.compiler.codegen.emit_code import emit_code
from latticework.compiler.codegen.generate import PRIMITIVE_PASSES
from latticework.compiler.keys import manifest, plan_keys
from latticework.compiler.levels import decide_levels, program_depth, write_levels
from latticework.compiler.levels.depth import input_levels
from latticework.compiler.pass_order import VECTOR_PASSES
from latticework.compiler.vector_levels import to_copies
from latticework.ir import interpret, parse_module, print_module, run_passes, verify
from latticework.ir.dialects import scalar_dialect  # noqa: F401  (defines the ops)
from latticework.tensor.ops.clearing import is_clear

LONG = 2_000  # twice Python's limit of recursion
LENGTHS = [LONG, pytest.param(50_000, marks=pytest.mark.slow)]


def chained(length):
    """Sums, differences, negations, rotations, products with numbers and constants, one after the other, on one level.

    The end is a product with a number, which every stage could try to move to the beginning.
    """
    v = Vectors(2)
    x, y = v.x
    constant = v.constant(np.linspace(0.0, 1.0, SLOTS))
    kinds = (
        lambda z: v.op("add", z, y), lambda z: v.op("sub", z, constant), lambda z: v.op("neg", z),
        lambda z: v.op("rotate", z, steps=1), lambda z: v.op("mul", z, v.splat(-1.0)), lambda z: v.op("sub", v.x[0], z),
        lambda z: v.op("add", z, v.splat(0.25)),
    )  # fmt: skip
    for step in range(length):
        x = kinds[step % len(kinds)](x)
    return v.done(v.op("mul", x, v.splat(0.5)))


def summed(length):
    """A map, and constants added to it one after the other: a number at the end belongs into all of them."""
    v = Vectors(1)
    z = v.matrix(v.x[0], np.eye(SLOTS))
    for _ in range(length):
        z = v.op("add", z, v.constant(np.full(SLOTS, 0.001)))
    return v.done(v.op("mul", z, v.splat(0.5)))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("program", [chained, summed])
def test_stages_of_vectors(program, length):
    module = program(length)
    verify(module)
    data = [np.linspace(-0.5, 0.5, SLOTS)] * len(module.inputs)
    (exact,) = interpret(module, data)
    assert print_module(parse_module(print_module(module), sources=module.sources)) == print_module(module)
    made = to_copies(run_passes(module.clone(), VECTOR_PASSES))
    np.testing.assert_allclose(interpret(made, data)[0], exact, rtol=1e-9)
    assert program_depth(made) <= 1 and len(input_levels(made)) == len(module.inputs)
    assert not is_clear(made.body.terminator.operands[0], line(), {})
    chain = small_chain(1)
    primitives = run_passes(primitives_of(write_levels(decide_levels(made), chain), chain), PRIMITIVE_PASSES)
    keys = plan_keys(primitives, chain)
    code = emit_code(primitives, chain, keys)
    assert sum(len(block.code) for block in code.blocks) > length / 2
    assert manifest(code, chain)


@pytest.mark.parametrize("length", LENGTHS)
def test_stages_of_circuits(length):
    @lw.circuit
    def chain(x: lw.vector(3)):
        total = x[0]
        for step in range(length):
            total = (total + x[1], total - x[2], -total, total * 3, total + 1)[step % 5]
        return total

    scalars = to_scalars(chain, (), exact=True)
    assert scalars.graph.depth() >= 1
    vectors = to_lanes(scalars, 1024, LaneOptions("scalar", "normal", 0, ()), exact=True)
    assert vectors.circuit is not None


@pytest.mark.parametrize("length", [400, pytest.param(10_000, marks=pytest.mark.slow)])
def test_additions_before_a_product_compile(length):
    @lw.program
    def chain(x: lw.Secret[4]):
        y = x
        for _ in range(length):
            y = y + x
        return y * 0.01

    x = np.linspace(-1.0, 1.0, 4)
    (got,) = lw.compile(chain, example=x, ring_degree=2048, insecure=True).simulate(x)
    np.testing.assert_allclose(got, (length + 1) * 0.01 * x, rtol=1e-12)


def test_arguments_of_functions_that_clients_check():
    @lw.program
    def deep(x: lw.Secret[2]):
        total = x
        for _ in range(LONG):
            total = total + x
        return np.tanh(total / (LONG + 1))

    data = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    options = {"insecure": True, "ring_degree": 2048, "bootstrap": "never"}
    model = lw.compile(deep, calibrate=data, precision_bits=6, **options)
    (found,) = model.simulate(data[0])
    assert np.allclose(found, np.tanh(data[0]), atol=0.02)
