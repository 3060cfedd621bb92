"""The reference of a circuit: a graph as scalar IR on the arrays that a plan takes and gives, to be interpreted."""

from __future__ import annotations

from collections.abc import Sequence

from latticework.compiler.lanes.lane_graph import ADD, ADD_CONSTANT, INPUT, MUL, NEG, SUB, Graph
from latticework.ir import Builder, Loc, Module, Origin, Value
from latticework.ir.dialects import loop_dialect, scalar_dialect
from latticework.ir.dialects.scalar_dialect import INTEGER, REAL, GroupType

_SPECS = {ADD: scalar_dialect.ADD, SUB: scalar_dialect.SUB, MUL: scalar_dialect.MUL, NEG: scalar_dialect.NEG}


def reference(
    graph: Graph,
    groups: Sequence[int],
    places: Sequence[tuple[int, int]],
    line: Loc,
    *,
    exact: bool,
    watched: Sequence[Sequence[int]] = (),
) -> tuple[Module, list[Value]]:
    """A module whose inputs are these groups and whose outputs are arrays of the circuit's outputs.

    places   of every output of the circuit: which array, which of its numbers
    exact    on integers, else on float64
    watched  lists of nodes
    returns  the module, and its arrays of those nodes
    """
    module = Module()
    builder = Builder(module.body)
    dtype = INTEGER if exact else REAL
    held: dict[int, Value] = {}
    for number in groups:
        group = graph.groups[number]
        kind = GroupType(len(group.labels), dtype, group.packing, group.lanes, True)
        held[number] = module.body.add_arg(kind, Origin(group.name, line))
        module.input_names.append(group.name)
    values: list[Value] = []
    for number, (code, left, right) in enumerate(graph.nodes):
        builder.loc = graph.lines[number]
        if code == INPUT:
            values.append(builder.build(scalar_dialect.ELEMENT, [held[left]], number=right))
        elif code in _SPECS:
            operands = [values[left]] if code == NEG else [values[left], values[right]]
            values.append(builder.build(_SPECS[code], operands))
        else:
            constant = graph.constants[right]
            public = builder.build(scalar_dialect.CONSTANT, value=int(constant) if exact else float(constant))
            values.append(
                builder.build(
                    scalar_dialect.ADD if code == ADD_CONSTANT else scalar_dialect.MUL, [values[left], public]
                )
            )
    builder.loc = line
    seen = [builder.build(scalar_dialect.STACK, [values[node] for node in nodes]) for nodes in watched]
    arrays: dict[int, dict[int, Value]] = {}
    for output, (array, element) in zip(graph.outputs, places, strict=True):
        if isinstance(output, int):
            end = values[output]
        else:
            end = builder.build(scalar_dialect.CONSTANT, value=int(output.value) if exact else float(output.value))
        arrays.setdefault(array, {})[element] = end
    stacked = []
    for array in sorted(arrays):
        stacked.append(builder.build(scalar_dialect.STACK, [arrays[array][i] for i in sorted(arrays[array])]))
        module.outputs.append(f"out{array}")
    builder.create(loop_dialect.YIELD, stacked)
    return module, seen
