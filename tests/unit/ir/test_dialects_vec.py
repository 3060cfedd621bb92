"""vec and scalar: types of results, meanings against NumPy, refusals."""

import numpy as np
import pytest
from op_cases import run

from latticework.errors import DtypeError, IrError, ShapeError
from latticework.ir import Block, Builder
from latticework.ir.dialects import scalar_dialect, vec_dialect
from latticework.values.packing.pack import PackDim, PackMap
from latticework.values.packing.packed_constants import (
    Access,
    ConstRef,
    Diagonal,
    IntervalPolynomial,
    LinearMap,
    LoopNest,
)

SLOTS = 8
REAL = vec_dialect.VecType(1, SLOTS, "real", True)
COMPLEX = vec_dialect.VecType(1, SLOTS, "complex", True)


def vector(rng, kind=REAL):
    x = rng.standard_normal(SLOTS)
    return x + 1j * rng.standard_normal(SLOTS) if kind.elem == "complex" else x


def packed(source):
    """A ConstRef to a source of SLOTS elements laid out in order."""
    pack = PackMap((SLOTS,), SLOTS, (PackDim(0, SLOTS),))
    access = Access((SLOTS,), ((1,),), (0,))
    return ConstRef(LoopNest((SLOTS,), pack, access, source, access))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize(
    ("spec", "function"), [(vec_dialect.ADD, np.add), (vec_dialect.SUB, np.subtract), (vec_dialect.MUL, np.multiply)]
)
@pytest.mark.parametrize("kinds", [(REAL, REAL), (REAL, COMPLEX), (COMPLEX, COMPLEX)])
def test_binary(spec, function, kinds, rng):
    x, y = (vector(rng, kind) for kind in kinds)
    got, type_ = run(kinds, lambda b, p, q: b.build(spec, [p, q]), [x, y])
    np.testing.assert_array_equal(got, function(x, y))
    assert type_ is (COMPLEX if COMPLEX in kinds else REAL)


@pytest.mark.parametrize("steps", [-9, -1, 0, 3, 8])
def test_unary(steps, rng):
    x = vector(rng, COMPLEX)
    got, _ = run([COMPLEX], lambda b, p: b.build(vec_dialect.ROTATE, [p], steps=steps), [x])
    np.testing.assert_array_equal(got, [x[(j + steps) % SLOTS] for j in range(SLOTS)])
    np.testing.assert_array_equal(
        run([COMPLEX], lambda b, p: b.build(vec_dialect.CONJUGATE, [p]), [x])[0], x.conjugate()
    )
    np.testing.assert_array_equal(run([COMPLEX], lambda b, p: b.build(vec_dialect.NEG, [p]), [x])[0], -x)


def test_result_is_secret_if_an_operand_is(rng):
    public = REAL.replace(secret=False)
    x = vector(rng)
    assert run([public, REAL], lambda b, p, q: b.build(vec_dialect.MUL, [p, q]), [x, x])[1] is REAL
    assert run([public, public], lambda b, p, q: b.build(vec_dialect.MUL, [p, q]), [x, x])[1] is public


def test_one_vector_meets_each_of_an_array(rng):
    many = REAL.replace(count=3)
    x, y = rng.standard_normal((3, SLOTS)), vector(rng)
    got, type_ = run([REAL, many], lambda b, p, q: b.build(vec_dialect.SUB, [p, q]), [y, x])
    np.testing.assert_array_equal(got, y - x)
    assert type_ is many


def test_constants(rng):
    weights = vector(rng)
    got, type_ = run([], lambda b, h: b.build(vec_dialect.CONSTANT, value=packed(h), slots=SLOTS), [], [weights])
    np.testing.assert_array_equal(got, weights)
    assert type_ is REAL.replace(secret=False)
    for value, elem in ((2.5, "real"), (1j, "complex")):
        got, type_ = run([], lambda b, v=value: b.build(vec_dialect.SPLAT, value=v, slots=SLOTS), [])
        np.testing.assert_array_equal(got, [value] * SLOTS)
        assert type_.elem == elem and not type_.secret


@pytest.mark.parametrize("factor", [1.0, -2.0, 0.5j])
def test_linear_transform_is_the_sum_of_its_diagonals(factor, rng):
    a, b, x = vector(rng), vector(rng), vector(rng, COMPLEX)

    def build(builder, p, first, second):
        diagonals = (Diagonal(1, packed(first)), Diagonal(-2, packed(second), conj=True))
        return builder.build(
            vec_dialect.LINEAR_TRANSFORM, [p], map=LinearMap(SLOTS, explicit=diagonals).scale_by(factor)
        )

    got, type_ = run([COMPLEX], build, [x], [a, b])
    np.testing.assert_allclose(got, factor * (a * np.roll(x, -1) + b * np.roll(x.conjugate(), 2)), rtol=1e-14)
    assert type_ is COMPLEX


def test_a_real_map_keeps_real_vectors_real(rng):
    for factor, elem in ((2.0, "real"), (2j, "complex")):
        linear_map = LinearMap(SLOTS, explicit=(Diagonal(0, packed(None)),)).scale_by(factor)
        x = vector(rng)
        got, type_ = run([REAL], lambda b, p, m=linear_map: b.build(vec_dialect.LINEAR_TRANSFORM, [p], map=m), [x])
        np.testing.assert_array_equal(got, factor * x)
        assert type_.elem == elem and np.iscomplexobj(got) == (elem == "complex")


def test_polynomial(rng):
    x = rng.uniform(-2, 2, SLOTS)
    polynomial = IntervalPolynomial((1.0, -2.0, 0.5), (-2.0, 2.0), "power")
    got, _ = run([REAL], lambda b, p: b.build(vec_dialect.POLYNOMIAL, [p], polynomial=polynomial), [x])
    np.testing.assert_allclose(got, 1 - 2 * x + 0.5 * x * x, rtol=1e-14)


@pytest.mark.parametrize(
    ("types", "spec", "attrs", "error", "message"),
    [
        ([REAL], vec_dialect.ADD, {}, IrError, "vec.add: takes 2 vectors"),
        ([REAL, REAL.replace(slots=4)], vec_dialect.MUL, {}, ShapeError, "1 x 8 slots and 1 x 4 slots"),
        ([REAL.replace(count=2), REAL.replace(count=3)], vec_dialect.ADD, {}, ShapeError, "2 x 8 slots and 3 x 8"),
        ([REAL], vec_dialect.ROTATE, {}, IrError, "attribute steps is missing"),
        ([REAL], vec_dialect.ROTATE, {"steps": True}, IrError, "steps is true"),
        ([REAL], vec_dialect.SPLAT, {"value": 1.0, "slots": 8}, IrError, "takes 0 vectors"),
        ([], vec_dialect.SPLAT, {"value": 1, "slots": 8}, IrError, "value is 1; it must be a float"),
        ([], vec_dialect.CONSTANT, {"value": packed(None), "slots": 4}, ShapeError, "slots is 4, but its value has 8"),
        ([], vec_dialect.CONSTANT, {"value": 1.0}, IrError, "must be a ConstRef"),
        (
            [REAL],
            vec_dialect.LINEAR_TRANSFORM,
            {"map": LinearMap(4)},
            ShapeError,
            "takes 1 x 4 slots, its operand has 1 x 8",
        ),
        ([REAL], vec_dialect.POLYNOMIAL, {}, IrError, "attribute polynomial is missing"),
    ],
)
def test_refusals(types, spec, attrs, error, message):
    block = Block()
    with pytest.raises(error, match=message):
        Builder(block).create(spec, [block.add_arg(t) for t in types], attrs)


def test_scalar_arithmetic():
    kind = scalar_dialect.ScalarType("float64", True)

    def build(builder, p, q):
        half = builder.build(scalar_dialect.CONSTANT, value=0.5)
        difference = builder.build(scalar_dialect.SUB, [p, builder.build(scalar_dialect.NEG, [q])])
        return builder.build(scalar_dialect.MUL, [half, builder.build(scalar_dialect.ADD, [difference, q])])

    got, type_ = run([kind, kind], build, [3.0, 4.0])
    assert got == 0.5 * (3.0 + 4.0 + 4.0) and got.shape == () and type_ is kind


def test_scalar_refusals():
    block = Block()
    x, n = (
        block.add_arg(scalar_dialect.ScalarType("float64", True)),
        block.add_arg(scalar_dialect.ScalarType("integer", True)),
    )
    builder = Builder(block)
    assert builder.build(scalar_dialect.CONSTANT, value=3).type is scalar_dialect.ScalarType("integer", False)
    with pytest.raises(DtypeError, match="float64 and integer"):
        builder.build(scalar_dialect.ADD, [x, n])
    with pytest.raises(IrError, match="takes 1 scalars"):
        builder.build(scalar_dialect.NEG, [x, x])
    with pytest.raises(IrError, match="attribute value"):
        builder.build(scalar_dialect.CONSTANT, value="1")
    with pytest.raises(DtypeError, match="float32"):
        scalar_dialect.ScalarType("float32", True)
    with pytest.raises(ShapeError, match="one number"):
        x.type.accept([1.0])
