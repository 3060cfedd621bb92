"""Random sequences of CKKS operations: ciphertexts, what they should hold, and a record of every step.

`Sequences` draws a legal operation on a pool of values and applies it twice: to ciphertexts, and to the estimates of
their errors that an expert would carry along. Each value has the slots expected by NumPy and the records of the
operations that made it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from latticework import ckks

SLOTS = 16
MAX_VALUE = 8.0
FLOAT_ERROR = 2.0**-48  # relative, for each step: of the expected slots themselves, and of what is read as doubles


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
    """A ciphertext, the slots it should hold, and the estimate of how far off they are.

    floats  error of the expected slots, which were computed in doubles
    """

    ciphertext: ckks.Ciphertext
    expected: np.ndarray
    estimate: ckks.Estimate
    floats: float
    records: tuple[Record, ...] = field(default=())

    @property
    def size(self) -> float:
        return float(np.max(np.abs(self.expected)))

    @property
    def bound(self) -> float:
        """What no slot's error may exceed."""
        return self.estimate.bound.worst + self.floats


@dataclass(frozen=True)
class World:
    """Small INSECURE parameters with keys for everything that a sequence can do."""

    parameters: ckks.Parameters
    evaluator: ckks.Evaluator
    encryptor: ckks.Encryptor
    decryptor: ckks.Decryptor
    estimator: ckks.Estimator
    transforms: tuple[ckks.LinearTransform, ...]
    polynomials: tuple[ckks.Polynomial, ...]


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
        ckks.Estimator(parameters, complex_slots=True),
        transforms,
        polynomials,
    )


def fresh(w: World, values: np.ndarray) -> Tracked:
    c = w.encryptor.encrypt(values)
    sizes = np.abs(values)
    estimate = w.estimator.fresh(float(np.max(sizes)), float(np.sqrt(np.mean(sizes**2))), ciphertext=c)
    return Tracked(c, values, estimate, FLOAT_ERROR, (Record("encrypt", (), c.level, c.scale, c.degree),))


class Sequences:
    """Draws operations by `choose(n)`, a number below n; `vector()` gives public slots."""

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

    def made(
        self, name: str, apply: Any, expected: np.ndarray, parents: tuple[Tracked, ...], *arguments: Any
    ) -> Tracked:
        c = apply(self.w.evaluator, *(p.ciphertext for p in parents))
        estimate = apply(self.w.estimator, *(p.estimate for p in parents))
        record = Record(name, arguments, c.level, c.scale, c.degree)
        size = 1.0 + max(p.size for p in parents)
        floats = size * (sum(p.floats for p in parents) + FLOAT_ERROR * size)
        return Tracked(c, expected, estimate, floats, (*(r for p in parents for r in p.records), record))

    # The operations.

    def add(self, a: Tracked, b: Tracked) -> Tracked:
        return self.made("add", lambda e, x, y: e.add(x, y), a.expected + b.expected, (a, b))

    def sub(self, a: Tracked, b: Tracked) -> Tracked:
        return self.made("sub", lambda e, x, y: e.sub(x, y), a.expected - b.expected, (a, b))

    def aligned_add(self, a: Tracked, b: Tracked) -> Tracked:
        return self.made("operator +", lambda _e, x, y: x + y, a.expected + b.expected, (a, b))

    def aligned_mul(self, a: Tracked, b: Tracked) -> Tracked:
        return self.made("operator *", lambda _e, x, y: x * y, a.expected * b.expected, (a, b))

    def neg(self, a: Tracked, _b: Tracked) -> Tracked:
        return self.made("neg", lambda e, x: e.neg(x), -a.expected, (a,))

    def mul(self, a: Tracked, b: Tracked) -> Tracked:
        return self.made("mul", lambda e, x, y: e.mul(x, y), a.expected * b.expected, (a, b))

    def square(self, a: Tracked, _b: Tracked) -> Tracked:
        return self.made("square", lambda e, x: e.square(x), a.expected**2, (a,))

    def mul_plain(self, a: Tracked, _b: Tracked) -> Tracked:
        values = self.vector()
        return self.made("mul_plain", lambda e, x: e.mul_plain(x, values), a.expected * values, (a,))

    def mul_number(self, a: Tracked, _b: Tracked) -> Tracked:
        number = (-0.5, 0.75, 1.0 / 3.0)[self.choose(3)]
        return self.made("mul_plain", lambda e, x: e.mul_plain(x, number), a.expected * number, (a,), number)

    def add_plain(self, a: Tracked, _b: Tracked) -> Tracked:
        values = self.vector()
        return self.made("sub", lambda e, x: e.sub(x, values), a.expected - values, (a,))

    def add_number(self, a: Tracked, _b: Tracked) -> Tracked:
        number = (-1.5, 0.1, 2.0)[self.choose(3)]
        return self.made("add", lambda e, x: e.add(x, number), a.expected + number, (a,), number)

    def mul_int(self, a: Tracked, _b: Tracked) -> Tracked:
        factor = (-2, 0, 3)[self.choose(3)]
        return self.made("mul_int", lambda e, x: e.mul_int(x, factor), a.expected * factor, (a,), factor)

    def mul_i(self, a: Tracked, _b: Tracked) -> Tracked:
        return self.made("mul_i", lambda e, x: e.mul_i(x), 1j * a.expected, (a,))

    def relinearize(self, a: Tracked, _b: Tracked) -> Tracked:
        return self.made("relinearize", lambda e, x: e.relinearize(x), a.expected, (a,))

    def relinearize_and_rescale(self, a: Tracked, _b: Tracked) -> Tracked:
        return self.made("both", lambda e, x: e.relinearize(x, rescale=True), a.expected, (a,))

    def rescale(self, a: Tracked, _b: Tracked) -> Tracked:
        return self.made("rescale", lambda e, x: e.rescale(x), a.expected, (a,))

    def mod_switch(self, a: Tracked, _b: Tracked) -> Tracked:
        level = self.choose(a.ciphertext.level)
        return self.made("mod_switch", lambda e, x: e.mod_switch(x, level), a.expected, (a,), level)

    def level_to(self, a: Tracked, _b: Tracked) -> Tracked:
        level = self.choose(a.ciphertext.level)
        return self.made("level_to", lambda e, x: e.level_to(x, level), a.expected, (a,), level)

    def rotate(self, a: Tracked, _b: Tracked) -> Tracked:
        steps = self.choose(4 * SLOTS) - 2 * SLOTS
        return self.made("rotate", lambda e, x: e.rotate(x, steps), np.roll(a.expected, -steps), (a,), steps)

    def rotate_many(self, a: Tracked, _b: Tracked) -> Tracked:
        steps = [self.choose(SLOTS) for _ in range(3)]

        def apply(e: ckks.Evaluator, x: ckks.Ciphertext) -> ckks.Ciphertext:
            first, second, third = e.rotate_many(x, steps)
            return e.add(e.add(first, second), third)

        return self.made("rotate_many", apply, sum(np.roll(a.expected, -k) for k in steps), (a,), *steps)

    def conjugate(self, a: Tracked, _b: Tracked) -> Tracked:
        return self.made("conjugate", lambda e, x: e.conjugate(x), np.conj(a.expected), (a,))

    def linear_transform(self, a: Tracked, _b: Tracked) -> Tracked:
        number = self.choose(len(self.w.transforms))
        transform = self.w.transforms[number]
        return self.made(
            "linear_transform", lambda e, x: e.linear_transform(x, transform), transform(a.expected), (a,), number
        )

    def polynomial(self, a: Tracked, _b: Tracked) -> Tracked:
        number = self.choose(len(self.w.polynomials))
        polynomial = self.w.polynomials[number]
        return self.made("polynomial", lambda e, x: e.polynomial(x, polynomial), polynomial(a.expected), (a,), number)


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
    "both": (
        lambda a, b: a.ciphertext.degree == 2 and _is_wide(a) and a.ciphertext.level > 0,
        Sequences.relinearize_and_rescale,
    ),
    "rescale": (lambda a, b: _is_wide(a) and a.ciphertext.level > 0, Sequences.rescale),
    "mod_switch": (lambda a, b: a.ciphertext.is_settled and a.ciphertext.level > 0, Sequences.mod_switch),
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
