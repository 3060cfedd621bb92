"""The noise that each BFV operation leaves, before anything runs: on average, and at worst.

Noise is the polynomial e in c(s) = Q/t * m + e + Q * (integers); decryption is right while every coefficient of e is
below Q/(2t). It is kept as one variance for each power of the secret: the coefficients of e_i * s^i have the variance
V_i * i! * (2N/3)^i, where a plain product of variances would miss the i! (the values of s at the roots of unity are
complex Gaussians of variance 2N/3, and E|z|^2i = i! * (2N/3)^i). That is the mean over all secrets; for high powers it
is due to roots so rare that most secrets have none, so the typical budget leaves out what exceeds the largest of N/2
values. Operands are independent here: `NoiseModel` and `bfv_noise_domain.py` know which are not. The worst case bounds
every coefficient for every choice of the randomness. All numbers are logarithms, as a variance at N = 2^15 exceeds what
a float holds.

source  the split by powers of s: Biasioli, Marcolla, Calderini, Mono, "Improving and Automating BFV Parameters
        Selection" (ePrint 2023/600); the products are those of `cpp/schemes/bfv/evaluator.cpp`
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import exp, exp2, factorial, inf, log, log2
from typing import Protocol

from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters.step_noise import ERROR_VARIANCE, ROUNDING_VARIANCE, SECRET_VARIANCE
from latticework.plan.parameters.worst_noise import ERROR_BOUND
from latticework.values.sums import add_up

MIN_BUDGET_BITS = 2.0  # decryption refuses less
ROUNDING = log2(ROUNDING_VARIANCE)
SLACK_BITS = 2.0  # for sums and rotations, at each level of depth
FAILURE_DEVIATIONS = 13.5  # 2^15 Gaussian coefficients exceed this with probability below 2^-117, 2^12 below 2^-120


Source = tuple[int, int, bool]  # number of the encryption, slots of a row rotated to the left, rows swapped


def log_sum(*terms: float) -> float:
    """log2 of a sum of numbers given by their log2."""
    top = max(terms, default=-inf)
    return top if top == -inf else top + log2(add_up(exp2(max(t - top, -1000.0)) for t in terms))


def least_product_bits(depth: int, ring_degree: int, plain_modulus: int) -> float:
    """Return bits of modulus that no circuit of `depth` products in a row does with: the noise that no method
    to compute them avoids, each product times the multiple of t in its other factor (`ShapeNoiseModel`)."""
    each = log2(ring_degree) + log2(plain_modulus) + (ROUNDING + log2(SECRET_VARIANCE)) / 2
    first = ROUNDING / 2 + log2(FAILURE_DEVIATIONS)
    return first + depth * each + log2(plain_modulus) + 1 + MIN_BUDGET_BITS


class NoiseShape(Protocol):
    """The parameters that the noise model asks for; sizes are log2."""

    @property
    def ring_degree(self) -> int:
        """N."""

    @property
    def plain_modulus(self) -> int:
        """t."""

    @property
    def levels(self) -> int:
        """The highest level."""

    @property
    def secret_variance(self) -> float:
        """The mean square of a coefficient of the secret."""

    @property
    def secret_sum(self) -> float:
        """The largest sum of the magnitudes of its coefficients."""

    def log2_p(self, level: int) -> float:
        """Return the bits of the special primes of a key switch at a level."""

    @property
    def log2_special(self) -> float:
        """The first special prime; 0 where there is none, and public-key encryption divides by 1."""

    def log2_q(self, level: int) -> float:
        """Return log2 of the modulus of a level."""

    def log2_extension(self, level: int) -> float:
        """Return log2 of the basis B of a level."""

    def digit_bits(self, level: int) -> tuple[float, ...]:
        """Return the bits of the digits of a key switch at a level."""


@dataclass(frozen=True)
class Noise:
    """Predicted noise of a ciphertext.

    level      where it is
    variances  log2 of the variance that goes with each power of the secret
    worst      log2 of a bound on every coefficient
    lineage    encryptions that it comes from, each with how far it was rotated since; None: too many to tell
    """

    level: int
    variances: tuple[float, ...]
    worst: float
    lineage: frozenset[Source] | None = frozenset()


def are_related(x: Noise, y: Noise) -> bool:
    """Whether both may come from one encryption: in sums and products they then add up linearly."""
    return x is y or x.lineage is None or y.lineage is None or not x.lineage.isdisjoint(y.lineage)


def no_noise(level: int) -> Noise:
    """Return no noise, at a level."""
    return Noise(level, (-inf,), -inf)


class ShapeNoiseModel:
    """The noise of each operation on ciphertexts of a parameter set. Operands of one operation are at one level."""

    def __init__(self, parameters: NoiseShape) -> None:
        self.parameters = parameters
        self._n = log2(parameters.ring_degree)
        self._t = log2(parameters.plain_modulus)

    # -- what there is -----------------------------------------------------------------------

    def fresh(self, *, public_key: bool = True) -> Noise:
        """A new ciphertext, under the secret key or the public one."""
        n, most = self.parameters.ring_degree, self.parameters.secret_sum
        error = log2(ERROR_VARIANCE)
        if public_key:  # (e * u + e0 + e1 * s) / p, rounded; p is the first special prime
            p = self.parameters.log2_special
            first = log_sum(error + log2(1 + SECRET_VARIANCE * n) - 2 * p, ROUNDING, ROUNDING)
            worst = ERROR_BOUND * (n + most + 1) / exp2(p) + 0.5 * (most + 1) + 0.5
            return Noise(self.parameters.levels, (first, log_sum(error - 2 * p, ROUNDING)), log2(worst))
        return Noise(self.parameters.levels, (log_sum(error, ROUNDING),), log2(ERROR_BOUND + 0.5))

    def variance(self, x: Noise, *, typical: bool = False) -> float:
        """log2 of the variance of a coefficient, in the mean over all secrets, or for most of them."""
        secret = log2(self.parameters.secret_variance) + self._n
        cut = log(self.parameters.ring_degree / 2) if typical else inf
        return log_sum(*(v + log2(_moment(i, cut)) + i * secret for i, v in enumerate(x.variances)))

    def budget(self, x: Noise) -> float:
        """The noise budget in bits to be expected: that of the largest of N coefficients."""
        largest = self.variance(x, typical=True) / 2 + 0.5 * log2(2 * log(self.parameters.ring_degree))
        return self._slack_bits(x.level) - max(largest, -1.0)

    def worst_budget(self, x: Noise) -> float:
        """A noise budget that is certainly there (negative: nothing is certain)."""
        return self._slack_bits(x.level) - x.worst

    def is_reliable(self, x: Noise) -> bool:
        """Whether decryption succeeds but for a probability of about 2^-117 (0 if the worst case allows it)."""
        return self.spare_bits(x) >= 0

    def spare_bits(self, x: Noise) -> float:
        """Bits by which the modulus is larger than what `is_reliable` asks for (negative: missing ones)."""
        largest = min(self.variance(x) / 2 + log2(FAILURE_DEVIATIONS), x.worst)
        return self._slack_bits(x.level) - largest - MIN_BUDGET_BITS

    def supports(self, depth: int) -> bool:
        """Whether a circuit of `depth` products in a row is reliable, on fresh public-key encryptions.

        Before each product: a rotation, and a sum of up to 2^(2 * SLACK_BITS) independent terms.
        """
        while len(self._products) <= depth and self.is_reliable(self._products[-1]):  # noise only grows
            x = self._product(self._products[-1], self._products[-1], 0, relinearized=True)
            more = replace(x, variances=tuple(v + 2 * SLACK_BITS for v in x.variances), worst=x.worst + 2 * SLACK_BITS)
            self._products.append(self._switch(more))
        return len(self._products) > depth and self.is_reliable(self._products[depth])

    @cached_property
    def _products(self) -> list[Noise]:
        """The noise of as many products in a row as were asked for."""
        return [self.fresh()]

    def _slack_bits(self, level: int) -> float:
        return self.parameters.log2_q(level) - self._t - 1

    # -- what operations do ------------------------------------------------------------------

    def add(self, x: Noise, y: Noise) -> Noise:
        """Return the noise of a sum or difference of independent ciphertexts."""
        return replace(x, variances=_sum(x.variances, y.variances), worst=log_sum(x.worst, y.worst))

    def add_plain(self, x: Noise) -> Noise:
        """Return the noise after a public vector is added."""
        return replace(x, variances=_sum(x.variances, (ROUNDING,)), worst=log_sum(x.worst, -1.0))

    def mul_int(self, x: Noise, factor: int) -> Noise:
        """Every slot times an integer; `factor` as its representative nearest to zero."""
        size = log2(abs(factor)) if factor else -inf
        return replace(x, variances=tuple(v + 2 * size for v in x.variances), worst=x.worst + size)

    def mul_plain(self, x: Noise) -> Noise:
        """Times a vector of random slots: coefficients are then spread over all residues modulo t."""
        gain = self._n + 2 * self._t - log2(12)
        return replace(x, variances=tuple(v + gain for v in x.variances), worst=x.worst + self._n + self._t - 1)

    def rotate(self, x: Noise) -> Noise:
        """A rotation, a swap of the rows, or a relinearisation."""
        return self._switch(x)

    def mod_switch(self, x: Noise, level: int) -> Noise:
        """Switch to a lower level."""
        divided = self.parameters.log2_q(x.level) - self.parameters.log2_q(level)
        variances = tuple(v - 2 * divided for v in x.variances)
        small = replace(x, level=level, variances=variances, worst=x.worst - divided)
        return add_rounding(small, 1, self.parameters.secret_sum)

    def mul(self, x: Noise, y: Noise, *, relinearized: bool = True) -> Noise:
        """Return the noise of a product of independent ciphertexts."""
        return self._product(x, y, 0, relinearized)

    def square(self, x: Noise, *, relinearized: bool = True) -> Noise:
        """A product of a ciphertext with itself: its two noise terms are the same."""
        return self._product(x, x, 1, relinearized)

    def _product(self, x: Noise, y: Noise, coherent: int, relinearized: bool) -> Noise:
        # e_x * (m_y + t r_y) + e_y' * (m_x + t r_x) + t/Q * e_x * e_y', where e_y' has the rounding to the basis B
        p, most = self.parameters, self.parameters.secret_sum
        wraps = (
            2 * self._t + ROUNDING
        )  # t * r: r = c(s) / Q is uniform in both parts of c; m is as large as one of them
        mask = (wraps + 1, wraps)
        shrunk = p.log2_q(x.level) - p.log2_extension(x.level)  # Q / B
        other = _sum(y.variances, (ROUNDING + 2 * shrunk, ROUNDING + 2 * shrunk))
        linear = _sum(_times(x.variances, mask, self._n), _times(other, mask, self._n))
        linear = tuple(v + coherent for v in linear)
        # of importance only where hardly any budget is left: as if it held no power of s
        sizes = self.variance(x) + self.variance(Noise(x.level, other, 0.0))
        quadratic = (sizes + self._n + 2 * (self._t - p.log2_q(x.level)),)
        wrap_bound = self._t + log2((most + 1) / 2 + 1.5)
        other_bound = log_sum(y.worst, shrunk + log2((most + 1) / 2))
        bound = log_sum(
            self._n + log_sum(x.worst, other_bound) + wrap_bound,
            self._n + x.worst + other_bound + self._t - p.log2_q(x.level),
        )
        product = add_rounding(replace(x, variances=_sum(linear, quadratic), worst=bound), 2, most)
        return self._switch(product) if relinearized else product

    def _switch(self, x: Noise) -> Noise:
        """A key switch: sum over digits of digit * error / P, and a rounding."""
        p = self.parameters
        ratios = [digit - p.log2_p(x.level) for digit in p.digit_bits(x.level)]
        spread = log_sum(*(self._n + 2 * r + ROUNDING + log2(ERROR_VARIANCE) for r in ratios))
        bound = log_sum(*(self._n + r - 1 + log2(ERROR_BOUND) for r in ratios))
        switched = replace(x, variances=_sum(x.variances, (spread,)), worst=log_sum(x.worst, bound))
        return add_rounding(switched, 1, p.secret_sum)


def _moment(i: int, cut: float) -> float:
    """The i-th moment of an exponential variable of mean 1, up to `cut`; infinite from the 171st on."""
    if i > 170:  # factorials leave the range of numbers
        return inf
    if cut == inf:
        return float(factorial(i))
    return factorial(i) * (1 - exp(-cut) * add_up(cut**k / factorial(k) for k in range(i + 1)))


def add_rounding(x: Noise, degree: int, secret_sum: float) -> Noise:
    """Return the noise after every polynomial of a ciphertext of this degree is rounded."""
    bound = log2(sum(secret_sum**i for i in range(degree + 1)) / 2)
    return replace(x, variances=_sum(x.variances, (ROUNDING,) * (degree + 1)), worst=log_sum(x.worst, bound))


def sum_of_related(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, ...]:
    """Return variances of a sum whose deviations add up, the most that correlated terms can have."""
    return tuple(2 * v for v in _sum(tuple(v / 2 for v in a), tuple(v / 2 for v in b)))


def _sum(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, ...]:
    length = max(len(a), len(b))
    a, b = (v + (-inf,) * (length - len(v)) for v in (a, b))
    return tuple(log_sum(x, y) for x, y in zip(a, b, strict=True))


def _times(a: tuple[float, ...], b: tuple[float, ...], factor: float) -> tuple[float, ...]:
    """Variances of a product of polynomials in s: N times the products, which `factor` is the log2 of."""
    sums = [-inf] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            sums[i + j] = log_sum(sums[i + j], x + y + factor)
    return tuple(sums)
