"""State of a run in the middle of the plan's body, as the core tells it and as the plan requires it.

The core writes and reads states by `cpp/exec/run_state.cpp`; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable

from latticework.plan.instructions.control import FOR
from latticework.plan.instructions.executable import Instruction
from latticework.plan.instructions.register_kinds import MAIN, CipherKind, IndexKind, Kind
from latticework.plan.instructions.type_rules import Q
from latticework.plan.instructions.walk import inner_blocks
from latticework.plan.schema.schema import Plan
from latticework.values.extension import _core

# Instruction of the body; turns of it that are done, of how many, or 0 of 0: it has not begun; registers.
State = tuple[int, int, int, dict[int, list[_core.Ciphertext]]]


def place_registers(plan: Plan, place: int) -> dict[int, CipherKind] | None:
    """The kinds of all registers that a state before an instruction of the body holds, by register, ascending.

    They are what was computed before it and is read by it or after it. None where there is no such state: where
    they are none, or something that no file holds, and that is made of ciphertexts, is read.
    """
    code = plan.blocks[0].code
    if not 0 < place < len(code):
        return None
    read = _read_by(plan, code[place:])
    found: dict[int, CipherKind] = {}
    quick = {register for register in plan.blocks[0].arguments if isinstance(plan.kind(register), IndexKind)}
    for instruction in code[:place]:
        is_quick = not inner_blocks(instruction) and all(o.register in quick for o in instruction.operands)
        for register in instruction.results:
            kind = plan.kind(register)
            if isinstance(kind, CipherKind) and _is_stored(kind):
                if register in read:
                    found[register] = kind
            elif is_quick:
                quick.add(register)
            elif register in read:
                return None
    return dict(sorted(found.items())) or None


def loop_registers(plan: Plan, place: int) -> dict[int, CipherKind] | None:
    """The kinds of all registers that a state in the loop at a place of the body holds, by register, ascending.

    They are what the loop carries, and what was computed before it and is read in it or after it. None for an
    instruction that is no such loop.
    """
    code = plan.blocks[0].code
    if not 0 <= place < len(code) or code[place].op != FOR.name:
        return None
    carried = plan.blocks[code[place].immediate[0]].arguments[1:]
    found = {register: plan.kind(register) for register in carried}
    if not all(map(_is_stored, found.values())):
        return None
    read = _read_by(plan, code[place + 1 :])
    read |= {code[place].operands[0].register} | _read_in_blocks(plan, [code[place]])
    before = {register for instruction in code[:place] for register in instruction.results}
    found |= {register: plan.kind(register) for register in before & read}
    stored = {register: kind for register, kind in found.items() if isinstance(kind, CipherKind) and _is_stored(kind)}
    return dict(sorted(stored.items()))


def _is_stored(kind: Kind) -> bool:
    """Whether files of ciphertexts hold values of this kind."""
    return isinstance(kind, CipherKind) and (kind.basis, kind.secret) == (Q, MAIN)


def _read_by(plan: Plan, code: Iterable[Instruction]) -> set[int]:
    """Registers that instructions read, and the blocks that they run."""
    code = list(code)
    return {o.register for instruction in code for o in instruction.operands} | _read_in_blocks(plan, code)


def _read_in_blocks(plan: Plan, code: Iterable[Instruction]) -> set[int]:
    found: set[int] = set()
    waiting = [number for instruction in code for number in inner_blocks(instruction)]
    seen = set(waiting)
    while waiting:
        for instruction in plan.blocks[waiting.pop()].code:
            found |= {operand.register for operand in instruction.operands}
            inner = set(inner_blocks(instruction)) - seen
            seen |= inner
            waiting += inner
    return found
