"""extend, mul_monomial, diag_sums, to_sparse, mod_raise: types, meanings on slots, refusals."""

import numpy as np
import pytest

from latticework.errors import IrError, LevelError, ScaleError
from latticework.ir import Block, Builder, Module, interpret, parse_module, print_module, verify
from latticework.ir.dialects import ckks_dialect, loop_dialect, rlwe_dialect
from latticework.ir.dialects.key_dialect import DEMAND
from latticework.ir.dialects.rlwe_dialect import CipherType, Level, PlainType
from latticework.values.packing.embedding import embed, raise_modulus, unembed
from latticework.values.packing.key_manifest import KeySpec, conjugation_element, galois_element

N, SLOTS, SCALE = 64, 8, 2.0**30
LOW = Level(0, 0)
C = CipherType("ckks", 1, SLOTS, Level(0, 3), SCALE)
PLAIN = PlainType(1, SLOTS, Level(0, 3), 2.0**20, "QP")
TO_SPARSE, TO_DENSE = KeySpec("to_sparse", 0, 0, 0), KeySpec("to_dense", 0, 1, 4)


def run(types, build, inputs):
    block = Block()
    arguments = [block.add_arg(t) for t in types]
    module = Module(block, [f"x{k}" for k in range(len(types))], ["y"])
    builder = Builder(block)
    value = build(builder, *arguments)
    builder.create(loop_dialect.YIELD, [value])
    verify(module)
    assert print_module(parse_module(print_module(module))) == print_module(module)
    return interpret(module, inputs)[0], value.type


def key(b, spec):
    return b.build(DEMAND, [], spec=spec)


def galois(element):
    return KeySpec("galois", element, 0, 5)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def vector(rng, slots=SLOTS):
    return rng.standard_normal(slots) + 1j * rng.standard_normal(slots)


def slots_of(coefficients):
    """The embedding by its definition."""
    n = len(coefficients) // 2
    exponents = [pow(5, j, 4 * n) for j in range(n)]
    return np.array(
        [np.polynomial.polynomial.polyval(np.exp(1j * np.pi * e / (2 * n)), coefficients) for e in exponents]
    )


@pytest.mark.parametrize("n", [1, 2, 16])
def test_embedding_evaluates_at_powers_of_five(rng, n):
    coefficients = rng.standard_normal(2 * n)
    words = coefficients[:n] + 1j * coefficients[n:]
    np.testing.assert_allclose(embed(words), slots_of(coefficients), atol=1e-12 * n)
    np.testing.assert_allclose(unembed(embed(words)), words, atol=1e-12 * n)


def test_extend_keeps_the_value(rng):
    x = vector(rng)
    got, type_ = run([C], lambda b, p: b.build(rlwe_dialect.EXTEND, [p]), [x])
    np.testing.assert_array_equal(got, x)
    assert type_ is C.replace(basis="QP")
    with pytest.raises(IrError, match="over QP already"):
        run([C.replace(basis="QP")], lambda b, p: b.build(rlwe_dialect.EXTEND, [p]), [x])


@pytest.mark.parametrize("quarters", [0, 1, 2, 3])
def test_monomials_turn_slots_by_i(rng, quarters):
    """X^(N/2) at zeta^(5^j) is i^(5^j) = i in every slot."""
    x = vector(rng)
    exponent = quarters * N // 2
    got, type_ = run([C], lambda b, p: b.build(rlwe_dialect.MUL_MONOMIAL, [p], exponent=exponent, ring_degree=N), [x])
    monomial = np.zeros(N)
    monomial[exponent % N] = 1 - 2 * (exponent >= N)
    np.testing.assert_allclose(got, x * slots_of(monomial)[:SLOTS], atol=1e-12)
    assert type_ is C


def test_monomials_without_a_meaning_or_place_are_refused(rng):
    with pytest.raises(IrError, match="no meaning on slots"):
        run([C], lambda b, p: b.build(rlwe_dialect.MUL_MONOMIAL, [p], exponent=3, ring_degree=N), [vector(rng)])
    for exponent, degree in [(2 * N, N), (-1, N), (0, SLOTS), (0, 48)]:
        with pytest.raises(IrError, match="exponents are below 2N"):
            run(
                [C],
                lambda b, p, e=exponent, d=degree: b.build(rlwe_dialect.MUL_MONOMIAL, [p], exponent=e, ring_degree=d),
                [0],
            )


def diagonal_sums(b, x, keys, plains, terms, giants, **attrs):
    digits = b.build(rlwe_dialect.HOIST, [x])
    operands = [digits, *(key(b, galois(e)) for e in keys), *plains]
    return b.create(rlwe_dialect.DIAG_SUMS, operands, {"terms": terms, "giants": giants, **attrs})


def test_diag_sums_are_sums_of_turned_copies(rng):
    x, weights = vector(rng), [vector(rng) for _ in range(4)]
    rotation, conjugation = galois_element(3, N), conjugation_element(N) * galois_element(1, N) % (2 * N)
    terms = ((0, 0), (1, 0), (2, 2), (1, 2))

    def build(b, p, *plains):
        op = diagonal_sums(b, p, [rotation, conjugation], plains, terms, 3)
        assert len(op.results) == 3
        return b.build(rlwe_dialect.ADD, [b.build(rlwe_dialect.ADD, [op.results[0], op.results[1]]), op.results[2]])

    got, type_ = run([C, *[PLAIN] * 4], build, [x, *weights])
    babies = [x, np.roll(x, -3), np.conj(np.roll(x, -1))]
    expected = sum(w * babies[baby] for w, (baby, _) in zip(weights, terms, strict=True))
    np.testing.assert_allclose(got, expected, atol=1e-12)
    assert type_ is C.replace(basis="QP", scale=SCALE * 2.0**20)


def test_diag_sums_refuse_what_does_not_fit(rng):
    cases = [
        (IrError, "babies", [PLAIN], ((2, 0),), {}),
        (IrError, "giants", [PLAIN], ((0, 1),), {}),
        (IrError, "operands for", [PLAIN], (), {}),
        (LevelError, "levels differ", [PLAIN.replace(basis="Q")], ((0, 0),), {}),
        (ScaleError, "one scale", [PLAIN, PLAIN.replace(scale=2.0**21)], ((0, 0), (1, 0)), {}),
        (ScaleError, "diag_sums", [PLAIN], ((0, 0),), {"scale": 2.0**40}),
    ]
    for error, message, plains, terms, attrs in cases:
        with pytest.raises(error, match=message):
            run(
                [C, *plains],
                lambda b, p, *w, t=terms, a=attrs: diagonal_sums(b, p, [5], w, t, 1, **a).results[0],
                [vector(rng)] * (1 + len(plains)),
            )


def raised(b, x, **attrs):
    attrs = {"level": Level(1, 4), "factor": 3, "modulus": 1 << 35, "slots": N // 2, "seed": 1, **attrs}
    return b.build(
        ckks_dialect.MOD_RAISE, [b.build(rlwe_dialect.TO_SPARSE, [x, key(b, TO_SPARSE)]), key(b, TO_DENSE)], **attrs
    )


def test_mod_raise_adds_an_integer_polynomial(rng):
    x = vector(rng) / 4
    got, type_ = run([C.replace(level=LOW)], raised, [x])
    assert type_ is C.replace(level=Level(1, 4), basis="QP", scale=3 * SCALE, slots=N // 2)
    added = unembed(got - np.tile(x, N // 2 // SLOTS)) * (SCALE / 2**35)
    coefficients = np.concatenate([added.real, added.imag])
    np.testing.assert_allclose(coefficients, np.rint(coefficients), atol=1e-9)
    assert 1 <= np.abs(coefficients).max() <= 16
    assert np.count_nonzero(np.rint(coefficients)) > N // 4  # all over the ring, not only in the operand's subring
    again, _ = run([C.replace(level=LOW)], lambda b, p: raised(b, p, seed=1), [x])
    other, _ = run([C.replace(level=LOW)], lambda b, p: raised(b, p, seed=2), [x])
    np.testing.assert_array_equal(got, again)
    assert np.abs(got - other).max() > 1


def test_a_trace_projects_what_mod_raise_added(rng):
    """The sum over rotations by multiples of the operand's slots keeps the subring only."""
    x = vector(rng) / 4
    got = raise_modulus(x, N // 2, 32.0, rng)
    trace = sum(np.roll(got, -SLOTS * k) for k in range(N // 2 // SLOTS)) / (N // 2 // SLOTS)
    np.testing.assert_allclose(trace, np.tile(trace[:SLOTS], N // 2 // SLOTS), atol=1e-9)
    assert np.abs(got[:SLOTS] - got[SLOTS : 2 * SLOTS]).max() > 1


def test_integers_of_mod_raise_are_distributed_like_33_uniform_terms(rng):
    got = unembed(raise_modulus(np.zeros((400, 4), dtype=complex), 64, 1.0, rng))
    integers = np.concatenate([got.real, got.imag]).ravel()
    assert abs(np.mean(integers)) < 0.05
    assert np.var(integers) == pytest.approx(33 / 12, rel=0.05)


def test_the_sparse_secret_is_for_two_operations_only(rng):
    x = vector(rng)
    low = C.replace(level=LOW)
    with pytest.raises(LevelError, match="only level 0 of track 0"):
        run([C], raised, [x])
    with pytest.raises(LevelError, match="to_dense"):
        run([low], lambda b, p: raised(b, p, level=Level(1, 5)), [x])
    with pytest.raises(ScaleError, match="mod_raise"):
        run([low], lambda b, p: raised(b, p, scale=SCALE), [x])
    with pytest.raises(IrError, match="factor"):
        run([low], lambda b, p: raised(b, p, factor=0), [x])
    sparse = low.replace(secret_key="sparse")
    for spec in (rlwe_dialect.NEG, rlwe_dialect.HOIST, rlwe_dialect.EXTEND, ckks_dialect.SQUARE):
        with pytest.raises(IrError, match="under the main secret"):
            run([sparse], lambda b, p, s=spec: b.build(s, [p]), [x])
    with pytest.raises(IrError, match="under the sparse secret"):
        run(
            [low],
            lambda b, p: b.build(
                ckks_dialect.MOD_RAISE, [p, key(b, TO_DENSE)], level=LOW, factor=1, modulus=3, slots=8
            ),
            [x],
        )
    with pytest.raises(IrError, match="to_sparse key"):
        run([low], lambda b, p: b.build(rlwe_dialect.TO_SPARSE, [p, key(b, galois(5))]), [x])
