"""Lower bounds of the rotations and sources of a circuit whose operations are assigned to instructions.

A *register* is the vector of a pack, or of an input group that is packed. Two arguments, for any number of lanes:

- In one instruction, several operations read one value over different distances, and so does one operation two values
  of one register: distances colour the edges between values and operations. So as many distances are needed as the
  largest degree, and one of them may be 0. Each other one is a rotation of that register, if what an instruction reads
  are merges of registers rotated once each (*direct* movement). Rotating copies that were rotated or merged before
  can take fewer.
- A value that depends on n values of one register (a sum of n lanes) is reached from n different lanes. By k rotations,
  of whatever vectors, there are at most 2^k distances, one for each subset of them, so k >= log2 n. Of direct movement
  they are rotations of that register and of those between it and the value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bench.coyote.exact.exact_circuit import FREE, GROUPED, INPUT, ExactCircuit, Pack

Register = tuple[str, int]  # ("pack", number) or ("group", number)


class RotationCut(NamedTuple):
    """These registers are rotated at least so often, altogether."""

    registers: frozenset[Register]
    at_least: int


def registers(circuit: ExactCircuit, packs: Sequence[Pack]) -> dict[int, Register]:
    """Return the register of each node. Inputs of free groups without fixed lanes have none: they lie where used."""
    result: dict[int, Register] = {node: ("pack", number) for number, (_, nodes) in enumerate(packs) for node in nodes}
    for node, code in enumerate(circuit.codes):
        group = circuit.groups[node]
        if code == INPUT and (circuit.packing[group] != FREE or circuit.fixed[group]):
            result[node] = ("group", group)
    return result


def has_copies(circuit: ExactCircuit, register: Register) -> bool:
    """Whether values of a register lie in as many lanes as wanted."""
    kind, group = register
    return kind == "group" and circuit.packing[group] != GROUPED and not circuit.fixed[group]


def distances(circuit: ExactCircuit, packs: Sequence[Pack]) -> dict[tuple[int, Register], int]:
    """(pack, register it reads) -> over how many distances at least."""
    where = registers(circuit, packs)
    result: dict[tuple[int, Register], int] = {}
    for number, (_, nodes) in enumerate(packs):
        readers: dict[int, int] = {}
        for node in nodes:
            together: dict[Register, int] = {}
            for operand in set(circuit.operands[node]) & where.keys():
                register = where[operand]
                readers[operand] = readers.get(operand, 0) + 1
                together[register] = together.get(register, 0) + 1
                degree = together[register] if has_copies(circuit, register) else readers[operand]
                result[number, register] = max(result.get((number, register), 1), degree, together[register])
    return result


def rotation_cuts(circuit: ExactCircuit, packs: Sequence[Pack]) -> list[RotationCut]:
    """Return the cuts that both arguments give for direct movement; of equal sets of registers the strongest."""
    cuts: dict[frozenset[Register], int] = {}
    for (_, register), needed in distances(circuit, packs).items():
        one = frozenset([register])
        cuts[one] = max(cuts.get(one, 0), needed - 1)
    for values, between in _dependences(circuit, packs):
        cuts[between] = max(cuts.get(between, 0), (values - 1).bit_length())
    return [RotationCut(between, number) for between, number in cuts.items() if number > 0]


def rotations_of_any(circuit: ExactCircuit, packs: Sequence[Pack] = ()) -> int:
    """Rotations that any vector program needs in which these packs are instructions; without packs: any at all.

    So many distances, of one value to the lanes that read it or of values to the one that depends on them, that fewer
    rotations do not combine to them. Holds unless what a value depends on cancels.
    """
    apart = [*distances(circuit, packs).values(), *(values for values, _ in _dependences(circuit, packs))]
    return max(((number - 1).bit_length() for number in apart), default=0)


def _dependences(circuit: ExactCircuit, packs: Sequence[Pack]) -> Iterator[tuple[int, frozenset[Register]]]:
    """Yield for each operation and register: on how many of its values it depends, and the registers between."""
    where = registers(circuit, packs)
    # Of each node and each register that it depends on: values it depends on, registers on the way to them.
    reach: list[dict[Register, tuple[frozenset[int], frozenset[Register]]]] = []
    for node, operands in enumerate(circuit.operands):
        reached: dict[Register, tuple[frozenset[int], frozenset[Register]]] = {}
        for operand in operands:
            for register, (values, between) in reach[operand].items():
                here = reached.get(register, (frozenset[int](), frozenset[Register]()))
                reached[register] = here[0] | values, here[1] | between
        yield from ((len(values), between) for values, between in reached.values())
        if node in where:
            own = frozenset([where[node]])
            reached = {register: (values, between | own) for register, (values, between) in reached.items()}
            reached[where[node]] = frozenset([node]), own
        reach.append(reached)


def rotations_needed(cuts: Sequence[RotationCut]) -> int:
    """Rotations that direct movement needs by all cuts together: those of single registers, and one more set."""
    single = {next(iter(cut.registers)): cut.at_least for cut in cuts if len(cut.registers) == 1}
    missing = [cut.at_least - sum(single.get(register, 0) for register in cut.registers) for cut in cuts]
    return sum(single.values()) + max([0, *missing])
