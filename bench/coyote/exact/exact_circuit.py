"""Circuits and schedules as the exact models read them; the same numbers as in the records of `_core.lanes`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from latticework.values.extension import _core

INPUT, ADD, SUB, MUL, NEG, ADD_CONSTANT, MUL_CONSTANT = range(7)
BINARY = (ADD, SUB, MUL)
COMMUTATIVE = (ADD, MUL)
FREE, GROUPED, REPLICATED = range(3)

Pack = tuple[int, tuple[int, ...]]  # code, nodes


@dataclass(frozen=True)
class ExactCircuit:
    """A scalar circuit: operands before their uses.

    codes     of every node
    operands  of every node: the nodes it reads
    groups    of every node: the input group of an input, else -1
    packing   of every group: FREE, GROUPED or REPLICATED
    fixed     of every group: the lanes of its inputs, or ()
    width     lanes, a power of two
    """

    codes: tuple[int, ...]
    operands: tuple[tuple[int, ...], ...]
    groups: tuple[int, ...]
    packing: tuple[int, ...]
    fixed: tuple[tuple[int, ...], ...]
    outputs: tuple[int, ...]
    width: int

    @classmethod
    def of(cls, circuit: _core.lanes.ScalarCircuit) -> ExactCircuit:
        """Convert the input of the search for lanes."""
        codes = tuple(circuit.code)
        rows = zip(codes, circuit.left, circuit.right, strict=True)
        operands = tuple(
            () if code == INPUT else (left, right) if code in BINARY else (left,) for code, left, right in rows
        )
        return cls(
            codes=codes,
            operands=operands,
            groups=tuple(circuit.group),
            packing=tuple(circuit.packing),
            fixed=tuple(tuple(lanes) for lanes in circuit.fixed),
            outputs=tuple(circuit.outputs),
            width=circuit.width,
        )

    @property
    def operations(self) -> list[int]:
        """All nodes but inputs."""
        return [node for node, code in enumerate(self.codes) if code != INPUT]

    def inputs(self, group: int) -> list[int]:
        """The inputs of a group, in order."""
        return [node for node, code in enumerate(self.codes) if code == INPUT and self.groups[node] == group]


@dataclass(frozen=True)
class Schedule:
    """Assignment of operations to instructions and lanes.

    packs      in an order in which operands come before their uses
    lanes      of every operation and of every input of a grouped vector, else -1
    exchanged  of every node: whether a commutative operation reads its operands in the other order
    epochs     of every node, -1 for inputs; () where they are not known
    """

    packs: tuple[Pack, ...]
    lanes: tuple[int, ...]
    exchanged: tuple[bool, ...]
    epochs: tuple[int, ...] = ()

    @classmethod
    def of(cls, schedule: _core.lanes.LaneSchedule, epochs: Sequence[int] = ()) -> Schedule:
        """Convert the result of the search for lanes."""
        packs = tuple((code, tuple(nodes)) for code, nodes in schedule.packs)
        return cls(packs, tuple(schedule.lane), tuple(schedule.exchanged), tuple(epochs))

    @classmethod
    def from_annealing(cls, annealed: _core.lanes.AnnealedSchedule) -> Schedule:
        """A schedule from the result of Coyote's search, with its epochs."""
        return cls.of(annealed.schedule, annealed.epoch)

    def for_synthesis(self) -> _core.lanes.LaneSchedule:
        """Return the schedule in the form that vector code is synthesised from."""
        return _core.lanes.LaneSchedule(self.packs, self.lanes, self.exchanged)


def asap_packs(circuit: ExactCircuit) -> tuple[Pack, ...]:
    """Operations of one code and one depth together, as early as possible; at most `width` in a pack."""
    depth: list[int] = []
    members: dict[tuple[int, int], list[int]] = {}
    for node, code in enumerate(circuit.codes):
        depth.append(1 + max((depth[operand] for operand in circuit.operands[node]), default=-1))
        if code != INPUT:
            members.setdefault((depth[node], code), []).append(node)
    return tuple(
        (code, tuple(nodes[first : first + circuit.width]))
        for (_, code), nodes in sorted(members.items())
        for first in range(0, len(nodes), circuit.width)
    )
