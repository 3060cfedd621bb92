"""rlwe, ckks, key: level, scale and degree of results, meanings on slots, refusals with numbers."""

import numpy as np
import pytest
from op_cases import run

from latticework.errors import IrError, LevelError, ScaleError, ShapeError
from latticework.ir import Block, Builder
from latticework.ir.dialects import ckks_dialect, key_dialect, rlwe_dialect
from latticework.ir.dialects.key_dialect import KeyType
from latticework.ir.dialects.rlwe_dialect import CipherType, DigitsType, Level, PlainType
from latticework.values.packing.key_manifest import KeySpec, conjugation_element, galois_action, galois_element
from latticework.values.packing.pack import PackDim, PackMap
from latticework.values.packing.packed_constants import (
    Access,
    ConstRef,
    Diagonal,
    IntervalPolynomial,
    LinearMap,
    LoopNest,
)

N, SLOTS = 64, 8
SCALE = 2.0**30
C = CipherType("ckks", 1, SLOTS, Level(0, 3), SCALE)
P = PlainType(1, SLOTS, Level(0, 3), SCALE)
RELIN = KeySpec("relin", 0, 0, 5)


def galois(steps, level=5):
    return KeySpec("galois", galois_element(steps, N), 0, level)


def vector(rng):
    return rng.standard_normal(SLOTS) + 1j * rng.standard_normal(SLOTS)


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.mark.parametrize(
    ("spec", "other", "function"),
    [
        (rlwe_dialect.ADD, C, np.add),
        (rlwe_dialect.SUB, C, np.subtract),
        (rlwe_dialect.ADD_PLAIN, P, np.add),
        (rlwe_dialect.SUB_PLAIN, P, np.subtract),
    ],
)
def test_sums(spec, other, function, rng):
    x, y = vector(rng), vector(rng)
    got, type_ = run([C, other], lambda b, p, q: b.build(spec, [p, q]), [x, y])
    np.testing.assert_array_equal(got, function(x, y))
    assert type_ is C


def test_degree_and_scale_of_a_sum(rng):
    x = vector(rng)
    near = SCALE * (1 + 2.0**-25)
    types = [C.replace(degree=2), C.replace(scale=near)]
    assert run(types, lambda b, p, q: b.build(rlwe_dialect.ADD, [p, q]), [x, x])[1] is C.replace(degree=2)
    assert run(types, lambda b, p, q: b.build(rlwe_dialect.ADD, [q, p], scale=SCALE), [x, x])[1] is C.replace(degree=2)


def test_products(rng):
    x, y = vector(rng), vector(rng)
    got, type_ = run([C, P], lambda b, p, q: b.build(rlwe_dialect.MUL_PLAIN, [p, q]), [x, y])
    np.testing.assert_array_equal(got, x * y)
    assert type_ is C.replace(scale=SCALE**2)
    got, type_ = run([C, C], lambda b, p, q: b.build(ckks_dialect.MUL, [p, q]), [x, y])
    np.testing.assert_array_equal(got, x * y)
    assert type_ is C.replace(scale=SCALE**2, degree=2)
    got, type_ = run([C], lambda b, p: b.build(ckks_dialect.SQUARE, [p]), [x])
    np.testing.assert_array_equal(got, x * x)
    assert type_ is C.replace(scale=SCALE**2, degree=2)
    np.testing.assert_array_equal(run([C], lambda b, p: b.build(rlwe_dialect.NEG, [p]), [x])[0], -x)


def test_integers_act_on_coefficients(rng):
    """The value is coefficients over scale: k times the coefficients at scale s * k is the same value."""
    x = vector(rng)
    got, type_ = run([C], lambda b, p: b.build(rlwe_dialect.MUL_INT, [p], factor=3, scale=3 * SCALE), [x])
    np.testing.assert_allclose(got, x, rtol=1e-15)
    assert type_.scale == 3 * SCALE
    got, _ = run([C], lambda b, p: b.build(rlwe_dialect.MUL_INT, [p], factor=-5, scale=SCALE), [x])
    np.testing.assert_allclose(got, -5 * x, rtol=1e-15)
    got, type_ = run([C], lambda b, p: b.build(rlwe_dialect.ADD_INT, [p], addend=round(1.25 * SCALE)), [x])
    np.testing.assert_allclose(got, x + 1.25, rtol=1e-15)
    assert type_ is C


def test_levels_go_down_and_the_value_stays(rng):
    x = vector(rng)
    cases = [
        (lambda b, p: b.build(rlwe_dialect.RESCALE, [p], scale=2.0**20), C.replace(level=Level(0, 2), scale=2.0**20)),
        (lambda b, p: b.build(rlwe_dialect.DROP_LEVEL, [p], level=Level(0, 0)), C.replace(level=Level(0, 0))),
        (
            lambda b, p: b.build(rlwe_dialect.MOD_DOWN, [p], level=Level(0, 1), scale=2.0**10),
            C.replace(level=Level(0, 1), scale=2.0**10),
        ),
    ]
    for build, expected in cases:
        got, type_ = run([C], build, [x])
        np.testing.assert_array_equal(got, x)
        assert type_ is expected


def test_relabel(rng):
    x = vector(rng)
    got, type_ = run([C], lambda b, p: b.build(rlwe_dialect.RELABEL, [p], scale=SCALE / 4), [x])
    np.testing.assert_array_equal(got, 4 * x)
    assert type_ is C.replace(scale=SCALE / 4)
    got, type_ = run([C], lambda b, p: b.build(rlwe_dialect.RELABEL, [p], scale=SCALE, slots=16), [x])
    np.testing.assert_array_equal(got, np.tile(x, 2))
    assert type_ is C.replace(slots=16)
    got, _ = run([C], lambda b, p: b.build(rlwe_dialect.RELABEL, [p], scale=SCALE, slots=4), [x])
    np.testing.assert_array_equal(got, x[:4])


def test_encode_and_trivial(rng):
    weights = rng.standard_normal(SLOTS)
    pack = PackMap((SLOTS,), SLOTS, (PackDim(0, SLOTS),))
    access = Access((SLOTS,), ((1,),), (0,))

    def build(builder, digest):
        value = ConstRef(LoopNest((SLOTS,), pack, access, digest, access), factor=2.0)
        return builder.build(rlwe_dialect.ENCODE, value=value, level=Level(0, 3), scale=SCALE, basis="QP")

    got, type_ = run([], build, [], [weights])
    np.testing.assert_array_equal(got, 2 * weights)
    assert type_ is P.replace(basis="QP") and not type_.secret
    splat = {"value": 0.5, "slots": SLOTS, "level": Level(0, 3), "scale": SCALE}
    got, type_ = run([], lambda b: b.build(rlwe_dialect.TRIVIAL, [b.build(rlwe_dialect.ENCODE, **splat)]), [])
    np.testing.assert_array_equal(got, [0.5] * SLOTS)
    assert type_ is C


@pytest.mark.parametrize("steps", [1, -1, 3, 8, 21])
def test_fused_and_expanded_rotation_agree(steps, rng):
    x = vector(rng)

    def fused(builder, p):
        return builder.build(
            rlwe_dialect.ROTATE, [p, builder.build(key_dialect.DEMAND, spec=galois(steps))], steps=steps
        )

    def expanded(builder, p):
        demanded = builder.build(key_dialect.DEMAND, spec=galois(steps))
        product = builder.build(rlwe_dialect.KEY_PRODUCT, [builder.build(rlwe_dialect.HOIST, [p]), demanded])
        assert product.type is C.replace(basis="QP")
        return builder.build(rlwe_dialect.MOD_DOWN, [product], level=Level(0, 3), scale=SCALE)

    for build in (fused, expanded, lambda b, p: b.build(rlwe_dialect.ROTATE, [p], steps=steps)):
        got, type_ = run([C], build, [x])
        np.testing.assert_array_equal(got, [x[(j + steps) % SLOTS] for j in range(SLOTS)])
        assert type_ is C


def test_conjugation(rng):
    x = vector(rng)
    spec = KeySpec("galois", conjugation_element(N), 0, 3)
    for operands in ([], [spec]):
        got, type_ = run(
            [C],
            lambda b, p, o=operands: b.build(
                rlwe_dialect.CONJUGATE, [p, *(b.build(key_dialect.DEMAND, spec=s) for s in o)]
            ),
            [x],
        )
        np.testing.assert_array_equal(got, x.conjugate())
        assert type_ is C


def test_relinearize(rng):
    x = vector(rng)
    square = C.replace(degree=2)

    def expanded(builder, p):
        digits = builder.build(rlwe_dialect.HOIST, [p])
        assert digits.type is DigitsType(square) and digits.is_secret
        return builder.build(rlwe_dialect.KEY_PRODUCT, [digits, builder.build(key_dialect.DEMAND, spec=RELIN)])

    got, type_ = run([square], expanded, [x])
    np.testing.assert_array_equal(got, x)
    assert type_ is C.replace(basis="QP")
    assert run([square], lambda b, p: b.build(rlwe_dialect.RELINEARIZE, [p]), [x])[1] is C
    low = Level(C.level.track, C.level.index - 1)
    got, type_ = run([square], lambda b, p: b.build(rlwe_dialect.RELINEARIZE, [p], level=low, scale=2.0**30), [x])
    np.testing.assert_array_equal(got, x)
    assert type_ is C.replace(level=low, scale=2.0**30)
    for attrs, error in [
        ({"level": C.level, "scale": 1.0}, LevelError),
        ({"level": low}, IrError),
        ({"scale": 1.0}, IrError),
    ]:
        with pytest.raises(error):
            run([square], lambda b, p, attrs=attrs: b.build(rlwe_dialect.RELINEARIZE, [p], **attrs), [x])


def test_galois_elements_act_as_slots_at_powers_of_five_say():
    """Slot j of X^i is zeta^(i * 5^j); substituting X^g must give the claimed slots."""
    zeta = np.exp(1j * np.pi / N)
    i = 3
    slot = np.array([zeta ** (i * pow(5, j, 2 * N)) for j in range(N // 2)])
    for g in range(1, 2 * N, 2):
        steps, conjugates = galois_action(g, N // 2)
        expected = np.array([zeta ** (i * g * pow(5, j, 2 * N) % (2 * N)) for j in range(N // 2)])
        np.testing.assert_allclose(np.roll(slot.conjugate() if conjugates else slot, -steps), expected, atol=1e-12)


def test_symbolic_maps(rng):
    x = vector(rng)
    placed = {"level": Level(0, 1), "scale": 2.0**25}
    ones = ConstRef(
        LoopNest((SLOTS,), PackMap((SLOTS,), SLOTS, (PackDim(0, SLOTS),)), Access((SLOTS,), ((1,),), (0,)), None, None)
    )
    shift = LinearMap(SLOTS, explicit=(Diagonal(2, ones),))
    got, type_ = run([C], lambda b, p: b.build(ckks_dialect.LINEAR_TRANSFORM, [p], map=shift, **placed), [x])
    np.testing.assert_array_equal(got, np.roll(x, -2))
    assert type_ is C.replace(**placed)
    cube = IntervalPolynomial((0.0, 0.0, 0.0, 1.0), (-1.0, 1.0), "power")
    got, type_ = run([C], lambda b, p: b.build(ckks_dialect.POLYNOMIAL, [p], polynomial=cube, **placed), [x])
    np.testing.assert_allclose(got, x**3, rtol=1e-14)
    assert type_ is C.replace(**placed)


L0, OTHER = C.replace(level=Level(0, 0)), C.replace(level=Level(1, 3))
K = KeyType(galois(1))
SLOW = KeyType(galois(1, level=2))


@pytest.mark.parametrize(
    ("spec", "types", "attrs", "error", "message"),
    [
        (rlwe_dialect.ADD, [C], {}, IrError, r"rlwe.add: takes !rlwe.cipher, !rlwe.cipher; got \(!rlwe.cipher<"),
        (rlwe_dialect.ADD, [C, P], {}, IrError, "takes !rlwe.cipher, !rlwe.cipher"),
        (rlwe_dialect.ADD, [C, L0], {}, LevelError, r"levels differ \(lhs level 3 over Q, rhs level 0 over Q\)"),
        (rlwe_dialect.ADD, [C, OTHER], {}, LevelError, "rhs level 3 of track 1 over Q"),
        (rlwe_dialect.ADD, [C, C.replace(basis="QP")], {}, LevelError, "rhs level 3 over QP"),
        (rlwe_dialect.ADD, [C, C.replace(scale=2 * SCALE)], {}, ScaleError, r"2\^30\.000000 and 2\^31\.000000"),
        (rlwe_dialect.ADD, [C, C], {"scale": SCALE * 1.001}, ScaleError, "state the scale"),
        (rlwe_dialect.ADD, [C, C], {"scale": -SCALE}, ScaleError, "positive"),
        (rlwe_dialect.ADD, [C, C.replace(slots=16)], {}, ShapeError, "1 x 8 slots and 1 x 16"),
        (rlwe_dialect.ADD, [C, C.replace(secret_key="sparse")], {}, IrError, "under the main secret"),
        (rlwe_dialect.ADD_PLAIN, [C, P.replace(scale=1.0)], {}, ScaleError, "scales differ"),
        (rlwe_dialect.MUL_PLAIN, [C, P.replace(basis="QP")], {}, LevelError, "over QP"),
        (rlwe_dialect.MUL_PLAIN, [C, P], {"scale": SCALE}, ScaleError, "scales differ"),
        (rlwe_dialect.MUL_INT, [C], {"factor": 2}, IrError, "attribute scale is missing"),
        (rlwe_dialect.MUL_INT, [C], {"factor": 2.0, "scale": SCALE}, IrError, "must be a int"),
        (rlwe_dialect.ADD_INT, [C.replace(basis="QP")], {"addend": 1}, IrError, "over QP; mod_down first"),
        (rlwe_dialect.HOIST, [C.replace(basis="QP")], {}, IrError, "needs degree 1 or 2 over Q, got degree 1 over QP"),
        (rlwe_dialect.KEY_PRODUCT, [DigitsType(C), KeyType(RELIN)], {}, IrError, "needs a galois key, got a relin key"),
        (rlwe_dialect.KEY_PRODUCT, [DigitsType(C.replace(degree=2)), K], {}, IrError, "needs a relin key"),
        (rlwe_dialect.KEY_PRODUCT, [DigitsType(C), SLOW], {}, LevelError, "the key serves level 2 and below"),
        (rlwe_dialect.MOD_DOWN, [C], {"level": Level(0, 3), "scale": SCALE}, LevelError, "from level 3 to level 3"),
        (rlwe_dialect.MOD_DOWN, [C], {"level": Level(1, 2), "scale": SCALE}, LevelError, "to level 2 of track 1"),
        (rlwe_dialect.DROP_LEVEL, [C], {"level": Level(0, 4)}, LevelError, "from level 3 to level 4"),
        (rlwe_dialect.DROP_LEVEL, [C], {"level": 2}, IrError, "must be a Level"),
        (rlwe_dialect.RESCALE, [L0], {"scale": SCALE}, LevelError, "no level is left below level 0"),
        (rlwe_dialect.RELABEL, [C], {"scale": SCALE, "slots": 0}, ShapeError, "8 slots cannot be read as 0"),
        (rlwe_dialect.ROTATE, [C.replace(degree=2)], {"steps": 1}, IrError, "needs degree 1 over Q, got degree 2"),
        (rlwe_dialect.ROTATE, [C, K], {"steps": 2}, IrError, "does something else"),
        (rlwe_dialect.ROTATE, [C, K, K], {"steps": 1}, IrError, "takes"),
        (rlwe_dialect.ROTATE, [], {"steps": 1}, IrError, "takes !rlwe.cipher"),
        (rlwe_dialect.CONJUGATE, [C, K], {}, IrError, "does something else"),
        (rlwe_dialect.RELINEARIZE, [C], {}, IrError, "needs degree 2 over Q, got degree 1"),
        (rlwe_dialect.TRIVIAL, [C], {}, IrError, "takes !rlwe.plain"),
        (
            rlwe_dialect.ENCODE,
            [],
            {"value": 1, "slots": 8, "level": Level(0, 0), "scale": 1.0},
            IrError,
            "attribute value",
        ),
        (rlwe_dialect.ENCODE, [], {"value": 1.0, "level": Level(0, 0), "scale": 1.0}, IrError, "slots is missing"),
        (ckks_dialect.MUL, [C.replace(degree=3), C.replace(degree=2)], {}, IrError, "relinearize first"),
        (ckks_dialect.MUL, [C, L0], {}, LevelError, "needs one level over Q, got level 3 over Q and level 0 over Q"),
        (ckks_dialect.MUL, [C, C.replace(slots=16)], {}, ShapeError, "1 x 8 slots and 1 x 16"),
        (ckks_dialect.SQUARE, [C.replace(scheme="bfv")], {}, IrError, "needs ckks"),
        (
            ckks_dialect.LINEAR_TRANSFORM,
            [C],
            {"map": LinearMap(4), "level": Level(0, 2), "scale": 1.0},
            ShapeError,
            "4 slots",
        ),
        (
            ckks_dialect.POLYNOMIAL,
            [C.replace(degree=2)],
            {"polynomial": IntervalPolynomial((1.0,), (0.0, 1.0))},
            IrError,
            "degree 1",
        ),
        (key_dialect.DEMAND, [], {}, IrError, "attribute spec is missing"),
        (key_dialect.DEMAND, [C], {"spec": RELIN}, IrError, "takes no operands"),
    ],
)
def test_refusals(spec, types, attrs, error, message):
    block = Block()
    with pytest.raises(error, match=message):
        Builder(block).create(spec, [block.add_arg(t) for t in types], attrs)
