"""Linear maps with one operand, or in one sum, become one block map: same meaning, fewer key switches."""

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors, counted, expanded, small_chain

from latticework.compiler.levels import program_depth
from latticework.compiler.passes import cse, dce, share_inputs, share_outputs
from latticework.ir import interpret, run_passes, verify
from latticework.values.packing.packed_constants import Diagonal, LinearMap, splat

RNG = np.random.default_rng(9)
BOTH = (share_outputs.PASS, cse.PASS, dce.PASS, share_inputs.PASS, cse.PASS, dce.PASS)


def matrix():
    return RNG.normal(size=(SLOTS, SLOTS)) / 4


def joined(module, *passes):
    """The module after the passes, which computes the same, also as primitives."""
    result = run_passes(module, passes)
    verify(result)
    assert program_depth(result) == program_depth(module)
    shapes = [(SLOTS,) if v.type.count == 1 else (v.type.count, SLOTS) for v in module.inputs]
    x = [RNG.uniform(-1, 1, shape) for shape in shapes]
    lowered = expanded(result, small_chain(program_depth(result)))
    for want, got, run in zip(interpret(module, x), interpret(result, x), interpret(lowered, x), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-12)
        np.testing.assert_allclose(run, want, atol=1e-5)
    return result


def switches(module):
    """Key switches of a module's primitives."""
    total = 0
    for op in expanded(module, small_chain(program_depth(module))).walk():
        if op.name == "rlwe.diag_sums":
            total += len(op.operands) - 1 - len(op.attrs["terms"])
        elif op.name == "rlwe.map_sums":
            total += len(op.attrs["sums"].products.switches())
        elif op.name in ("rlwe.key_product", "rlwe.rotate_over_p", "rlwe.rotate"):
            total += op.result.type.count
    return total


def maps_in(module):
    """(vectors in, vectors out) of every linear map."""
    maps = [op.attrs["map"] for op in module.walk() if op.name == "vec.linear_transform"]
    return [(m.count_in, m.count_out) for m in maps]


def test_queries_keys_and_values_share_their_babies():
    v = Vectors(1)
    module = v.done(*(v.matrix(v.x[0], matrix()) for _ in range(3)))
    result = joined(module, share_inputs.PASS, dce.PASS)
    assert maps_in(result) == [(1, 3)]
    assert switches(result) < switches(module)


def test_sums_of_maps_share_their_giants():
    v = Vectors(3)
    terms = [v.matrix(x, matrix()) for x in v.x]
    module = v.done(v.op("sub", v.op("add", terms[0], terms[1]), terms[2]))
    result = joined(module, share_outputs.PASS, dce.PASS)
    assert maps_in(result) == [(3, 1)] and counted(result)["vec.concat"] == 1
    assert switches(result) < switches(module)


def test_gates_of_a_recurrent_cell_are_one_map():
    v = Vectors(2)
    module = v.done(*(v.op("add", v.matrix(v.x[0], matrix()), v.matrix(v.x[1], matrix())) for _ in range(4)))
    result = joined(module, *BOTH)
    assert maps_in(result) == [(2, 4)]
    assert counted(expanded(result, small_chain(1)))["rlwe.map_sums"] == 1


def test_a_sum_of_maps_of_one_value_reads_it_once():
    v = Vectors(2)
    inner = v.op("add", v.matrix(v.x[0], matrix()), v.matrix(v.x[1], matrix()))
    module = v.done(v.op("add", inner, v.matrix(v.x[0], matrix())))
    result = joined(module, *BOTH)
    assert maps_in(result) == [(2, 1)] and not counted(result)["vec.add"]


def test_what_is_read_elsewhere_too_stays():
    v = Vectors(2)
    first = v.matrix(v.x[0], matrix())
    module = v.done(v.op("add", first, v.matrix(v.x[1], matrix())), first)
    assert maps_in(joined(module, share_outputs.PASS, dce.PASS)) == [(1, 1), (1, 1)]


def test_maps_stay_in_their_loops():
    v = Vectors(1)
    outer = v.matrix(v.x[0], matrix())
    (y,) = v.loop(lambda i, h: [v.op("add", h, v.op("rotate", v.x[0], steps=1))], [outer], 2)
    module = v.done(y, v.matrix(v.x[0], matrix()))
    assert maps_in(joined(module, *BOTH)) == [(1, 2)]


def test_a_map_that_acts_on_each_vector_of_an_array_is_no_block_map():
    v = Vectors(1, counts=(3,))
    module = v.done(v.op("add", v.matrix(v.x[0], matrix()), v.matrix(v.x[0], matrix())))
    assert maps_in(joined(module, *BOTH)) == [(1, 1), (1, 1)]


def test_maps_that_have_no_step_in_common_stay_apart():
    def few(*steps):
        return LinearMap(1024, explicit=tuple(Diagonal(s, splat(1.0, 1024)) for s in steps))

    v = Vectors(1, slots=1024)
    module = v.done(*(v.op("linear_transform", v.x[0], map=few(*steps)) for steps in ((1, 2), range(0, 1024, 32))))
    apart = [share_inputs.price(op.attrs["map"]) for op in module.walk() if op.name == "vec.linear_transform"]
    result = run_passes(module, (share_inputs.PASS, dce.PASS))
    now = [share_inputs.price(op.attrs["map"]) for op in result.walk() if op.name == "vec.linear_transform"]
    assert sum(now) <= sum(apart)


@pytest.mark.parametrize("seed", range(20))
def test_random_sums_of_maps(seed):
    rng = np.random.default_rng(seed)
    counts = tuple(int(n) for n in rng.integers(1, 4, 3))
    v = Vectors(3, counts=counts)

    def block(x, count_out):
        held = {tuple(int(n) for n in rng.integers(0, [SLOTS, count_out, x.type.count])) for _ in range(8)}
        diagonals = tuple(Diagonal(s, splat(float(rng.normal()), SLOTS), False, o, i) for s, o, i in sorted(held))
        return v.op("linear_transform", x, map=LinearMap(SLOTS, None, 1.0, diagonals, x.type.count, count_out))

    sums = []
    for _ in range(3):
        count_out = int(rng.integers(2, 4))
        total = block(v.x[int(rng.integers(3))], count_out)
        for _ in range(int(rng.integers(0, 4))):
            name = str(rng.choice(["add", "sub"]))
            total = v.op(name, total, block(v.x[int(rng.integers(3))], count_out))
        sums.append(total)
    joined(v.done(*sums), *BOTH)
