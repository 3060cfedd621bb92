"""Plan code written by hand: registers get their types as they are made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rlwe_cases import SCALE

from latticework import _core

OPCODES = _core.opcodes()
INDEX = ["index"]


def cipher(
    level: int, slots: int = 64, scale: float = SCALE, degree: int = 1, basis: int = 0, track: int = 0, secret=0
) -> list:
    return ["cipher", slots, track, level, scale, degree, basis, secret]


def digits(level: int, slots: int = 64, scale: float = SCALE, degree: int = 1) -> list:
    return ["digits", slots, 0, level, scale, degree]


def plain(level: int, slots: int = 64, scale: float = SCALE, basis: int = 0) -> list:
    return ["plain", slots, 0, level, scale, basis]


@dataclass(frozen=True)
class Last:
    """An operand that is read for the last time."""

    register: int


@dataclass
class Assembler:
    keys: list[dict] = field(default_factory=list)
    constants: int = 0
    types: list[list] = field(default_factory=list)
    registers: list[int] = field(default_factory=list)
    blocks: list[dict] = field(default_factory=list)

    def register(self, type_: list) -> int:
        if type_ not in self.types:
            self.types.append(type_)
        self.registers.append(self.types.index(type_))
        return len(self.registers) - 1

    def block(self, *arg_types: list) -> Block:
        args = [self.register(type_) for type_ in arg_types]
        self.blocks.append({"args": args, "code": []})
        return Block(self, len(self.blocks) - 1, args)

    def document(self) -> dict[str, Any]:
        return {
            "types": self.types,
            "registers": self.registers,
            "blocks": self.blocks,
            "keys": self.keys,
            "constants": self.constants,
        }

    def plan(self, parameters: _core.Parameters) -> _core.Plan:
        return _core.Plan(parameters, _core.cbor_encode(self.document()))


@dataclass
class Block:
    assembler: Assembler
    number: int
    args: list[int]

    def emit(self, name: str, operands: list, results: list[list], imm: tuple[int, ...] = ()) -> list[int]:
        ins = [2 * o.register + 1 if isinstance(o, Last) else 2 * o for o in operands]
        outs = [self.assembler.register(type_) for type_ in results]
        code = self.assembler.blocks[self.number]["code"]
        code.append([OPCODES[name], len(code), ins, outs, list(imm)])
        return outs

    def op(self, name: str, operands: list, result: list, *imm: int) -> int:
        return self.emit(name, operands, [result], imm)[0]

    def yield_(self, *operands: int | Last) -> None:
        self.emit("yield", list(operands), [])
