"""Any function of a number that takes few values: the polynomial modulo a prime that has those values there.

Source: Newton's interpolation; Paterson and Stockmeyer, On the number of nonscalar multiplications (1973).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from latticework.frontend.circuits.integers.integer_arithmetic import Operand, plus, times

MAX_DEGREE = 1024  # of a polynomial: about 60 products of encrypted numbers, 11 of them in a row


@lru_cache(maxsize=256)
def interpolate(points: tuple[int, ...], values: tuple[int, ...], modulus: int) -> tuple[int, ...]:
    """Coefficients, the constant first, nearest to 0, of the polynomial with these values at these points.

    points  different modulo the prime
    """
    divided = [value % modulus for value in values]
    for step in range(1, len(points)):
        inverses = _inverses([points[i] - points[i - step] for i in range(step, len(points))], modulus)
        for i in range(len(points) - 1, step - 1, -1):
            divided[i] = (divided[i] - divided[i - 1]) * inverses[i - step] % modulus
    coefficients: list[int] = [0]
    for point, value in zip(reversed(points), reversed(divided), strict=True):
        by_x = [0, *coefficients]
        for k, c in enumerate(coefficients):
            by_x[k] = (by_x[k] - point * c) % modulus
        by_x[0] = (by_x[0] + value) % modulus
        coefficients = by_x
    while coefficients and not coefficients[-1]:
        coefficients.pop()
    return tuple(c - modulus if c > modulus // 2 else c for c in coefficients)


def _inverses(numbers: Sequence[int], modulus: int) -> list[int]:
    """Invert each number modulo the prime, equal ones once."""
    found = {n: pow(n, -1, modulus) for n in set(numbers)}
    return [found[n] for n in numbers]


def block_of(degree: int) -> int:
    """Coefficients that are added up without a product in between."""
    return 1 << max(1, round(((degree + 1).bit_length()) / 2))


def depth_of_degree(degree: int) -> int:
    """Products in a row of a polynomial with public coefficients, those by coefficients too."""
    return max(degree, 1).bit_length() + 1


def products_of_degree(degree: int) -> int:
    """Products of encrypted numbers that it takes."""
    if degree < 2:
        return 0
    block = min(block_of(degree), 1 << degree.bit_length())
    blocks = -(-(degree + 1) // block)
    return block - 1 + blocks.bit_length() + blocks - 1


def evaluate(x: Operand, coefficients: Sequence[int]) -> Operand:
    """A polynomial of a number."""
    powers: dict[int, Operand] = {1: x}

    def power(n: int) -> Operand:
        if n not in powers:
            low = 1 << ((n - 1).bit_length() - 1)
            powers[n] = times(power(low), power(n - low))
        return powers[n]

    block = block_of(len(coefficients) - 1)

    def part(own: Sequence[int]) -> Operand:
        if len(own) <= block:
            found: Operand = own[0] if own else 0
            for k, c in enumerate(own[1:], start=1):
                found = plus(found, times(power(k), c)) if c else found
            return found
        half = block
        while 2 * half < len(own):
            half *= 2
        high = part(own[half:])
        return plus(part(own[:half]), times(high, power(half)))

    return part(coefficients)


def power(x: Operand, exponent: int) -> Operand:
    """x ** exponent in as few products in a row as there can be."""
    made: dict[int, Operand] = {1: x}

    def find_power(n: int) -> Operand:
        if n not in made:
            low = 1 << ((n - 1).bit_length() - 1)
            made[n] = times(find_power(low), find_power(n - low))
        return made[n]

    return find_power(exponent)
