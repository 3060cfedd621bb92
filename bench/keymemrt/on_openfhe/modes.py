"""Programs for OpenFHE that load and clear rotation keys: at the points that a keyed text says, or by others' rules.

A program is straight-line Python on values by name; `load`, `clear` and `ask` are about keys, each of which is a file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.keymemrt.others import MERGED_OPERATIONS
from latticework.frontend.heir.keys.check_keys import KeyWalk
from latticework.frontend.heir.keys.trace import BOOTSTRAP
from latticework.frontend.heir.slots import HeirVector, SlotArithmetic
from latticework.frontend.heir.syntax import HeirOperation, HeirText


@dataclass(frozen=True)
class Line:
    """One operation: its result, what it is, the values that it reads, and its keys; or a load or a clear of one."""

    result: str
    op: str
    operands: tuple[str, ...] = ()
    keys: tuple[int, ...] = ()

    @property
    def key(self) -> int:
        """The one key that is loaded, cleared or rotated by."""
        (key,) = self.keys
        return key


class _Names(SlotArithmetic):
    """Operations that are written down; values are names, of plaintexts `p0`, `p1`, ..."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def _put(self, op: str, *operands: str, keys: tuple[int, ...] = ()) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(Line(name, op, operands, keys))
        return name

    def add(self, a: Any, b: Any) -> Any:
        """A sum."""
        return self._put("EvalAdd", a, b)

    def sub(self, a: Any, b: Any) -> Any:
        """A difference."""
        return self._put("EvalSub", a, b)

    def mul(self, a: Any, b: Any) -> Any:
        """A product."""
        return self._put("EvalMult", a, b)

    def negate(self, a: Any) -> Any:
        """The opposite."""
        return self._put("EvalNegate", a)

    def rotate(self, a: Any, steps: int) -> Any:
        """A rotation, by the key of these steps."""
        return self._put("rotate", a, keys=(steps,))

    def bootstrap(self, a: Any, keys: tuple[int, ...]) -> Any:
        """A bootstrap, by all its keys."""
        return self._put("bootstrap", a, keys=keys)


class _Writer(KeyWalk):
    """Follows a keyed text, and checks its keys while its operations are written down."""

    def __init__(self, text: HeirText, inner: tuple[int, ...]) -> None:
        super().__init__(text, inner)
        self.arithmetic = self.names = _Names()

    def step(self, op: HeirOperation, inputs: list[Any], environment: dict[str, Any]) -> list[Any]:
        """An operation, or what is done with a key."""
        results = super().step(op, inputs, environment)
        word = {"prefetch_key": "ask", "load_key": "load", "clear_key": "clear"}.get(op.name.removeprefix("key_mgmt."))
        if word is not None:
            key = inputs[0].index if word == "clear" else int(inputs[0])
            self.names.lines.append(Line("", word, (), (key,)))
        if op.name == BOOTSTRAP:
            return [HeirVector(self.names.bootstrap(results[0].slots, self.inner))]
        return results


def lines_of(text: HeirText, ciphertexts: int = 1, inner: tuple[int, ...] = ()) -> tuple[list[Line], list[str]]:
    """The operations of a keyed text's function `main`, and the names of its results.

    ciphertexts  arguments that are some; the others are plaintexts;  inner  keys of a bootstrap
    raises  UserError where a key is not in memory when it is taken
    """
    writer = _Writer(text, inner)
    function = text.functions["main"]
    given: list[Any] = ["context"]
    for number in range(len(function.types) - 1):
        word = f"x{number}" if number < ciphertexts else f"p{number - ciphertexts}"
        given.append(HeirVector(word))
    return writer.names.lines, [value.slots for value in writer.call("main", given)]


def without_keys(lines: Sequence[Line]) -> list[Line]:
    """The same without loads and clears: all keys are in memory."""
    return [line for line in lines if line.op not in ("ask", "load", "clear")]


def low_memory(lines: Sequence[Line]) -> list[Line]:
    """KeyMemRT's rule: each rotation loads its key before and clears it after; a clear and a load of the same key with
    at most ten operations between them go."""
    plain = without_keys(lines)
    uses: dict[int, list[int]] = {}
    for place, line in enumerate(plain):
        for key in line.keys:
            uses.setdefault(key, []).append(place)
    loads, clears = set(), set()
    for key, places in uses.items():
        for before, place in zip([None, *places], [*places, None], strict=True):
            if before is None or place is None or place - before > MERGED_OPERATIONS:
                loads |= set() if place is None else {(place, key)}
                clears |= set() if before is None else {(before, key)}
    made = []
    for place, line in enumerate(plain):
        made += [Line("", "load", (), (key,)) for key in line.keys if (place, key) in loads]
        made.append(line)
        made += [Line("", "clear", (), (key,)) for key in line.keys if (place, key) in clears]
    return made


def balanced(lines: Sequence[Line], most: int) -> list[Line]:
    """The same with keys asked for ahead, in order, as long as no more than `most` are held or on the way."""
    plain, ahead = low_memory(lines), iter([line.key for line in low_memory(lines) if line.op == "load"])
    made, held, asked = list[Line](), 0, Counter[int]()
    pending = next(ahead, None)
    for line in plain:
        while pending is not None and held < most and not asked[pending]:
            made.append(Line("", "ask", (), (pending,)))
            asked[pending] += 1
            held += 1
            pending = next(ahead, None)
        if line.op == "load":
            if not asked[line.key]:  # a key that is held still when it is to be read again
                held += 1
                pending = next(ahead, None)
            asked[line.key] -= asked[line.key] > 0
        made.append(line)
        held -= line.op == "clear"
    return made


def source_of(lines: Sequence[Line], results: Sequence[str]) -> str:
    """Python of a function `evaluate(cc, keys, values)`; values go after their last use."""
    last: dict[str, int] = {}
    for place, line in enumerate(lines):
        last.update(dict.fromkeys(line.operands, place))
    text = ["def evaluate(cc, keys, values, plain):"]
    for place, line in enumerate(lines):
        if line.op in ("ask", "load", "clear"):
            text.append(f"    keys.{line.op}({line.key})")
            continue
        named = [_name(operand) for operand in line.operands]
        if line.op == "bootstrap":
            text.append(f"    {line.result} = keys.bootstrap(cc, {named[0]})")
        elif line.op == "rotate":
            text.append(f"    {line.result} = cc.EvalAutomorphism({named[0]}, cc.FindAutomorphismIndex({line.key}), "
                        f"keys.get({line.key}))")  # fmt: skip
        else:
            text.append(f"    {line.result} = cc.{line.op}({', '.join(named)})")
        ended = [o for o in dict.fromkeys(line.operands) if last[o] == place and o.startswith("v") and o not in results]
        text += [f"    del {', '.join(ended)}"] if ended else []
    text.append(f"    return [{', '.join(map(_name, results))}]")
    return "\n".join(text) + "\n"


def _name(operand: str) -> str:
    if operand.startswith("p"):
        return f"plain({operand[1:]})"
    return f"values[{operand[1:]}]" if operand.startswith("x") else operand


def count_loads(lines: Sequence[Line]) -> tuple[int, int]:
    """How many keys are loaded, and how many are held or on the way at once."""
    held, most, loads, asked = 0, 0, 0, set[int]()
    for line in lines:
        if line.op == "ask":
            asked.add(line.key)
            held += 1
        elif line.op == "load":
            held += line.key not in asked
            asked.discard(line.key)
            loads += 1
        elif line.op == "clear":
            held -= 1
        most = max(most, held)
    return loads, most
