"""The registers of a plan that is run on slot vectors, and what each instruction means: the plan's oracle.

Levels, scales and degrees are checked at every step, values are checked
against the modulus that has to hold them, and noise can be drawn as modelled.
Inside, an array of vectors is (..., count, slots), also where the count is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log2, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import LevelError, RangeError, ScaleError, UserError
from latticework.packing.arrays import as_value, concat_vectors, dot_vectors, sum_vectors, take_vectors
from latticework.packing.constants import ConstRef, MapSums
from latticework.packing.embedding import raise_modulus, unembed
from latticework.packing.keys import KeySpec, galois_action
from latticework.plan import noise as model
from latticework.plan.schema import (
    CipherKind,
    DigitsKind,
    IndexKind,
    Instruction,
    KeyKind,
    PlainKind,
    Plan,
)

Slots = npt.NDArray[Any]  # complex128, or float64 for plans that are real throughout
Item = Slots | int | KeySpec
OnValue = Callable[[int, Slots], None]
SCALE_TOLERANCE = 2.0**-20
DRAWN = 1 << 22  # random numbers that are drawn afresh in one run
MAX_COEFFICIENT = 2.0**62  # of an encoded vector, whose coefficients are at most its largest slot

_INDEX = {"iadd": int.__add__, "isub": int.__sub__, "imul": int.__mul__, "imin": min, "ilt": lambda a, b: int(a < b)}


class Simulation:
    """The registers of one run, and what each instruction does to them."""

    def __init__(self, plan: Plan, noise: np.random.Generator | None, on_value: OnValue | None) -> None:
        self.plan = plan
        self.chain = plan.chain
        self.noise = noise
        self.on_value = on_value
        self.registers: dict[int, Item] = {}
        self.draws_secret = False
        self.shares: dict[int, Slots] = {}
        self.drawn = 0
        self.pool: Slots = np.zeros(0)
        # Without conjugation and complex constants, imaginary parts are noise that never reaches the real parts.
        is_complex = (
            any(k.galois_element % 4 == 3 for k in plan.keys)
            or any(c.is_complex for c in plan.constants)
            or any(instruction.op in ("mod_raise", "mul_monomial") for _, _, instruction in plan.walk())
        )
        self.dtype: type = np.complex128 if is_complex else np.float64

    def block(self, number: int, arguments: Sequence[Item]) -> list[Item]:
        """Run a block; returns what it yields."""
        block = self.plan.blocks[number]
        for register, value in zip(block.arguments, arguments, strict=True):
            self.write(register, value)
        for instruction in block.code:
            operands = [self.registers[o.register] for o in instruction.operands]
            for operand in instruction.operands:
                if operand.last_use:
                    self.registers.pop(operand.register, None)
            if instruction.op == "yield":
                return operands
            try:
                for register, value in zip(instruction.results, self.step(instruction, operands), strict=True):
                    self.write(register, value)
            except UserError as error:
                if error.at is not None:
                    raise
                raise type(error)(error.message, at=self.plan.locations[instruction.location]) from None
        raise AssertionError(f"block {number} does not end in yield")

    def write(self, register: int, value: Item) -> None:
        """Set a register, checking that its modulus can hold the value."""
        self.registers[register] = value
        kind = self.plan.kind(register)
        if isinstance(kind, CipherKind) and kind.basis == 0:
            assert isinstance(value, np.ndarray)
            largest = float(np.max(np.abs(value), initial=0.0))
            room = log2(self.chain.modulus(kind.level, kind.track)) - 1
            if largest > 0 and log2(largest) + log2(kind.scale) > room:  # coefficients are no larger than slots
                words = unembed(value)
                largest = float(max(np.max(np.abs(words.real)), np.max(np.abs(words.imag))))
            if largest > 0 and log2(largest) + log2(kind.scale) > room:
                most = 2.0 ** (room - log2(kind.scale))
                raise RangeError(
                    f"a value here reaches {largest:.3g}, and there is room for {most:.3g}: "
                    "scale the inputs or weights down by a public number, or calibrate with data that cover the values "
                    "that occur"
                )
            self.report(register, value)

    def report(self, register: int, value: Slots) -> None:
        """Tell whoever listens."""
        if self.on_value is not None:
            self.on_value(register, as_value(value))

    def decoded(self, tensor: Slots) -> Slots:
        """An output as it is given to the caller."""
        return tensor

    def product(self, a: Slots, b: Slots) -> Slots:
        """The product of two arrays, slot by slot."""
        return a * b

    def rounding(self, slots: int, degree: int = 1) -> Slots | float:
        """Deviation of a coefficient of a rounded ciphertext; where a secret is drawn, as seen by each slot."""
        if not self.draws_secret:
            return model.mod_down(self.chain.ring_degree, degree)
        if slots not in self.shares:
            assert self.noise is not None
            self.shares[slots] = model.secret_shares(self.chain.ring_degree, slots, self.noise)
        return model.mod_down_by_slot(self.chain.ring_degree, degree, self.shares[slots])

    def noisy(self, value: Slots, deviation: Slots | float, scale: float) -> Slots:
        """The value with noise of this coefficient deviation, if noise is drawn."""
        if self.noise is None:
            return value
        sigma = deviation * np.sqrt(value.shape[-1]) / scale
        if not np.iscomplexobj(value):
            real: Slots = value + sigma * self.normal(value.shape)
            return real
        noisy = value.copy()
        noisy.real += sigma * self.normal(value.shape)
        noisy.imag += sigma * self.normal(value.shape)
        return noisy

    def normal(self, shape: tuple[int, ...]) -> Slots:
        """Standard normal numbers; where very many have been drawn, a stretch of those, from any place on."""
        assert self.noise is not None
        size = prod(shape)
        self.drawn += size
        if self.drawn <= DRAWN:
            return self.noise.normal(size=shape)
        if self.pool.size < 2 * size:
            self.pool = self.noise.normal(size=max(DRAWN, 2 * size))
        start = int(self.noise.integers(self.pool.size - size + 1))
        drawn: Slots = self.pool[start : start + size].reshape(shape)
        return drawn

    def step(self, instruction: Instruction, x: list[Item]) -> list[Item]:
        """Meaning of one instruction, its rules checked."""
        op, immediate = instruction.op, instruction.immediate
        if op == "for":
            return self.loop(instruction, x)
        if op == "if":
            return self.block(immediate[0 if x[0] else 1], x[1:])
        if op == "iconst":
            return [immediate[0]]
        if op in _INDEX:
            return [_INDEX[op](*x)]  # type: ignore[operator]
        kind = self.plan.kind(instruction.results[0])
        if op == "key":
            assert isinstance(kind, KeyKind)
            return [self.plan.keys[kind.key]]
        if op == "encode":
            assert isinstance(kind, PlainKind)
            constant = self.plan.constants[immediate[0]]
            assert isinstance(constant, ConstRef)
            return [self.encoded(constant, kind.scale).reshape(kind.count, -1)]
        if op == "hoist":
            return [x[0]]
        assert isinstance(kind, CipherKind)
        self.check(instruction, kind)
        if op == "diag_sums":
            return list(self.diag_sums(instruction, x))
        if op == "map_sums":
            return [self.map_sums(instruction, kind, x)]
        return [self.cipher_step(instruction, kind, x)]

    def loop(self, instruction: Instruction, x: list[Item]) -> list[Item]:
        """A counted loop."""
        block, limit = instruction.immediate
        trips, carried = x[0], x[1:]
        assert isinstance(trips, int)
        if not 0 <= trips <= limit:
            raise RangeError(f"for: the trip count is {trips}; this plan allows 0 to {limit}")
        for i in range(trips):
            carried = self.block(block, [i, *carried])
        return carried

    def diag_sums(self, instruction: Instruction, x: list[Item]) -> list[Slots]:
        """Inner sums of a linear transform: rotated copies of one value, times plaintexts."""
        num_keys, num_giants, *pairs = instruction.immediate
        digits = self.plan.kind(instruction.operands[0].register)
        assert isinstance(digits, DigitsKind)
        value = x[0]
        assert isinstance(value, np.ndarray)
        deviation = model.key_product(self.chain, digits.level, digits.track)
        babies = [value]
        for key in x[1 : 1 + num_keys]:
            assert isinstance(key, KeySpec)
            babies.append(apply_galois(self.noisy(value, deviation, digits.scale), key.galois_element))
        sums = [np.zeros_like(value) for _ in range(num_giants)]
        for baby, giant, plain in zip(pairs[::2], pairs[1::2], x[1 + num_keys :], strict=True):
            sums[giant] = sums[giant] + self.product(np.asarray(plain), babies[baby])
        return sums

    def encoded(self, constant: ConstRef, scale: float) -> Slots:
        """Public vectors as the encoder rounds them."""
        vector: Slots = constant.evaluate(self.plan.sources).astype(self.dtype, copy=False)
        largest = float(np.max(np.abs(vector)))
        if largest * scale >= MAX_COEFFICIENT:
            raise RangeError(
                f"encode: a public number of magnitude {largest:.3g} at scale 2^{log2(scale):.1f} is more "
                "than the encoder's 2^62; scale the weights down, or lower precision_bits"
            )
        return self.noisy(vector, model.encoding(), scale)

    def map_sums(self, instruction: Instruction, kind: CipherKind, x: list[Item]) -> Slots:
        """Inner sums of a block map: rotated copies of its inputs, times plaintexts."""
        source, value = self.plan.kind(instruction.operands[0].register), x[0]
        sums = self.plan.constants[instruction.immediate[0]]
        assert isinstance(source, CipherKind) and isinstance(value, np.ndarray) and isinstance(sums, MapSums)
        deviation = model.key_product(self.chain, source.level, source.track)
        keys = [key for key in x if isinstance(key, KeySpec)]
        babies = {
            (in_, baby): apply_galois(
                self.noisy(value[..., in_, :], deviation, source.scale), keys[baby - 1].galois_element
            )
            for in_, baby in sums.products.switches()
        }
        totals: Slots = np.zeros((*value.shape[:-2], kind.count, kind.slots), dtype=value.dtype)
        for (in_, baby, group), constant in zip(sums.products.rows.tolist(), sums.products.values, strict=True):
            turned = babies[in_, baby] if baby else value[..., in_, :]
            totals[..., group, :] += self.product(self.encoded(constant, kind.scale / source.scale), turned)
        return totals

    def cipher_step(self, instruction: Instruction, kind: CipherKind, x: list[Item]) -> Slots:
        """Slot meaning of an instruction that makes a ciphertext."""
        op = instruction.op
        a = x[0]
        assert isinstance(a, np.ndarray)
        before = self.plan.kind(instruction.operands[0].register)
        match op:
            case "add" | "add_plain":
                return a + x[1]
            case "sub" | "sub_plain":
                return a - x[1]
            case "mul" | "mul_plain":
                return a * x[1]
            case "dot":
                return dot_vectors(a, np.asarray(x[1]), instruction.immediate[0])
            case "sum":
                return sum_vectors(a, instruction.immediate[0])
            case "take":
                return take_vectors(a, instruction.immediate)
            case "concat":
                return concat_vectors([np.asarray(part) for part in x])
            case "square":
                return a * a
            case "neg":
                return -a
            case "mul_int":
                assert isinstance(before, CipherKind)
                return a * (instruction.immediate[0] * (before.scale / kind.scale))
            case "add_int":
                return a + instruction.immediate[0] / kind.scale
            case "relabel":
                assert isinstance(before, CipherKind)
                return a[..., np.arange(kind.slots) % before.slots] * (before.scale / kind.scale)
            case "drop_level" | "trivial" | "extend":
                return a
            case "mul_monomial":
                half = self.chain.ring_degree // 2
                if instruction.immediate[0] % half:
                    raise RangeError(f"mul_monomial: X^{instruction.immediate[0]} has no meaning on slots")
                return a * (1, 1j, -1, -1j)[instruction.immediate[0] // half]
            case "to_sparse":
                return self.noisy(a, model.to_sparse(self.chain), kind.scale)
            case "mod_raise":
                assert isinstance(before, CipherKind)
                drawn = np.random.default_rng(0) if self.noise is None else self.noise
                raised = raise_modulus(a, kind.slots, self.chain.modulus(0) / before.scale, drawn)
                return self.noisy(raised, model.mod_raise(self.chain, instruction.immediate[0]), kind.scale)
            case "mod_down":
                return self.noisy(a, self.rounding(a.shape[-1], kind.degree), kind.scale)
            case "key_product" | "rotate" | "relinearize":
                key = x[1]
                assert isinstance(key, KeySpec) and not isinstance(before, KeyKind | IndexKind)
                a = self.noisy(a, model.key_product(self.chain, before.level, before.track), before.scale)
                if op != "key_product":
                    a = self.noisy(a, self.rounding(a.shape[-1]), kind.scale)
                return a if key.kind == "relin" else apply_galois(a, key.galois_element)
        raise AssertionError(f"no meaning for opcode {op}")

    def check(self, instruction: Instruction, kind: CipherKind) -> None:
        """Level and scale rules of one instruction."""
        kinds = [self.plan.kind(o.register) for o in instruction.operands]
        held = [k for k in kinds if isinstance(k, CipherKind | PlainKind | DigitsKind)]
        level = min(k.level for k in held)
        if instruction.op == "mod_raise":
            if (held[0].level, held[0].track) != (0, 0):
                raise LevelError(f"mod_raise: from level {level} of track {held[0].track}; level 0 is where it starts")
        elif instruction.op in ("mod_down", "drop_level", "rotate", "relinearize"):
            if kind.level > level:
                raise LevelError(f"{instruction.op}: from level {level} up to {kind.level}")
        elif any(k.level != kind.level for k in held):
            raise LevelError(f"{instruction.op}: levels {[k.level for k in held]} give level {kind.level}")
        expected = self.expected_scale(instruction, kind, held)
        if expected is not None and abs(expected / kind.scale - 1) > SCALE_TOLERANCE:
            raise ScaleError(
                f"{instruction.op}: the scale should be 2^{log2(expected):.6f}, "
                f"the plan states 2^{log2(kind.scale):.6f}"
            )

    def expected_scale(
        self, instruction: Instruction, kind: CipherKind, held: list[CipherKind | PlainKind | DigitsKind]
    ) -> float | None:
        """The scale that follows from the operands, or None where it is a free choice."""
        match instruction.op:
            case "mul" | "mul_plain" | "dot":
                return held[0].scale * held[1].scale
            case "diag_sums":
                scales = {k.scale for k in held[1:]}
                if max(scales) / min(scales) - 1 > SCALE_TOLERANCE:
                    raise ScaleError(f"diag_sums: plaintexts at scales {sorted(scales)}")
                return held[0].scale * held[1].scale
            case "mod_raise":
                return held[0].scale * instruction.immediate[0]
            case "square":
                return held[0].scale ** 2
            case "mod_down" | "rotate" | "relinearize":
                dropped = self.chain.modulus(held[0].level, kind.track) // self.chain.modulus(kind.level, kind.track)
                return held[0].scale / dropped
            case "mul_int" | "relabel" | "map_sums":
                return None
            case _:
                if max(k.scale for k in held) / min(k.scale for k in held) - 1 > SCALE_TOLERANCE:
                    raise ScaleError(f"{instruction.op}: operands at scales {[k.scale for k in held]}")
                return held[0].scale


def apply_galois(x: Slots, element: int) -> Slots:
    """X -> X^element on periodic slot vectors (..., slots)."""
    steps, conjugates = galois_action(element, x.shape[-1])
    return np.roll(np.conj(x) if conjugates else x, -steps, axis=-1)
