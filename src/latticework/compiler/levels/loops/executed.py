"""Execution counts of the operations of a module, for given trip counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from latticework.compiler.levels.bootstrap_calls import ciphertexts
from latticework.compiler.levels.depth import carried_operands
from latticework.ir import INDEX, Block, Module, Op, Value

_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "loop.index_add": int.__add__,
    "loop.index_sub": int.__sub__,
    "loop.index_mul": int.__mul__,
    "loop.index_min": min,
    "loop.index_less": lambda a, b: int(a < b),
}


def executions(module: Module, trip_counts: Mapping[str, int] | None = None) -> Counter[Op]:
    """Count how often each operation is run that is no arithmetic on public integers.

    trip_counts  run-time integers by the names of inputs
    """
    numbers: dict[Value, int] = {}
    for name, value in zip(module.input_names, module.inputs, strict=True):
        if value.type is INDEX:
            numbers[value] = (trip_counts or {})[name]
    result: Counter[Op] = Counter()
    _count(module.body, numbers, result)
    return result


def bootstraps_run(module: Module, trip_counts: Mapping[str, int] | None = None) -> int:
    """Ciphertexts that are bootstrapped in a run of a `vec` module; a complex one counts once."""
    runs = executions(module, trip_counts)
    each = ((op, number) for op, number in runs.items() if op.name == "vec.bootstrap")
    return sum(number * group.number for op, number in each for group in ciphertexts(op))


def _count(block: Block, numbers: dict[Value, int], counts: Counter[Op]) -> None:
    for op in block.ops:
        if op.name == "loop.for":
            static = op.attrs.get("static_trip")
            _count_iterations(op, numbers[op.operands[0]] if static is None else static, numbers, counts)
        elif op.name == "loop.if":
            chosen = op.regions[0 if numbers[op.operands[0]] else 1].block
            _bind(chosen.args, op.operands[1:], numbers)
            _count(chosen, numbers, counts)
            _bind(op.results, chosen.terminator.operands, numbers)
        elif op.name == "loop.index_constant":
            numbers[op.result] = op.attrs["value"]
        elif op.name == "loop.index_div":
            numbers[op.result] = numbers[op.operands[0]] // op.attrs["by"]
        elif op.name in _ARITHMETIC:
            a, b = (numbers[v] for v in op.operands)
            numbers[op.result] = _ARITHMETIC[op.name](a, b)
        else:
            counts[op] += 1


def _count_iterations(op: Op, trip_count: int, numbers: dict[Value, int], counts: Counter[Op]) -> None:
    """A loop, gone round so often."""
    block, carried = op.regions[0].block, carried_operands(op)
    for iteration in range(trip_count):
        numbers[block.args[0]] = iteration
        _bind(block.args[1:], carried, numbers)
        _count(block, numbers, counts)
        carried = block.terminator.operands
    _bind(op.results, carried, numbers)


def _bind(new: list[Value], old: object, numbers: dict[Value, int]) -> None:
    """Integers that go by another name."""
    assert isinstance(old, list | tuple)
    known = [(a, numbers[b]) for a, b in zip(new, old, strict=True) if b in numbers]
    numbers.update(known)
