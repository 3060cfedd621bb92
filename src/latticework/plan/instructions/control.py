"""Blocks and public integers: what the walk runs itself, the same for every analysis.

An integer that is not known before a run is None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from latticework.errors import IrError
from latticework.plan.instructions.instruction_record import CONTROL, Meaning, Record, Rule, refuse_analysis
from latticework.plan.instructions.register_kinds import IndexKind, Kind
from latticework.plan.instructions.shared_rules import count_each, no_keys, no_parts, no_scratch
from latticework.plan.instructions.use import Use
from latticework.plan.instructions.work_units import NO_WORK

INDEX = IndexKind()


def _same(what: str, have: Sequence[Any], want: Sequence[Any]) -> None:
    if len(have) != len(want):
        raise IrError(f"{what}: {len(have)} and {len(want)} values")
    for number, (a, b) in enumerate(zip(have, want, strict=True)):
        if a != b:
            raise IrError(f"{what} {number}: {a} and {b} are not identical")


def _require_index(use: Use) -> None:
    if not use.operands or use.operands[0] != INDEX:
        raise IrError("the first operand must be an index")


def _loop(use: Use) -> Sequence[Kind]:
    """Check that values keep their types from iteration to iteration."""
    _require_index(use)
    (arguments, yielded), limit = use.blocks[0], use.immediate[1]
    if not 0 <= limit <= MAX_TRIPS:
        raise IrError(f"at most {limit} trips are none that a plan may have")
    if not arguments or arguments[0] != INDEX:
        raise IrError("the first argument of a loop body must be an index")
    _same("initial and carried value", use.operands[1:], arguments[1:])
    _same("yielded and carried value", yielded, arguments[1:])
    return arguments[1:]


def _branch(use: Use) -> Sequence[Kind]:
    """Both branches take the operands, and yield the same types."""
    _require_index(use)
    for arguments, _ in use.blocks:
        _same("operand and argument", use.operands[1:], arguments)
    (_, yielded), (_, other) = use.blocks
    _same("yielded values of two branches", yielded, other)
    return yielded


def _call(use: Use) -> Sequence[Kind]:
    """Return the types that the block yields; check those of its arguments."""
    arguments, yielded = use.blocks[0]
    _same("operand and argument", use.operands, arguments)
    return yielded


def _nothing(_use: Use) -> Sequence[Kind]:
    return ()


def _index(_use: Use) -> Sequence[Kind]:
    return (INDEX,)


def control_record(name: str, line: str, rule: Rule, meaning: Meaning) -> Record:
    """The record of an instruction that takes no time and has no rows; what is in blocks is counted there."""
    return Record(
        name=name,
        line=line,
        family="other",
        traits=CONTROL,
        rule=rule,
        meaning=meaning,
        error=refuse_analysis,
        work=NO_WORK,
        parts=no_parts,
        counts=count_each(),
        keys=no_keys,
        scratch=no_scratch,
        reuse=refuse_analysis,
    )


MAX_TRIPS = 1 << 31

FOR = control_record(
    "for",
    "run a block a number of times, each iteration with what the one before yielded",
    _loop,
    lambda walk, site, trips, *carried: walk.loop(site, trips, carried),
)
IF = control_record(
    "if",
    "run one of two blocks",
    _branch,
    lambda walk, site, condition, *operands: walk.branch(site, condition, operands),
)
CALL = control_record(
    "call",
    "run a block that stands by itself, with these values",
    _call,
    lambda walk, site, *operands: walk.call(site, operands),
)
YIELD = control_record(
    "yield",
    "end a block, giving these values",
    _nothing,
    lambda _walk, _site, *values: list(values),
)
ICONST = control_record(
    "iconst",
    "a public integer",
    _index,
    lambda _walk, site: site.use.immediate[0],
)


def _arithmetic(name: str, line: str, function: Callable[[int, int], int]) -> Record:
    def meaning(_walk: object, _site: object, a: int | None, b: int | None) -> int | None:
        return None if a is None or b is None else function(a, b)

    return control_record(name, line, _index, meaning)


IADD = _arithmetic("iadd", "sum of two public integers", int.__add__)
ISUB = _arithmetic("isub", "difference of two public integers", int.__sub__)
IMUL = _arithmetic("imul", "product of two public integers", int.__mul__)
IMIN = _arithmetic("imin", "the lesser of two public integers", min)
ILT = _arithmetic("ilt", "whether a public integer is less than another", lambda a, b: int(a < b))


def _quotient(use: Use) -> Sequence[Kind]:
    if use.immediate[0] < 1:
        raise IrError(f"cannot divide by {use.immediate[0]}")
    return (INDEX,)


IDIV = control_record(
    "idiv",
    "a public integer over a constant, rounded down",
    _quotient,
    lambda _walk, site, a: None if a is None else a // site.use.immediate[0],
)

RECORDS = (FOR, IF, YIELD, ICONST, IADD, ISUB, IMUL, IMIN, ILT, IDIV, CALL)
