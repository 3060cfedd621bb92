"""manage-bfv: ciphertexts of exact integers modulo t for every vector, products relinearised where something needs it.

In:  vec IR (scheme-free) and a modulus chain with a plaintext modulus.
Out: rlwe + bfv IR, all of it at the top level: no product takes one. Products are relinearised where that takes the
fewest operations (`lazy_bfv`). Constants are integers, which are read modulo t.
Meaning kept: the same slot vectors modulo t, exactly.
Cost: O(ops).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from latticework.dialects.bfv import SCALE, SCHEME
from latticework.dialects.rlwe import CipherType, Level
from latticework.dialects.vec import VecType
from latticework.errors import DtypeError, RangeError, UnsupportedError
from latticework.ir import Block, Builder, Module, Op, Value
from latticework.levels.depth import is_public
from latticework.levels.lazy_bfv import relinearized
from latticework.levels.manage import Managed, Public, products_of
from latticework.packing.constants import ConstRef, LinearMap, splat
from latticework.params import ModulusChain
from latticework.techniques import ALL, Techniques

MAX_INTEGER = 2.0**53  # of constants, which are stored as float64


def manage_bfv(module: Module, chain: ModulusChain, techniques: Techniques = ALL) -> Module:
    """Rewrite a verified `vec` module of straight-line code.

    techniques  whether products are relinearised lazily
    raises  UnsupportedError for what BFV has not (polynomials, conjugates, loops), DtypeError for constants that are
            no integers, RangeError for ones that float64 does not hold exactly; all at the user's line
    """
    body = Block()
    result = Module(body, list(module.input_names), list(module.outputs), dict(module.sources))
    emitter = _Emitter(Builder(body), chain, module.sources)
    settled = relinearized(module, lazy=techniques.lazy_relinearization)
    env: dict[Value, Managed] = {}
    for arg in module.body.args:
        if not isinstance(arg.type, VecType):
            raise UnsupportedError("BFV: run-time integers are for loops, which it has not; give a plain int")
        kind = CipherType(SCHEME, arg.type.count, arg.type.slots, emitter.top, SCALE)
        env[arg] = body.add_arg(kind, arg.origin)
    for op in module.body.ops:
        emitter.builder.loc = op.loc
        if op.name == "loop.yield":
            emitter.builder.create("loop.yield", [emitter.settle(emitter.encrypted(env[v])) for v in op.operands])
            return result
        made = emitter.op(op, [env[v] for v in op.operands])
        if isinstance(made, Value):
            if op.result in settled:
                made = emitter.settle(made)
            made.origin = op.result.origin
        env[op.result] = made
    raise AssertionError("a module ends in loop.yield")


class _Emitter:
    """Emits bfv code at a builder's insertion point."""

    def __init__(self, builder: Builder, chain: ModulusChain, sources: Mapping[str, npt.NDArray[np.float64]]) -> None:
        self.builder = builder
        self.chain = chain
        self.sources = sources
        self.top = Level(0, chain.main.top)
        self.checked: set[str] = set()

    def op(self, op: Op, operands: list[Managed]) -> Managed:
        """One operation."""
        if not is_public(op) and not any(isinstance(v, Value) for v in operands):
            first = next(i for i, v in enumerate(op.operands) if v.is_secret)
            operands[first] = self.encrypted(operands[first])
        attrs = op.attrs
        handlers: dict[str, Callable[..., Managed]] = {
            "vec.add": lambda a, b: self.add(op, "add", a, b),
            "vec.sub": lambda a, b: self.add(op, "sub", a, b),
            "vec.neg": lambda a: self.build("rlwe.neg", [a]),
            "vec.mul": lambda a, b: self.mul(op, a, b),
            "vec.constant": lambda: Public(attrs["value"], attrs["value"].slots),
            "vec.splat": lambda: Public(attrs["value"], attrs["slots"]),
            "vec.trivial": lambda a: a,
            "vec.take": lambda a: self.build("rlwe.take", [self.encrypted(a)], vectors=attrs["vectors"]),
            "vec.concat": self.concat,
            "vec.sum": lambda a: self.build("rlwe.sum", [self.encrypted(a)], groups=attrs["groups"]),
            "vec.rotate": lambda a: self.build("rlwe.rotate", [self.settle(a)], steps=attrs["steps"]),
            "vec.linear_transform": lambda a: self.linear_transform(op, a),
        }
        if op.name not in handlers:
            raise UnsupportedError(
                f"{op.name}: BFV computes exactly on integers modulo t and has no such operation; compile for CKKS, or "
                "write it with +, - and *",
                at=op.loc,
            )
        return handlers[op.name](*operands)

    def add(self, op: Op, kind: str, a: Managed, b: Managed) -> Value:
        """Add or subtract, whatever the degrees."""
        if isinstance(a, Public):
            assert isinstance(b, Value)
            return self.add(op, "add", b if kind == "add" else self.build("rlwe.neg", [b]), a)
        if isinstance(b, Value):
            return self.build(f"rlwe.{kind}", [a, b])
        if isinstance(b.value, ConstRef):
            return self.build(f"bfv.{kind}_plain", [a, self.addend(op, b.value)])
        addend = self.integer(op, b.value) * (1 if kind == "add" else -1)
        return self.build("rlwe.add_int", [a], addend=addend)

    def mul(self, op: Op, a: Managed, b: Managed) -> Value:
        """Multiply; a product of ciphertexts has degree 2."""
        if isinstance(a, Public):
            a, b = b, a
        assert isinstance(a, Value)
        if isinstance(b, Value):
            factors = [self.settle(a)] if a is b else [self.settle(a), self.settle(b)]
            return self.build("bfv.square" if a is b else "bfv.mul", factors)
        if isinstance(b.value, ConstRef):
            self.check(op, b.value)
            plain = self.build("rlwe.encode", [], value=b.value, slots=b.slots, level=self.top, scale=SCALE, basis="Q")
            return self.build("rlwe.mul_plain", [a, plain])
        return self.build("rlwe.mul_int", [a], factor=self.integer(op, b.value), scale=SCALE)

    def concat(self, *arrays: Managed) -> Value:
        """Join arrays, of degree 1."""
        return self.build("rlwe.concat", [self.settle(self.encrypted(a)) for a in arrays])

    def linear_transform(self, op: Op, a: Managed) -> Value:
        """Kept symbolic until it is expanded."""
        linear_map: LinearMap = op.attrs["map"]
        if not linear_map.is_real:
            raise DtypeError("BFV: a linear map is complex; slots hold integers", at=op.loc)
        for part in linear_map.all_parts:
            self.check_numbers(op, np.array([part.factor]))
            if part.gather.source is not None:
                self.check_source(op, part.gather.source)
        for diagonal in linear_map.explicit:
            self.check(op, diagonal.values)
        return self.build("bfv.linear_transform", [self.settle(a)], map=linear_map)

    def settle(self, value: Managed) -> Value:
        """Degree 1, on the lines of the products."""
        assert isinstance(value, Value)
        if _degree(value) == 1:
            return value
        reader, self.builder.loc = self.builder.loc, products_of(value)
        value = self.build("rlwe.relinearize", [value])
        self.builder.loc = reader
        return value

    def encrypted(self, value: Managed) -> Value:
        """A public value as a trivial ciphertext; others unchanged."""
        if isinstance(value, Value):
            return value
        ref = value.value if isinstance(value.value, ConstRef) else splat(value.value, value.slots)
        return self.build("bfv.trivial", [self.addend(None, ref)])

    def addend(self, op: Op | None, value: ConstRef) -> Value:
        """A constant as it is added."""
        self.check(op, value)
        return self.build("bfv.encode", [], value=value, level=self.top)

    def integer(self, op: Op, value: float) -> int:
        """A number in every slot, as its representative modulo t nearest to zero."""
        self.check_numbers(op, np.array([value]))
        residue = int(value) % self.chain.plain_modulus
        return residue - self.chain.plain_modulus if residue > self.chain.plain_modulus // 2 else residue

    def check(self, op: Op | None, value: ConstRef) -> None:
        """Errors unless a constant is of integers."""
        if value.is_complex:
            raise DtypeError("BFV: a constant is complex; slots hold integers", at=None if op is None else op.loc)
        self.check_numbers(op, np.array([value.factor]))
        for name in value.sources:
            self.check_source(op, name)
        if value.plus is not None:
            self.check(op, value.plus)

    def check_source(self, op: Op | None, name: str) -> None:
        """Errors unless an array of weights holds integers."""
        if name not in self.checked:
            self.check_numbers(op, np.asarray(self.sources[name]))
            self.checked.add(name)

    def check_numbers(self, op: Op | None, numbers: npt.NDArray[np.float64]) -> None:
        """DtypeError or RangeError unless numbers are integers that float64 holds exactly."""
        at = None if op is None else op.loc
        broken = numbers[numbers != np.rint(numbers)]
        if broken.size:
            raise DtypeError(
                f"BFV: a constant is {broken.reshape(-1)[0]:g}; slots hold integers modulo "
                f"{self.chain.plain_modulus}: scale it to an integer, or compile for CKKS",
                at=at,
            )
        large = numbers[np.abs(numbers) > MAX_INTEGER]
        if large.size:
            raise RangeError(f"BFV: a constant is {large.reshape(-1)[0]:.17g}; give it reduced modulo t", at=at)

    def build(self, name: str, operands: Sequence[Managed], **attrs: object) -> Value:
        """Create an operation with one result."""
        return self.builder.build(name, operands, **attrs)  # type: ignore[arg-type]


def _degree(value: Value) -> int:
    assert isinstance(value.type, CipherType), value.type
    return value.type.degree
