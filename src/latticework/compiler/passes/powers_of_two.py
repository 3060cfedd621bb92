"""powers-of-two: every rotation as rotations by signed powers of two, which few keys make.

In/out: rlwe IR of primitives, same cleartext meaning; rotations that share a decomposition are left as they are, so
expansion goes without hoisting. Steps are written in non-adjacent form, which has the fewest digits that are not 0, and
rotated by the largest one first: steps that begin alike share what they begin with, by `cse`. A vector of n slots needs
at most 2 log2(n) keys instead of n, and a rotation about log2(n) / 3 key switches instead of one.
Source: Reitwieser, Binary Arithmetic (1960), for the form; what compilers do that keep few keys (Fhelipe, PLDI'24).
Cost: O(ops).
"""

from __future__ import annotations

from dataclasses import replace

from latticework.ir import Builder, Module, Op, Pass, Value, rebuild
from latticework.ir.dialects.key_dialect import KeyType
from latticework.ir.dialects.rlwe_dialect import CipherType
from latticework.values.packing.key_manifest import galois_element, signed_steps


def digits(steps: int) -> list[int]:
    """The signed powers of two of the non-adjacent form, the largest first; their sum is `steps`."""
    powers, power = [], 1
    while steps:
        if steps % 2:
            digit = 2 - steps % 4
            powers.append(digit * power)
            steps -= digit
        steps //= 2
        power *= 2
    return powers[::-1]


def powers_of_two(steps: int, slots: int) -> list[int]:
    """The same of a rotation of a vector, in the shorter direction."""
    signed = signed_steps(steps, slots)
    directions = (digits(signed), digits(signed - slots if signed > 0 else signed + slots))
    return min(([part for part in direction if part % slots] for direction in directions), key=len)


def power_of_two_rotations(ring_degree: int) -> Pass[object]:
    """The pass for a ring."""

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op.name != "rlwe.rotate":
            return False
        value, key = mapping[op.operands[0]], op.operands[1].type
        assert isinstance(key, KeyType) and isinstance(value.type, CipherType)
        slots = value.type.slots
        for steps in powers_of_two(op.attrs["steps"], slots):
            spec = replace(key.spec, galois_element=galois_element(signed_steps(steps, slots), ring_degree))
            demand = builder.build("key.demand", [], spec=spec)
            value = builder.build("rlwe.rotate", [value, demand], steps=steps)
        mapping[op.result] = value
        return True

    def run(module: Module, _cost: object) -> Module:
        return rebuild(module, visit)

    reads = ("rlwe", "ckks", "bfv", "key", "loop", "procedure")
    return Pass("powers-of-two", run, reads=reads, writes=("key.demand", "rlwe.rotate"))
