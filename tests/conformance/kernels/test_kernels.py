"""Transforms, pointwise kernels, automorphisms, import and export: exact against integer definitions."""

import ast
import itertools
import runpy
from pathlib import Path

import numpy as np
import pytest
import ring_oracles as oracle
from backends_here import BACKENDS, with_sizes
from ring_oracles import NUM_LIMBS

from latticework import _core

LIMBS = list(range(NUM_LIMBS))
HERE = Path(__file__).resolve().parent


def test_every_kernel_of_the_seam_has_a_case():
    """Some file of the suite calls it, of a ring under test or of `ref`."""
    listed = runpy.run_path(str(HERE.parents[2] / "tools" / "write_kernel_stub.py"))["kernels"]()
    trees = [ast.parse(path.read_text()) for path in HERE.glob("test_*.py")]
    called = {
        node.attr
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("ring", "ref")
    }
    assert set(listed) - called == set()


def test_ring_states_what_it_is(backend):
    primes = oracle.PRIME_SETS["narrow"]
    ring = _core.Ring(64, primes, backend=backend, threads=1)
    assert (ring.degree, ring.primes, ring.backend) == (64, primes, backend)


def test_cpu_is_one_of_its_variants_and_needs_one():
    variants = _core.backend_variants("cpu")
    assert [name for name, _ in variants] == ["cpu-avx512", "cpu-avx2", "cpu-neon"]
    assert ("cpu" in _core.backend_names()) == any(is_here for _, is_here in variants)
    for name, is_here in variants:
        if not is_here:
            with pytest.raises(ValueError, match=f"{name}.* needs .* which this machine lacks"):
                _core.Ring(64, oracle.PRIME_SETS["narrow"], backend=name)


def test_auto_is_the_fastest_backend_that_takes_the_primes():
    names = _core.backend_names()
    assert _core.Ring(64, oracle.PRIME_SETS["narrow"], threads=1).backend == names[0]
    assert _core.Ring(64, oracle.PRIME_SETS["wide"], threads=1).backend == "ref"


@pytest.mark.skipif("cpu" not in _core.backend_names(), reason="cpu does not run here")
def test_cpu_refuses_primes_of_more_than_50_bits():
    too_wide = oracle.find_prime(2**50, 32)
    with pytest.raises(ValueError, match=rf"below 2\^50, and modulus {too_wide} is not.*ref"):
        _core.Ring(16, [97, too_wide], backend="cpu")


@pytest.mark.parametrize(
    ("degree", "primes", "fault"),
    [
        (24, [97], "power of two"),
        (8, [97], "power of two"),
        (2**18, [97], "power of two"),
        (16, [], "primes"),
        (16, [67], "not 1 modulo"),
        (16, [33], "not prime"),
        (16, [97, 97], "more than once"),
        (16, [2**60 + 33], "2\\^60"),
    ],
)
def test_bad_rings_are_refused(backend, degree, primes, fault):
    with pytest.raises(ValueError, match=fault):
        _core.Ring(degree, primes, backend=backend)


def test_unknown_backend_is_refused():
    with pytest.raises(ValueError, match=r"abacus.*choose one of"):
        _core.Ring(16, [97], backend="abacus")


def test_ntt_is_evaluation_at_odd_powers_of_the_smallest_root(ring, rng):
    roots = [oracle.smallest_root(q, 2 * ring.degree) for q in ring.primes]
    exponents = oracle.exponents(ring.degree)
    positions = rng.choice(ring.degree, 8, replace=False)
    for name, x in oracle.residue_patterns(ring.primes, ring.degree, rng).items():
        values = ring.ntt(x, LIMBS)
        for limb, q in enumerate(ring.primes):
            points = [pow(roots[limb], exponents[j], q) for j in positions]
            expected = [oracle.evaluate(x[0, limb].tolist(), point, q) for point in points]
            assert values[0, limb, positions].tolist() == expected, (name, q)


def test_intt_undoes_ntt(ring, rng):
    for name, x in oracle.residue_patterns(ring.primes, ring.degree, rng).items():
        np.testing.assert_array_equal(ring.intt(ring.ntt(x, LIMBS), LIMBS), x, err_msg=name)
        np.testing.assert_array_equal(ring.ntt(ring.intt(x, LIMBS), LIMBS), x, err_msg=name)


# The longest is more than what stays in the nearest cache of a host.
@pytest.mark.parametrize(("backend", "degree"), with_sizes(BACKENDS, [*oracle.DEGREES, 2**13], 64, most_quick=1024))
def test_results_over_the_operand_are_those_elsewhere(backend, rng, degree):
    ring = _core.Ring(degree, oracle.find_primes(oracle.STARTS["narrow"], degree), backend=backend, threads=1)
    x = np.concatenate([*oracle.residue_patterns(ring.primes, degree, rng).values()])
    np.testing.assert_array_equal(ring.copy(x, LIMBS), x)
    for kernel in (ring.ntt, ring.intt, ring.copy, ring.neg):
        np.testing.assert_array_equal(kernel(x, LIMBS, in_place=True), kernel(x, LIMBS), err_msg=kernel.__name__)


def test_zeros_and_monomials(ring):
    n, primes = ring.degree, oracle.column(ring.primes)
    assert ring.zero(LIMBS, 2).shape == (2, NUM_LIMBS, n) and not ring.zero(LIMBS, 2).any()
    for exponent in (0, 1, n // 2, n - 1, n, n + 3, 2 * n - 1):
        expected = np.zeros((1, NUM_LIMBS, n), dtype=object)
        expected[0, :, exponent % n] = 1 if exponent < n else -1
        np.testing.assert_array_equal(ring.monomial(exponent, LIMBS), expected % primes)
    with pytest.raises(ValueError, match=f"exponent {2 * n} is not below 2N"):
        ring.monomial(2 * n, LIMBS)


def test_product_in_ntt_domain_is_negacyclic_convolution(make_ring, rng):
    ring = make_ring(64)
    patterns = oracle.residue_patterns(ring.primes, ring.degree, rng)
    b = patterns["random"]
    for name, a in patterns.items():
        product = ring.intt(ring.mul(ring.ntt(a, LIMBS), ring.ntt(b, LIMBS), LIMBS), LIMBS)
        for limb, q in enumerate(ring.primes):
            expected = oracle.negacyclic_product(a[0, limb].tolist(), b[0, limb].tolist(), q)
            assert product[0, limb].tolist() == expected, (name, q)


def pointwise_cases(ring, x, y, z, scalars):
    """(kernel name, result, exact value before reduction) for operands x, y, z and one scalar per limb."""
    a, b, c = oracle.exact(x), oracle.exact(y), oracle.exact(z)
    s = oracle.column(scalars)
    return [
        ("add", ring.add(x, y, LIMBS), a + b),
        ("sub", ring.sub(x, y, LIMBS), a - b),
        ("neg", ring.neg(x, LIMBS), -a),
        ("mul", ring.mul(x, y, LIMBS), a * b),
        ("mul_add", ring.mul_add(x, y, z, LIMBS), a + b * c),
        ("mul_scalar", ring.mul_scalar(x, scalars, LIMBS), a * s),
        ("add_scalar", ring.add_scalar(x, scalars, LIMBS), a + s),
        ("sub_scale", ring.sub_scale(x, y, scalars, LIMBS), (a - b) * s),
        ("dot", ring.dot([x, y], [y, z], LIMBS), a * b + b * c),
    ]


def test_pointwise_kernels_on_every_pair_of_patterns(make_ring, rng):
    ring = make_ring(16)
    patterns = oracle.residue_patterns(ring.primes, ring.degree, rng)
    scalars = [int(rng.integers(q)) for q in ring.primes]
    for x_name, x in patterns.items():
        for y_name, y in patterns.items():
            for kernel, result, value in pointwise_cases(ring, x, y, patterns["largest"], scalars):
                expected = (value % oracle.column(ring.primes)).astype(np.uint64)
                np.testing.assert_array_equal(result, expected, err_msg=f"{kernel} {x_name} {y_name}")


def weighted(ring, terms, weights):
    """The exact sum of weights[k][half][limb] times halves of terms."""
    half = ring.degree // 2
    total = sum(
        np.concatenate(
            [oracle.exact(a)[..., :half] * oracle.column(w[0]), oracle.exact(a)[..., half:] * oracle.column(w[1])], -1
        )
        for a, w in zip(terms, weights, strict=True)
    )
    return (total % oracle.column(ring.primes)).astype(np.uint64)


@pytest.mark.parametrize("degree", [16, 32, 64, 256])
@pytest.mark.parametrize("num_terms", [1, 2, 7, 32, 33, 70])
def test_weighted_sums_of_halves(make_ring, rng, degree, num_terms):
    ring = make_ring(degree)
    patterns = list(oracle.residue_patterns(ring.primes, ring.degree, rng).values())
    terms = [np.concatenate([patterns[k % len(patterns)], patterns[(k + 1) % len(patterns)]]) for k in range(num_terms)]
    weights = [[[int(rng.choice([0, 1, q - 1, q // 2, rng.integers(q)])) for q in ring.primes] for _ in range(2)]
               for _ in terms]  # fmt: skip
    given = [w[half][j] for w in weights for j in range(len(ring.primes)) for half in range(2)]
    np.testing.assert_array_equal(ring.weighted_sum(terms, given, LIMBS), weighted(ring, terms, weights))


def test_weights_of_halves_multiply_by_the_root_of_minus_one(make_ring, rng):
    ring = make_ring(64)
    x = oracle.random_residues(ring.primes, 64, 1, rng)
    turned = ring.mul(x, ring.ntt(ring.monomial(32, LIMBS), LIMBS), LIMBS)
    roots = [pow(_core.smallest_primitive_root(q, 128), 32, q) for q in ring.primes]
    given = [w for q, root in zip(ring.primes, roots, strict=True) for w in (root, q - root)]
    np.testing.assert_array_equal(ring.weighted_sum([x], given, LIMBS), turned)


def test_products_of_two_polys(make_ring, rng):
    ring = make_ring(16)
    patterns = oracle.residue_patterns(ring.primes, ring.degree, rng)
    primes = oracle.column(ring.primes)
    last = patterns["random"]
    for x_name, x in patterns.items():
        for y_name, y in patterns.items():
            a, b = np.concatenate([x, last]), np.concatenate([y, x])
            (a0, a1), (b0, b1) = oracle.exact(a), oracle.exact(b)
            for found, exact in [
                (ring.tensor_product(a, b, LIMBS), [a0 * b0, a0 * b1 + a1 * b0, a1 * b1]),
                (ring.tensor_product(a, a, LIMBS), [a0 * a0, 2 * a0 * a1, a1 * a1]),
            ]:
                expected = (np.stack(exact) % primes).astype(np.uint64)
                np.testing.assert_array_equal(found, expected, err_msg=f"{x_name} {y_name}")


@pytest.mark.parametrize("scalar", ["zero", "one", "largest"])
def test_extreme_scalars(make_ring, rng, scalar):
    ring = make_ring(64)
    x = oracle.random_residues(ring.primes, 64, 2, rng)
    y = oracle.random_residues(ring.primes, 64, 2, rng)
    scalars = [{"zero": 0, "one": 1, "largest": q - 1}[scalar] for q in ring.primes]
    for kernel, result, value in pointwise_cases(ring, x, y, y, scalars):
        np.testing.assert_array_equal(result, (value % oracle.column(ring.primes)).astype(np.uint64), err_msg=kernel)


def test_one_poly_is_broadcast_over_many(make_ring, rng):
    ring = make_ring(64)
    one = oracle.random_residues(ring.primes, 64, 1, rng)
    many = oracle.random_residues(ring.primes, 64, 3, rng)
    repeated = np.repeat(one, 3, axis=0)
    for kernel in (ring.add, ring.sub, ring.mul):
        np.testing.assert_array_equal(kernel(one, many, LIMBS), kernel(repeated, many, LIMBS))
        np.testing.assert_array_equal(kernel(many, one, LIMBS), kernel(many, repeated, LIMBS))
    np.testing.assert_array_equal(ring.mul_add(many, one, many, LIMBS), ring.mul_add(many, repeated, many, LIMBS))
    np.testing.assert_array_equal(
        ring.dot([one, many], [many, one], LIMBS), ring.dot([many] * 2, [repeated] * 2, LIMBS)
    )


def test_dot_of_many_largest_products_does_not_overflow(make_ring):
    ring, terms = make_ring(16), 600
    x = np.array([[[q - 1] * 16 for q in ring.primes]], dtype=np.uint64)
    result = ring.dot([x] * terms, [x] * terms, LIMBS)
    assert result[0, :, 0].tolist() == [terms % q for q in ring.primes]  # (q - 1)^2 = 1


def test_rows_follow_limb_numbers(make_ring, rng):
    ring, limbs = make_ring(64), [3, 0, 4]
    primes = [ring.primes[limb] for limb in limbs]
    x = oracle.random_residues(primes, 64, 2, rng)
    np.testing.assert_array_equal(ring.ntt(x, limbs)[:, 1], ring.ntt(x[:, 1:2].copy(), [0])[:, 0])
    expected = (oracle.exact(x) ** 2 % oracle.column(primes)).astype(np.uint64)
    np.testing.assert_array_equal(ring.mul(x, x, limbs), expected)


def test_automorphism_permutes_the_ntt_like_the_coefficients(ring, rng):
    x = oracle.random_residues(ring.primes, ring.degree, 2, rng)
    values = ring.ntt(x, LIMBS)
    for g in (1, 3, 5, pow(5, 7, 2 * ring.degree), ring.degree + 1, 2 * ring.degree - 1):
        turned = ring.intt(ring.automorphism(values, g, LIMBS), LIMBS)
        for poly in range(2):
            for limb, q in enumerate(ring.primes):
                assert turned[poly, limb].tolist() == oracle.apply_automorphism(x[poly, limb].tolist(), g, q), (g, q)


def test_even_galois_element_is_refused(make_ring):
    x = np.zeros((1, 1, 16), dtype=np.uint64)
    for g in (2, 33):
        with pytest.raises(ValueError, match="odd and below 2N"):
            make_ring(16).automorphism(x, g, [0])


def test_import_signed_reduces_both_signs(ring, rng):
    values = rng.integers(-(2**62) + 1, 2**62, ring.degree)
    values[:4] = [0, -1, 2**62 - 1, -(2**62) + 1]
    expected = (values.astype(object) % oracle.column(ring.primes)).astype(np.uint64)
    np.testing.assert_array_equal(ring.import_signed(values, LIMBS)[0], expected)


def mirrored(rng, bound, count):
    """Integers of which number count - i is minus number i, as coefficients of real slots are."""
    integers = np.zeros(count, np.int64)
    half = rng.integers(-bound + 1, bound, count // 2)
    half[: min(2, count // 2)] = [-bound + 1, bound - 1][: min(2, count // 2)]
    integers[: count // 2] = half
    integers[count // 2 + 1 :] = -half[:0:-1]
    return integers


def test_transforms_of_integers_are_those_of_their_residues(ring, rng):
    """Mirrored or not, of either width, with or without zeros between them; of the largest residues too."""
    for bound, count in itertools.product((2, 2**31, 2**40, 2**62), (2, 4, ring.degree // 2, ring.degree)):
        for integers in (mirrored(rng, bound, count), rng.integers(-bound + 1, bound, count)):
            expected = ring.ntt(ring.import_integers(integers, LIMBS), LIMBS)
            np.testing.assert_array_equal(ring.ntt_integers(integers, LIMBS), expected)
    for limb, q in enumerate(ring.primes):
        largest = np.full(ring.degree, q // 2, np.int64)
        largest[ring.degree // 2] = 0
        largest[ring.degree // 2 + 1 :] *= -1
        for integers in (largest, -largest):
            expected = ring.ntt(ring.import_signed(integers, [limb]), [limb])
            np.testing.assert_array_equal(ring.ntt_integers(integers, [limb]), expected)


def at_the_border(rng, bits, count, outside):
    """Integers of `bits` bits with the sign, the least and the largest at both ends; or the next ones, which are not."""
    low, high = -(2 ** (bits - 1)) - outside, 2 ** (bits - 1) - 1 + outside
    integers = rng.integers(low, high + 1, count)
    integers[[0, -1]], integers[[1, -2]] = (high, low) if outside else (low, high), (low, high)
    return integers


@pytest.mark.parametrize("bytes_each", range(1, 8))
@pytest.mark.parametrize("outside", [0, 1], ids=["fit", "do not fit"])
def test_integers_take_the_bytes_that_they_need(ring, rng, bytes_each, outside):
    """The largest of each width, and the next ones; all, a few, mirrored."""
    for count in (4, ring.degree // 2, ring.degree):
        whole = at_the_border(rng, 8 * bytes_each, count, outside)
        half = whole.copy()
        half[count // 2], half[count // 2 + 1 :] = 0, -half[1 : count // 2][::-1]
        for integers in (whole, half):
            spread = np.zeros(ring.degree, np.int64)
            spread[:: ring.degree // count] = integers
            expected = ring.import_signed(spread, LIMBS)
            np.testing.assert_array_equal(ring.import_integers(integers, LIMBS), expected)
            np.testing.assert_array_equal(ring.ntt_integers(integers, LIMBS), ring.ntt(expected, LIMBS))


@pytest.mark.parametrize("bound", [2**31, 2**62])
def test_mirrored_integers_on_the_device_are_whole_again(ring, rng, bound):
    """One that is not counts among others."""
    for count in (2, 4, ring.degree // 2, ring.degree):
        integers = mirrored(rng, bound, count)
        for place, more in ((0, 0), (0, 1), (count // 2, 1), (count - 1, 1)):
            changed = integers.copy()
            changed[place] = more or changed[place]
            spread = np.zeros(ring.degree, np.int64)
            spread[:: ring.degree // count] = changed
            expected = (spread.astype(object) % oracle.column(ring.primes)).astype(np.uint64)
            np.testing.assert_array_equal(ring.import_integers(changed, LIMBS)[0], expected)


@pytest.mark.parametrize("bound", [2**31, 2**62])
def test_integers_on_the_device_are_reduced_in_either_width(ring, rng, bound):
    """So many of them are at the multiples of N / count."""
    for count in (1, 2, ring.degree // 2, ring.degree):
        integers = rng.integers(-bound + 1, bound, count)
        integers[: min(4, count)] = [-bound + 1, bound - 1, 0, -1][: min(4, count)]
        spread = np.zeros(ring.degree, np.int64)
        spread[:: ring.degree // count] = integers
        expected = (spread.astype(object) % oracle.column(ring.primes)).astype(np.uint64)
        np.testing.assert_array_equal(ring.import_integers(integers, LIMBS)[0], expected)


def test_as_many_integers_as_no_polynomial_has_are_refused(make_ring):
    for count in (0, 3, 32):
        with pytest.raises(ValueError, match="power of two of them up to that"):
            make_ring(16).import_integers(np.zeros(count, np.int64), [0])


def pack(x, widths):
    """Rows of little endian bit strings, one after the other."""
    rows = []
    for poly in x:
        for row, width in zip(poly, widths, strict=True):
            number = sum(int(value) << (i * width) for i, value in enumerate(row))
            rows.append(number.to_bytes(len(row) * width // 8, "little"))
    return b"".join(rows)


@pytest.mark.parametrize("extra_bits", [0, 1, 4])
def test_packed_rows_are_bit_strings(ring, rng, extra_bits):
    widths = [q.bit_length() + extra_bits for q in ring.primes]
    x = oracle.random_residues(ring.primes, ring.degree, 2, rng)
    data = pack(x, widths)
    assert ring.export_residues(x, widths, LIMBS) == data
    np.testing.assert_array_equal(ring.import_residues(data, widths, LIMBS, 2), x)


def test_import_refuses_a_residue_that_is_not_reduced(make_ring):
    ring = make_ring(16)
    for limb, q in enumerate(ring.primes):
        for place in (0, 9, 15):
            x = np.zeros((1, 1, 16), dtype=np.uint64)
            x[0, 0, place] = q
            with pytest.raises(ValueError, match="not below the prime"):
                ring.neg(x, [limb])


def test_wrong_shapes_are_refused(make_ring):
    ring = make_ring(16)
    x = np.zeros((2, 2, 16), dtype=np.uint64)
    for array, limbs in ((x, [0]), (np.zeros((2, 2, 64), dtype=np.uint64), [0, 1]), (x, [0, 5])):
        with pytest.raises(ValueError, match=r"shape|does not exist"):
            ring.ntt(array, limbs)
    with pytest.raises(ValueError, match="polys"):
        ring.add(x, np.zeros((3, 2, 16), dtype=np.uint64), [0, 1])


def test_memory_is_accounted_and_returned(make_ring):
    ring = make_ring(64)
    assert ring.live_bytes == 0
    ring.neg(np.zeros((2, 5, 64), dtype=np.uint64), LIMBS)
    assert ring.live_bytes == 0
    assert ring.peak_bytes >= 2 * (2 * 5 * 64 * 8)
