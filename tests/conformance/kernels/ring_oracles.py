"""Independent definitions of what the kernels compute: Python integers, fractions and NumPy object arrays."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import count

import numpy as np

Array = np.ndarray


def is_prime(n: int) -> bool:
    """Miller-Rabin, exact below 3.3e24 with these bases."""
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
    if n < 2 or any(n % p == 0 for p in bases):
        return n in bases
    twos = ((n - 1) & (1 - n)).bit_length() - 1
    return all(
        pow(a, (n - 1) >> twos, n) == 1 or any(pow(a, (n - 1) >> i, n) == n - 1 for i in range(1, twos + 1))
        for a in bases
    )


def find_prime(start: int, two_n: int) -> int:
    """The first prime = 1 mod two_n from start on."""
    return next(p for p in count(start // two_n * two_n + two_n + 1, two_n) if is_prime(p))


DEGREES = (16, 64, 1024)
STARTS = {
    # 20, 30, 49 and 50 bits, and close to 2^50: the largest that every backend takes.
    "narrow": (2**19, 2**29, 2**48, 2**49, 2**50 - 2**18),
    # 20, 30, 49 and 59 bits, and one just above 2^64 / 17: close to the limit of 2^60, 1 in 17 uniform words rejected.
    "wide": (2**19, 2**29, 2**48, 2**58, 2**64 // 17),
}
NUM_LIMBS = 5


def find_primes(starts: Sequence[int], degree: int) -> list[int]:
    """Different primes, each the first from its start on, for rings up to `degree`."""
    return [find_prime(start, 2 * degree) for start in starts]


PRIME_SETS = {name: find_primes(starts, max(DEGREES)) for name, starts in STARTS.items()}


def smallest_root(q: int, two_n: int) -> int:
    """The smallest primitive two_n-th root of unity modulo q."""
    root = next(r for r in (pow(x, (q - 1) // two_n, q) for x in count(2)) if pow(r, two_n // 2, q) == q - 1)
    return min(pow(root, k, q) for k in range(1, two_n, 2))


def bit_reverse(i: int, bits: int) -> int:
    return int(format(i, f"0{bits}b")[::-1], 2) if bits else 0


def exponents(degree: int) -> list[int]:
    """The e of psi^e at which position j of the NTT holds the value."""
    bits = degree.bit_length() - 1
    return [2 * bit_reverse(j, bits) + 1 for j in range(degree)]


def evaluate(coefficients: Sequence[int], point: int, q: int) -> int:
    value = 0
    for c in reversed(coefficients):
        value = (value * point + int(c)) % q
    return value


def negacyclic_product(a: Sequence[int], b: Sequence[int], q: int) -> list[int]:
    n = len(a)
    product = np.convolve(np.array(a, dtype=object), np.array(b, dtype=object))
    product = np.append(product, 0)
    return list((product[:n] - product[n:]) % q)


def apply_automorphism(coefficients: Sequence[int], g: int, q: int) -> list[int]:
    """x(X) -> x(X^g) modulo X^N + 1."""
    n = len(coefficients)
    result = [0] * n
    for i, c in enumerate(coefficients):
        place = i * g % (2 * n)
        result[place % n] = int(c) if place < n else -int(c) % q
    return result


def centred(x: int, q: int) -> int:
    x %= q
    return x - q if x > q // 2 else x


def fma(a: float, b: float, c: float) -> float:
    """a * b + c, rounded once."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def base_convert(
    residues: Sequence[int], sources: Sequence[int], fma: Callable[[float, float, float], float] = fma
) -> int:
    """The integer that a base conversion assigns to one coefficient; sources in ascending limb number."""
    product = 1
    for q in sources:
        product *= q
    v, total = 0.0, 0
    for x, q in zip(residues, sources, strict=True):
        y = centred(int(x) * pow(product // q, -1, q), q)
        v = fma(float(y), float(Fraction(1, q)), v)
        total += y * (product // q)
    return total - round(v) * product


def residue_patterns(primes: Sequence[int], degree: int, rng: np.random.Generator) -> dict[str, Array]:
    """Adversarial and random rows, one per prime: arrays of shape (1, limbs, degree)."""
    rows: dict[str, Callable[[int], Array]] = {
        "zero": lambda q: np.zeros(degree),
        "largest": lambda q: np.full(degree, q - 1, dtype=object),
        "half": lambda q: np.full(degree, (q - 1) // 2, dtype=object),
        "above half": lambda q: np.full(degree, (q + 1) // 2, dtype=object),
        "alternating": lambda q: np.array([0, q - 1] * (degree // 2), dtype=object),
        "impulse": lambda q: np.array([q - 1] + [0] * (degree - 1), dtype=object),
        "random": lambda q: rng.integers(0, q, degree, dtype=np.uint64),
    }
    return {name: np.array([[row(q) for q in primes]]).astype(np.uint64) for name, row in rows.items()}


def random_residues(primes: Sequence[int], degree: int, polys: int, rng: np.random.Generator) -> Array:
    return np.array([[rng.integers(0, q, degree, dtype=np.uint64) for q in primes] for _ in range(polys)])


def column(primes: Sequence[int]) -> Array:
    """Primes as exact integers, shaped to broadcast against (polys, limbs, degree)."""
    return np.array(primes, dtype=object)[:, None]


def exact(a: Array) -> Array:
    return a.astype(object)
