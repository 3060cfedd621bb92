"""A series of the exponential for the sine near integers, of lower degree than one that is good everywhere.

The sine ending only looks at x = I + t with |t| <= 1 / R, and of E there at what
moves its imaginary part: at the phase, and at the magnitude the less the smaller
t is. Least squares over such points leave a tenth of the error that the
Chebyshev series of degree 31 has there, with degree 28: two products less, on
levels where they cost most. Farther from integers the error grows, by less than
the sine series is off.
Source: approximation near integers alone as in Han-Ki (ePrint 2019/688); of the phase alone: here.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from functools import lru_cache

from latticework.plan.parameters.modulus_chain import BootstrapCircuit

# Degree by that of the series that is good everywhere, bound and doublings: where the fewest relinearisations are left.
_DEGREES = {(31, 16, 3): 28, (63, 16, 2): 46}
_LEAST_RATIO = 64.0  # from which they are the more precise ones
_POINTS = ("-0.95105651629515357", "-0.58778525229247313", "0", "0.58778525229247313", "0.95105651629515357")
_DIGITS = 80
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803")
_OTHER = Decimal(2) ** -24  # weight of the squared magnitude and phase by themselves, so that E stays near the circle


def near_coefficients(circuit: BootstrapCircuit) -> tuple[complex, ...] | None:
    """Chebyshev coefficients of e^(2 pi i K u / 2^r) for K u near integers; None where none of less degree are known.

    They are real at even and imaginary at odd indices.
    """
    degree = _DEGREES.get((circuit.degree, circuit.bound, circuit.doublings))
    if degree is None or circuit.ratio < _LEAST_RATIO:
        return None
    return _fit(circuit.bound, circuit.doublings, degree, circuit.ratio)


@lru_cache(maxsize=16)
def _fit(bound: int, doublings: int, degree: int, ratio: float) -> tuple[complex, ...]:
    """Least squares of the error of the sine series' value, to first order, in decimals: the same on every machine."""
    size = degree + 1
    with localcontext(prec=_DIGITS):
        matrix = [[Decimal(0)] * (size + 1) for _ in range(size)]  # of the normal equations, and their right side
        for integer in range(bound):
            for point in _POINTS:
                _add_point(matrix, Decimal(integer), Decimal(point) / Decimal(ratio), bound, doublings)
        found = _solve(matrix)
        return tuple(complex(0.0, float(c)) if k % 2 else complex(float(c)) for k, c in enumerate(found))


def _add_point(matrix: list[list[Decimal]], integer: Decimal, t: Decimal, bound: int, doublings: int) -> None:
    """Add the equations of x = integer + t. The series times e^(-i angle), where it should be 1, is 1 + a + i b."""
    size, x = len(matrix), integer + t
    cosine, sine = _circle(x / 2**doublings)
    once, twice = _circle(t), _circle(2 * t)
    of_phase = (8 * once[0] - 2 * twice[0]) / 6  # what Im F moves by b, and by a
    of_magnitude = (8 * once[1] - 2 * twice[1]) / 6
    chebyshev = [Decimal(1), x / bound]
    while len(chebyshev) < size:
        chebyshev.append(2 * x / bound * chebyshev[-1] - chebyshev[-2])
    turned = (of_magnitude * cosine - of_phase * sine, of_magnitude * sine + of_phase * cosine)  # of even, odd indices
    row = [value * turned[k % 2] for k, value in enumerate(chebyshev)]
    alone = (_OTHER * cosine, _OTHER * sine)
    for j in range(size):
        for k in range(j, size):
            matrix[j][k] += row[j] * row[k]
            if (k - j) % 2 == 0:
                matrix[j][k] += _OTHER * chebyshev[j] * chebyshev[k]
        matrix[j][size] += row[j] * of_magnitude + alone[j % 2] * chebyshev[j]


def _circle(turns: Decimal) -> tuple[Decimal, Decimal]:
    """Cosine and sine of so many turns, by Taylor's series."""
    angle = 2 * _PI * (turns - turns.to_integral_value())
    total, term, k = [Decimal(0), Decimal(0)], Decimal(1), 0
    while abs(term) > Decimal(10) ** -_DIGITS or k < 2:
        total[k % 2] += -term if k % 4 > 1 else term
        k += 1
        term = term * angle / k
    return total[0], total[1]


def _solve(matrix: list[list[Decimal]]) -> Sequence[Decimal]:
    """Solve the symmetric positive equations of which the upper half is given, with the right side last."""
    size = len(matrix)
    for j in range(size):
        for i in range(j + 1, size):
            factor = matrix[j][i] / matrix[j][j]
            for k in range(i, size + 1):
                matrix[i][k] -= factor * matrix[j][k]
    found = [Decimal(0)] * size
    for j in reversed(range(size)):
        rest = sum((matrix[j][k] * found[k] for k in range(j + 1, size)), Decimal(0))
        found[j] = (matrix[j][size] - rest) / matrix[j][j]
    return found
