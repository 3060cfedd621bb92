"""The bfv dialect: what its ops take, and meanings kept from vectors to primitives."""

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors, primitives_of

from latticework.compiler.levels import decide_levels_bfv, write_levels
from latticework.compiler.passes import cse, dce
from latticework.errors import IrError, LevelError, ShapeError
from latticework.ir import Builder, Module, interpret, parse_module, print_module, run_passes, verify
from latticework.ir.dialects.key_dialect import KeyType
from latticework.ir.dialects.rlwe_dialect import CipherType, Level, PlainType
from latticework.ir.dialects.rlwe_types import AddendType
from latticework.plan.parameters.bfv_chain import chain_for_depth, plain_prime
from latticework.values.packing.key_manifest import KeySpec
from latticework.values.packing.packed_constants import splat

TOP = Level(0, 1)
CIPHER = CipherType("bfv", 1, SLOTS, TOP, 1.0)
CHAIN = chain_for_depth(2, 2048, plain_prime(2048, 20, None), insecure=True)


def build(name, *types, **attrs):
    module = Module()
    operands = [module.body.add_arg(kind) for kind in types]
    return Builder(module.body).build(name, operands, **attrs).type


def test_types_of_results():
    assert build("bfv.mul", CIPHER, CIPHER) == CIPHER.replace(degree=2)
    assert build("bfv.square", CIPHER) == CIPHER.replace(degree=2)
    relin = KeyType(KeySpec("relin", 0, 0, 1))
    assert build("bfv.mul_relinearize", CIPHER, CIPHER, relin) == CIPHER
    assert build("bfv.dot", CIPHER.replace(count=4), CIPHER, groups=2) == CIPHER.replace(degree=2, count=2)
    assert build("bfv.encode", value=splat(3.0, SLOTS), level=TOP) == AddendType(1, SLOTS, TOP)
    assert build("bfv.trivial", AddendType(1, SLOTS, TOP)) == CIPHER
    assert build("bfv.add_plain", CIPHER.replace(degree=2), AddendType(1, SLOTS, TOP)) == CIPHER.replace(degree=2)


@pytest.mark.parametrize(
    ("name", "types", "error"),
    [
        ("bfv.mul", (CIPHER, CIPHER.replace(level=Level(0, 0))), LevelError),
        ("bfv.mul", (CIPHER, CIPHER.replace(slots=2 * SLOTS)), ShapeError),
        ("bfv.mul", (CIPHER, CIPHER.replace(degree=2)), IrError),
        ("bfv.mul", (CIPHER.replace(scheme="ckks"), CIPHER), IrError),
        ("bfv.add_plain", (CIPHER, PlainType(1, SLOTS, TOP, 1.0)), IrError),
        ("bfv.add_plain", (CIPHER, AddendType(1, SLOTS, Level(0, 0))), LevelError),
        ("rlwe.add_plain", (CIPHER, AddendType(1, SLOTS, TOP)), IrError),
        ("bfv.mul_relinearize", (CIPHER, CIPHER, KeyType(KeySpec("galois", 5, 0, 1))), IrError),
        ("ckks.mul", (CIPHER, CIPHER), IrError),
    ],
)
def test_what_ops_do_not_take(name, types, error):
    with pytest.raises(error):
        build(name, *types)


def program():
    v = Vectors(2)
    x, y = v.x
    weights = v.constant(np.arange(SLOTS) - 3.0)
    product = v.op("mul", x, v.op("sub", weights, y))
    total = v.op("add", product, v.op("mul", x, x))
    turned = v.op("add", v.op("rotate", total, steps=2), v.op("rotate", total, steps=-1))
    return v.done(
        v.matrix(v.op("mul", turned, weights), np.eye(SLOTS, k=2)), v.op("trivial", v.splat(7)), v.op("neg", y)
    )


def test_meanings_are_kept_down_to_primitives():
    module = program()
    inputs = [np.arange(SLOTS) - 5.0, 9.0 - np.arange(SLOTS)]
    wanted = interpret(module, inputs)
    managed = write_levels(decide_levels_bfv(module), CHAIN)
    expanded = run_passes(primitives_of(managed, CHAIN), (cse.PASS, dce.PASS))
    for stage in (managed, expanded):
        verify(stage)
        for have, want in zip(interpret(stage, inputs), wanted, strict=True):
            np.testing.assert_allclose(have, want, atol=1e-9)
        again = parse_module(print_module(stage), sources=stage.sources)
        assert print_module(again) == print_module(stage)


def test_everything_stays_at_the_top_at_scale_1():
    for op in write_levels(decide_levels_bfv(program()), CHAIN).walk():
        for value in op.results:
            assert value.type.level == Level(0, CHAIN.main.top) and value.type.scale == 1.0
