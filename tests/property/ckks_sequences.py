"""Random sequences of CKKS operations: ciphertexts, what they should hold, and a record of every step.

`Sequences` draws a legal operation on a pool of values. Each value carries the slots expected by NumPy, a bound on its
error, and the records of the operations that made it: what a predicted bound can be computed from (`bound` is the
place for one).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from latticework import ckks
from latticework.plan import noise

SLOTS = 16
MAX_VALUE = 8.0
FLOAT_ERROR = 2.0**-48  # of the expected slots themselves, and of what is read in double precision
DEVIATIONS = 9.0  # of the noise of one step, for each of the slots


@dataclass(frozen=True)
class Record:
    """One operation as it was applied: its name, public arguments, and the place of its result."""

    name: str
    arguments: tuple[Any, ...]
    level: int
    scale: float
    degree: int


@dataclass(frozen=True)
class Tracked:
    """A ciphertext with the slots it should hold, within `bound` in every slot."""

    ciphertext: ckks.Ciphertext
    expected: np.ndarray
    bound: float
    records: tuple[Record, ...] = field(default=())

    @property
    def size(self) -> float:
        return float(np.max(np.abs(self.expected)))


@dataclass(frozen=True)
class World:
    """Small INSECURE parameters with keys for everything that a sequence can do."""

    parameters: ckks.Parameters
    evaluator: ckks.Evaluator
    encryptor: ckks.Encryptor
    decryptor: ckks.Decryptor
    transforms: tuple[ckks.LinearTransform, ...]
    polynomials: tuple[ckks.Polynomial, ...]

    def deviation(self, coefficients: float, scale: float) -> float:
        """A slot error that noise of this coefficient deviation hardly ever exceeds."""
        return DEVIATIONS * coefficients * math.sqrt(2 * SLOTS) / scale


@cache
def world() -> World:
    parameters = ckks.Parameters(
        2**10, [(26, 26), (22, 22), 44, 44, 44, 44], scale_bits=44, num_special=2, insecure=True
    )
    rng = np.random.default_rng(3)
    dense = (rng.normal(size=(SLOTS, SLOTS)) + 1j * rng.normal(size=(SLOTS, SLOTS))) / SLOTS
    transforms = (
        ckks.LinearTransform(dense, conjugate_diagonals={3: 0.5, -1: 0.25j}),
        ckks.LinearTransform({0: 0.5, 1: rng.uniform(-0.5, 0.5, SLOTS), -4: 0.25}, slots=SLOTS),
    )
    polynomials = (
        ckks.Polynomial([0.25, -0.5, 0.0, 0.75]),
        ckks.Polynomial([0.1, 0.4, 0.0, -0.2], basis="chebyshev", interval=(-0.5, 0.5)),
    )
    generator = ckks.KeyGenerator(parameters)
    required = [key for op in (*transforms, *polynomials) for key in op.required_keys(parameters, slots=SLOTS)]
    keys = generator.evaluation_keys(steps=range(SLOTS), conjugate=True, required=required, slots=SLOTS)
    evaluator = ckks.Evaluator(parameters, keys)
    return World(
        parameters,
        evaluator,
        ckks.Encryptor(parameters, generator.public_key(), evaluator=evaluator),
        ckks.Decryptor(parameters, generator.secret_key()),
        transforms,
        polynomials,
    )


def fresh(w: World, values: np.ndarray) -> Tracked:
    c = w.encryptor.encrypt(values)
    bound = w.deviation(noise.public_encryption(w.parameters.chain), c.scale)
    return Tracked(c, values, bound, (Record("encrypt", (), c.level, c.scale, c.degree),))


class Sequences:
    """Draws operations by `draw(strategy)`; `choose(n)` is a number below n, `vector()` public slots."""

    def __init__(self, w: World, choose: Any, vector: Any) -> None:
        self.w, self.choose, self.vector = w, choose, vector
        self.pool = [fresh(w, vector()), fresh(w, vector())]

    def step(self) -> Tracked:
        """One legal operation on values of the pool; its result joins the pool."""
        a, b = (self.pool[self.choose(len(self.pool))] for _ in range(2))
        legal = [name for name in sorted(OPERATIONS) if OPERATIONS[name][0](a, b)]
        name = legal[self.choose(len(legal))]
        made = OPERATIONS[name][1](self, a, b)
        self.pool.append(made)
        return made

    def made(self, name: str, c: ckks.Ciphertext, expected: np.ndarray, bound: float, parents: tuple[Tracked, ...],
             *arguments: Any) -> Tracked:  # fmt: skip
        record = Record(name, arguments, c.level, c.scale, c.degree)
        return Tracked(c, expected, bound + FLOAT_ERROR, (*(r for p in parents for r in p.records), record))

    # What a step adds to the error, each a few deviations of the noise model and so hardly ever exceeded.

    def rounding(self, c: ckks.Ciphertext) -> float:
        return self.w.deviation(noise.mod_down(self.w.parameters.ring_degree, c.degree), c.scale)

    def switching(self, c: ckks.Ciphertext) -> float:
        key = noise.key_product(self.w.parameters.chain, c.level)
        return self.w.deviation(key + noise.mod_down(self.w.parameters.ring_degree), c.scale)

    def encoding(self, scale: float) -> float:
        return self.w.deviation(noise.encoding(), scale)

    # The operations.

    def add(self, a: Tracked, b: Tracked) -> Tracked:
        c = self.w.evaluator.add(a.ciphertext, b.ciphertext)
        return self.made("add", c, a.expected + b.expected, a.bound + b.bound, (a, b))

    def sub(self, a: Tracked, b: Tracked) -> Tracked:
        c = self.w.evaluator.sub(a.ciphertext, b.ciphertext)
        return self.made("sub", c, a.expected - b.expected, a.bound + b.bound, (a, b))

    def aligned_add(self, a: Tracked, b: Tracked) -> Tracked:
        c = a.ciphertext + b.ciphertext
        settled = self.rounding(c) * 4 + self.switching(c) * 2 + 2.0**-40 * (a.size + b.size)
        return self.made("operator +", c, a.expected + b.expected, a.bound + b.bound + settled, (a, b))

    def aligned_mul(self, a: Tracked, b: Tracked) -> Tracked:
        c = a.ciphertext * b.ciphertext
        settled = self.rounding(c.settle()) * 4 + self.switching(c.settle()) * 2 + 2.0**-40 * (a.size + b.size)
        ea, eb = a.bound + settled, b.bound + settled
        return self.made("operator *", c, a.expected * b.expected, ea * b.size + eb * a.size + ea * eb, (a, b))

    def neg(self, a: Tracked, _b: Tracked) -> Tracked:
        return self.made("neg", self.w.evaluator.neg(a.ciphertext), -a.expected, a.bound, (a,))

    def mul(self, a: Tracked, b: Tracked) -> Tracked:
        c = self.w.evaluator.mul(a.ciphertext, b.ciphertext)
        error = a.bound * b.size + b.bound * a.size + a.bound * b.bound
        return self.made("mul", c, a.expected * b.expected, error, (a, b))

    def square(self, a: Tracked, _b: Tracked) -> Tracked:
        c = self.w.evaluator.square(a.ciphertext)
        return self.made("square", c, a.expected**2, 2 * a.bound * a.size + a.bound**2, (a,))

    def mul_plain(self, a: Tracked, _b: Tracked) -> Tracked:
        values = self.vector()
        c = self.w.evaluator.mul_plain(a.ciphertext, values)
        rounding = self.encoding(c.scale / a.ciphertext.scale) * (a.size + a.bound)
        error = a.bound * float(np.max(np.abs(values))) + rounding
        return self.made("mul_plain", c, a.expected * values, error, (a,))

    def mul_number(self, a: Tracked, _b: Tracked) -> Tracked:
        number = (-0.5, 0.75, 1.0 / 3.0)[self.choose(3)]
        c = self.w.evaluator.mul_plain(a.ciphertext, number)
        error = a.bound * abs(number) + a.size / (c.scale / a.ciphertext.scale)
        return self.made("mul_plain", c, a.expected * number, error, (a,), number)

    def add_plain(self, a: Tracked, _b: Tracked) -> Tracked:
        values = self.vector()
        c = self.w.evaluator.sub(a.ciphertext, values)
        return self.made("sub", c, a.expected - values, a.bound + self.encoding(min(c.scale, 2.0**55)), (a,))

    def add_number(self, a: Tracked, _b: Tracked) -> Tracked:
        number = (-1.5, 0.1, 2.0)[self.choose(3)]
        c = self.w.evaluator.add(a.ciphertext, number)
        return self.made("add", c, a.expected + number, a.bound + 1 / min(c.scale, 2.0**55), (a,), number)

    def mul_int(self, a: Tracked, _b: Tracked) -> Tracked:
        factor = (-2, 0, 3)[self.choose(3)]
        c = self.w.evaluator.mul_int(a.ciphertext, factor)
        return self.made("mul_int", c, a.expected * factor, a.bound * abs(factor), (a,), factor)

    def mul_i(self, a: Tracked, _b: Tracked) -> Tracked:
        return self.made("mul_i", self.w.evaluator.mul_i(a.ciphertext), 1j * a.expected, a.bound, (a,))

    def relinearize(self, a: Tracked, _b: Tracked) -> Tracked:
        c = self.w.evaluator.relinearize(a.ciphertext)
        return self.made("relinearize", c, a.expected, a.bound + self.switching(c), (a,))

    def rescale(self, a: Tracked, _b: Tracked) -> Tracked:
        c = self.w.evaluator.rescale(a.ciphertext)
        return self.made("rescale", c, a.expected, a.bound + self.rounding(c), (a,))

    def drop_level(self, a: Tracked, _b: Tracked) -> Tracked:
        level = self.choose(a.ciphertext.level)
        c = self.w.evaluator.drop_level(a.ciphertext, level)
        return self.made("drop_level", c, a.expected, a.bound, (a,), level)

    def level_to(self, a: Tracked, _b: Tracked) -> Tracked:
        level = self.choose(a.ciphertext.level)
        c = self.w.evaluator.level_to(a.ciphertext, level)
        return self.made("level_to", c, a.expected, a.bound + self.rounding(c) + 2.0**-40 * a.size, (a,), level)

    def rotate(self, a: Tracked, _b: Tracked) -> Tracked:
        steps = self.choose(4 * SLOTS) - 2 * SLOTS
        c = self.w.evaluator.rotate(a.ciphertext, steps)
        return self.made("rotate", c, np.roll(a.expected, -steps), a.bound + self.switching(c), (a,), steps)

    def rotate_many(self, a: Tracked, _b: Tracked) -> Tracked:
        steps = [self.choose(SLOTS) for _ in range(3)]
        found = self.w.evaluator.rotate_many(a.ciphertext, steps)
        c = self.w.evaluator.add(self.w.evaluator.add(found[0], found[1]), found[2])
        expected = sum(np.roll(a.expected, -k) for k in steps)
        return self.made("rotate_many", c, expected, 3 * (a.bound + self.switching(c)), (a,), *steps)

    def conjugate(self, a: Tracked, _b: Tracked) -> Tracked:
        c = self.w.evaluator.conjugate(a.ciphertext)
        return self.made("conjugate", c, np.conj(a.expected), a.bound + self.switching(c), (a,))

    def linear_transform(self, a: Tracked, _b: Tracked) -> Tracked:
        number = self.choose(len(self.w.transforms))
        transform = self.w.transforms[number]
        c = self.w.evaluator.linear_transform(a.ciphertext, transform)
        diagonals = [*transform.diagonals.values(), *transform.conjugate_diagonals.values()]
        weight = sum(float(np.max(np.abs(d))) for d in diagonals)
        each = self.switching(c) * 3 + self.encoding(c.scale) * a.size + self.rounding(c)
        error = (a.bound + 2.0**-40 * a.size) * weight + each * len(diagonals)
        return self.made("linear_transform", c, transform(a.expected), error, (a,), number)

    def polynomial(self, a: Tracked, _b: Tracked) -> Tracked:
        number = self.choose(len(self.w.polynomials))
        polynomial = self.w.polynomials[number]
        c = self.w.evaluator.polynomial(a.ciphertext, polynomial)
        reach = 4 * (2 * a.size + 1) ** 3 * 4  # of the derivative, and of what noise inside is multiplied by
        error = reach * (a.bound + self.switching(c) * 2 + self.rounding(c) * 4 + 2.0**-40)
        return self.made("polynomial", c, polynomial(a.expected), error, (a,), number)


def _alike(a: Tracked, b: Tracked) -> bool:
    x, y = a.ciphertext, b.ciphertext
    return x.level == y.level and math.isclose(x.scale, y.scale, rel_tol=2.0**-46)


def _is_factor(a: Tracked) -> bool:
    return a.ciphertext.is_settled and a.ciphertext.level > 0


def _is_wide(a: Tracked) -> bool:
    return a.ciphertext.scale > 2.0**60


def _can_settle(a: Tracked) -> bool:
    return a.ciphertext.level >= 2 and a.ciphertext.scale < 2.0**90


_small = MAX_VALUE / 2
# name -> (whether it may be applied to a and b, what applies it)
OPERATIONS: dict[str, tuple[Any, Any]] = {
    "add": (lambda a, b: _alike(a, b) and max(a.size, b.size) <= _small, Sequences.add),
    "sub": (lambda a, b: _alike(a, b) and max(a.size, b.size) <= _small, Sequences.sub),
    "operator +": (lambda a, b: _can_settle(a) and _can_settle(b) and a.size + b.size <= 8, Sequences.aligned_add),
    "operator *": (lambda a, b: _can_settle(a) and _can_settle(b) and a.size * b.size <= 8, Sequences.aligned_mul),
    "neg": (lambda a, b: True, Sequences.neg),
    "mul": (
        lambda a, b: _alike(a, b) and _is_factor(a) and _is_factor(b) and a.size * b.size <= MAX_VALUE,
        Sequences.mul,
    ),
    "square": (lambda a, b: _is_factor(a) and a.size**2 <= MAX_VALUE, Sequences.square),
    "mul_plain": (lambda a, b: _is_factor(a), Sequences.mul_plain),
    "mul_number": (lambda a, b: _is_factor(a), Sequences.mul_number),
    "add_plain": (lambda a, b: a.size <= _small, Sequences.add_plain),
    "add_number": (lambda a, b: a.size <= _small, Sequences.add_number),
    "mul_int": (lambda a, b: 3 * a.size <= MAX_VALUE, Sequences.mul_int),
    "mul_i": (lambda a, b: True, Sequences.mul_i),
    "relinearize": (lambda a, b: a.ciphertext.degree == 2, Sequences.relinearize),
    "rescale": (lambda a, b: _is_wide(a) and a.ciphertext.level > 0, Sequences.rescale),
    "drop_level": (lambda a, b: a.ciphertext.is_settled and a.ciphertext.level > 0, Sequences.drop_level),
    "level_to": (lambda a, b: a.ciphertext.is_settled and a.ciphertext.level > 0, Sequences.level_to),
    "rotate": (lambda a, b: a.ciphertext.degree == 1, Sequences.rotate),
    "rotate_many": (lambda a, b: a.ciphertext.degree == 1 and 3 * a.size <= MAX_VALUE, Sequences.rotate_many),
    "conjugate": (lambda a, b: a.ciphertext.degree == 1, Sequences.conjugate),
    "linear_transform": (
        lambda a, b: _is_factor(a) and a.size <= 1 and a.bound < 1e-3,
        Sequences.linear_transform,
    ),
    "polynomial": (lambda a, b: a.ciphertext.is_settled and a.ciphertext.level >= 3 and a.size <= 1, Sequences.polynomial),
}  # fmt: skip
