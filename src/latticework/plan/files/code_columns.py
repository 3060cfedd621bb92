"""The code of a plan as columns: what follows from its place is not written, and what is near is a small number.

The core reads code as rows: `[opcode, location, operands, results, immediates]`, every register by its number. A file
holds instead, for the instructions of all blocks one after the other,

- `shapes`: which of a few `kinds` they are, an opcode with how many operands, results and immediates there are;
- `locations`, as runs of equal ones;
- `operands`: how far back from the instruction's own registers each is, times two, and one more where it is read last;
- `jumps`: of the results, those that do not take the next register, with the number that they do take;
- `immediates`, as they are;

and of `registers` by how much the number of each one's type differs from the one before.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, groupby, pairwise
from typing import Any

from latticework.errors import FormatError

MAX_NUMBER = 1 << 32  # of registers


def to_columns(content: dict[str, Any]) -> dict[str, Any]:
    """Code in columns; `content` is what the core reads."""
    shapes: dict[tuple[int, int, int, int], int] = {}
    chosen: list[int] = []
    locations: list[int] = []
    operands: list[int] = []
    jumps: list[list[int]] = []
    immediates: list[int] = []
    results = 0
    for block in content["blocks"]:
        following = _after(block["args"])
        for opcode, location, read, registers, immediate in block["code"]:
            chosen.append(shapes.setdefault((opcode, len(read), len(registers), len(immediate)), len(shapes)))
            locations.append(location)
            operands += [2 * (following - (number >> 1)) + (number & 1) for number in read]
            immediates += immediate
            for register in registers:
                if register != following:
                    jumps.append([results, register])
                following, results = register + 1, results + 1
    return {
        "types": content["types"],
        "registers": [b - a for a, b in pairwise([0, *content["registers"]])],
        "constants": content["constants"],
        "keys": [[key[name] for name in _KEY] for key in content["keys"]],
        "blocks": [[list(block["args"]), len(block["code"])] for block in content["blocks"]],
        "kinds": [list(shape) for shape in shapes],
        "shapes": chosen,
        "locations": [[location, len(list(run))] for location, run in groupby(locations)],
        "operands": operands,
        "jumps": jumps,
        "immediates": immediates,
    }


def from_columns(columns: Any) -> dict[str, Any]:
    """Return code as the core reads it, which also checks the rules of code.

    raises  FormatError where columns do not fit each other
    """
    try:
        return _rows(columns)
    except (KeyError, TypeError, ValueError, IndexError, StopIteration) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"plan code: {type(error).__name__}: {error}; the file was altered") from None


_KEY = ("kind", "galois_element", "track", "level")


def _rows(columns: Any) -> dict[str, Any]:
    chosen, kinds = columns["shapes"], columns["kinds"]
    places = _numbers(place for place, times in columns["locations"] for _ in _times(times, len(chosen)))
    operands, immediates = _numbers(columns["operands"]), iter(columns["immediates"])
    jumps = dict(columns["jumps"])
    shapes = iter(chosen)
    blocks: list[dict[str, Any]] = []
    results = 0
    for arguments, length in columns["blocks"]:
        following = _after(arguments)
        code: list[Any] = []
        for _ in _times(length, len(chosen)):
            opcode, num_read, num_made, num_immediate = kinds[_check_number(next(shapes))]
            location = next(places)
            read = []
            for _ in _times(num_read, len(columns["operands"])):
                back = next(operands)
                read.append(2 * _check_number(following - (back >> 1)) + (back & 1))
            outputs = []
            for _ in _times(num_made, len(columns["registers"])):
                outputs.append(_check_number(jumps.pop(results, following)))
                following, results = outputs[-1] + 1, results + 1
            immediate = [next(immediates) for _ in _times(num_immediate, len(columns["immediates"]))]
            code.append([opcode, location, read, outputs, immediate])
        blocks.append({"args": arguments, "code": code})
    if jumps or any(True for rest in (shapes, places, operands, immediates) for _ in rest):
        raise FormatError("plan code: there are numbers that no instruction has; the file was altered")
    keys = [dict(zip(_KEY, key, strict=True)) for key in columns["keys"]]
    registers = [_check_number(number) for number in accumulate(_numbers(columns["registers"]))]
    return {
        "types": columns["types"], "registers": registers, "constants": columns["constants"], "keys": keys,
        "blocks": blocks,
    }  # fmt: skip


def _after(arguments: list[int]) -> int:
    """The register after those that a block starts with."""
    return _check_number(arguments[-1]) + 1 if arguments else 0


def _numbers(values: Any) -> Iterator[int]:
    for number in values:
        if type(number) is not int:
            raise FormatError(f"plan code: {number!r} is no number; the file was altered")
        yield number


def _times(number: Any, most: int) -> range:
    if type(number) is not int or not 0 <= number <= most:
        raise FormatError(f"plan code: {number!r} of {most}; the file was altered")
    return range(number)


def _check_number(number: Any) -> int:
    """Return the number of a register, a type or a kind, checked to be one."""
    if type(number) is not int or not 0 <= number < MAX_NUMBER:
        raise FormatError(f"plan code: {number!r} is no such number; the file was altered")
    return number
