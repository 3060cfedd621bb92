"""Fixed inputs and what the definitions make of them, in plain Python integers and decimals: the source of the answers.

`python tests/conformance/kernels/known_answers.py` prints known_answers.json anew; no kernel takes part in it.
"""

import json
from collections.abc import Iterator
from decimal import Decimal, getcontext
from math import prod

import ring_oracles as oracle
import stream_oracle

DEGREE = 64
# The first primes = 1 mod 128 from 2^19, 2^29, 2^39, 2^44 and 2^48 on.
PRIMES = [524801, 536872321, 549755817601, 17592186045953, 281474976712577]
Q, P = [0, 1, 2], [3, 4]
DIGITS = [[0, 1], [2]]
ELEMENT = 5
SEED = bytes(range(32))
SLOTS, SCALE_BITS = 8, 40
Rows = list[list[int]]  # one row of DEGREE residues for each limb


def fixed(name: int, limbs: list[int]) -> Rows:
    """Residues that look random: powers of a number, reduced."""
    start = 6364136223846793005 + 2 * name
    return [[pow(start, i + 2, 2**127 - 1) % PRIMES[limb] for i in range(DEGREE)] for limb in limbs]


def slots() -> list[tuple[int, int]]:
    """Real and imaginary parts in sixteenths."""
    return [((3 * j + 1) % 7 * 3 - 8, (5 * j + 2) % 11 - 5) for j in range(SLOTS)]


def roots(limb: int) -> list[int]:
    """psi^e for the e of every position of the transform."""
    q = PRIMES[limb]
    psi = oracle.smallest_root(q, 2 * DEGREE)
    return [pow(psi, e, q) for e in oracle.exponents(DEGREE)]


def ntt(rows: Rows, limbs: list[int]) -> Rows:
    return [
        [oracle.evaluate(row, point, PRIMES[limb]) for point in roots(limb)]
        for row, limb in zip(rows, limbs, strict=True)
    ]


def intt(rows: Rows, limbs: list[int]) -> Rows:
    """Interpolation: coefficient k is the mean of value * point^-k."""
    found = []
    for row, limb in zip(rows, limbs, strict=True):
        q, points = PRIMES[limb], roots(limb)
        inverse = pow(DEGREE, -1, q)
        found.append(
            [inverse * sum(v * pow(x, -k, q) for v, x in zip(row, points, strict=True)) % q for k in range(DEGREE)]
        )
    return found


def base_convert(rows: Rows, sources: list[int], targets: list[int]) -> Rows:
    values = [oracle.base_convert(column, [PRIMES[i] for i in sources]) for column in zip(*rows, strict=True)]
    return [[v % PRIMES[t] for v in values] for t in targets]


def turned(rows: Rows, element: int) -> Rows:
    """x(X^element), in the transform: the value at psi^e is that of x at psi^(e element)."""
    exponents = oracle.exponents(DEGREE)
    source = [exponents.index(e * element % (2 * DEGREE)) for e in exponents]
    return [[row[j] for j in source] for row in rows]


def mod_down(rows: Rows, removed: list[int], kept: list[int]) -> Rows:
    """(x - its centred remainder modulo the removed primes) divided by them; rows of `removed` first, transformed."""
    gone = ntt(base_convert(intt(rows[: len(removed)], removed), removed, kept), kept)
    product = prod(PRIMES[i] for i in removed)
    return [
        [(x - y) * pow(product, -1, PRIMES[limb]) % PRIMES[limb] for x, y in zip(row, rest, strict=True)]
        for row, rest, limb in zip(rows[len(removed) :], gone, kept, strict=True)
    ]


def key_product(x: Rows, rest: Rows, halves: list[list[Rows]]) -> list[Rows]:
    """Over P and Q: digits of x times each half of a key, P times `rest` added to the first; then turned."""
    target = [*P, *Q]
    coefficients = intt(x, Q)
    digits = [ntt(base_convert([coefficients[Q.index(i)] for i in d], d, target), target) for d in DIGITS]
    special, results = prod(PRIMES[i] for i in P), []
    for number, half in enumerate(halves):
        total = []
        for row, limb in enumerate(target):
            sums = [sum(d[row][i] * k[row][i] for d, k in zip(digits, half, strict=True)) for i in range(DEGREE)]
            if number == 0 and limb in Q:
                sums = [s + special * r for s, r in zip(sums, rest[Q.index(limb)], strict=True)]
            total.append([s % PRIMES[limb] for s in sums])
        results.append(turned(total, ELEMENT))
    return results


def key_halves() -> list[list[Rows]]:
    """The two polynomials of each digit's key."""
    return [[fixed(10 + 2 * d + half, [*P, *Q]) for d in range(len(DIGITS))] for half in range(2)]


def cosine(numerator: int, denominator: int) -> Decimal:
    """cos(2 pi numerator / denominator) to 50 digits, by its series."""
    two_pi = Decimal("6.28318530717958647692528676655900576839433879875021164194988918461563")
    x = two_pi * (numerator % denominator) / denominator
    term, total, k = Decimal(1), Decimal(0), 0
    while abs(term) > Decimal("1e-55"):
        total += term
        term *= -x * x / ((k + 1) * (k + 2))
        k += 2
    return total


def encoded() -> list[int]:
    """Coefficients of the polynomial with the fixed slots at zeta^(5^j), times 2^40, to the nearest integer."""
    getcontext().prec = 70
    order, found = 4 * SLOTS, []
    for k in range(2 * SLOTS):
        total = Decimal(0)
        for j, (real, imaginary) in enumerate(slots()):
            turn = pow(5, j, order) * k
            total += (real * cosine(turn, order) + imaginary * cosine(turn - order // 4, order)) / 16
        found.append(int((total * 2**SCALE_BITS / SLOTS).to_integral_value()))
    return found


def answers() -> Iterator[tuple[str, list[Rows]]]:
    """(name, polynomials) of every case, by definition."""
    every = [*Q, *P]
    x, y = fixed(1, every), fixed(2, every)
    yield "ntt", [ntt(x, every)]
    yield "intt", [intt(x, every)]
    product = [oracle.negacyclic_product(a, b, PRIMES[limb]) for a, b, limb in zip(x, y, every, strict=True)]
    yield "negacyclic product", [product]
    for element in (5, 25, 2 * DEGREE - 1):
        moved = [oracle.apply_automorphism(row, element, PRIMES[i]) for row, i in zip(x, every, strict=True)]
        yield f"automorphism {element}", [moved]
    for sources, targets in (([0], [3, 4]), ([0, 1, 2], [3, 4]), ([3, 4], [0, 1, 2])):
        yield f"lift {sources} to {targets}", [base_convert(fixed(3, sources), sources, targets)]
    yield "uniform", [[stream_oracle.uniform_row(SEED, 2, 7, 3, i, PRIMES[i], DEGREE)[0] for i in every]]
    product_of_key = key_product(fixed(4, Q), fixed(5, Q), key_halves())
    yield "key switch", product_of_key
    yield "key switch divided by P", [mod_down(half, P, Q) for half in product_of_key]
    yield "rescale", [mod_down(fixed(6, [2, 0, 1]), [2], [0, 1])]


def text_of(polys: list[Rows]) -> bytes:
    """Residues in little-endian words, polynomial by polynomial, limb by limb."""
    return b"".join(v.to_bytes(8, "little") for rows in polys for row in rows for v in row)


if __name__ == "__main__":
    from latticework import _core

    cases = {
        name: {"first": polys[0][0][:4], "last": polys[-1][-1][-1], "blake3": _core.blake3(text_of(polys)).hex()}
        for name, polys in answers()
    }
    how = "printed by known_answers.py beside it: definitions in Python integers and 70-digit decimals, no kernel"
    print(json.dumps({"how": how, "primes": PRIMES, "encoded": encoded(), "cases": cases}, indent=1))
