"""Every use of a rotation key that a run makes, in order: the text carried out without slots.

Control flow and indices are public, so which keys a run takes is known.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from latticework.errors import UserError
from latticework.frontend.heir.evaluate_text import CONTEXT, HeirRun
from latticework.frontend.heir.slots import HeirVector, SlotArithmetic
from latticework.frontend.heir.syntax import HeirFunction, HeirOperation, HeirRegion, HeirText
from latticework.lazy_dataclass import dataclass

ROTATION, BOOTSTRAP, CALL = "openfhe.rot", "openfhe.bootstrap", "func.call"
_ENCRYPTED = ("!openfhe.ciphertext", "!openfhe.plaintext")


@dataclass(frozen=True, slots=True)
class KeySite:
    """An operation that takes keys.

    path   of (region, place in it), from the function's body down to the operation;  loops  it is in, from outside
    """

    operation: HeirOperation
    function: HeirFunction
    path: tuple[tuple[int, int], ...]
    loops: tuple[HeirOperation, ...]


@dataclass(frozen=True, slots=True)
class RotationUse:
    """One time that an operation is carried out.

    turns  the counters of its loops;  call  the number of the call that it is in;  keys  indices, none for 0
    done   operations on ciphertexts before it
    """

    site: KeySite
    turns: tuple[int, ...]
    call: int
    keys: tuple[int, ...]
    done: int


class NoSlots(SlotArithmetic):
    """Arithmetic of which nothing comes."""

    def add(self, a: Any, b: Any) -> Any:
        """Nothing."""

    def sub(self, a: Any, b: Any) -> Any:
        """Nothing."""

    def mul(self, a: Any, b: Any) -> Any:
        """Nothing."""

    def negate(self, a: Any) -> Any:
        """Nothing."""

    def rotate(self, a: Any, steps: int) -> Any:
        """Nothing."""

    def polynomial(self, a: Any, polynomial: Any) -> Any:
        """Nothing."""


class KeyTracer(HeirRun):
    """Notes uses of keys.

    inner  indices inside a bootstrap
    whole  functions, a call of which is one use of all these keys, whatever it does with them
    """

    def __init__(
        self, text: HeirText, inner: tuple[int, ...], whole: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    ) -> None:
        super().__init__(text, NoSlots())
        self.inner = inner
        self.whole = whole
        self.uses: list[RotationUse] = []
        self.stack: list[str] = []
        self.entered: Counter[str] = Counter()
        self.taken: dict[str, set[int]] = defaultdict(set)  # keys that calls of a function take
        self.sites = {id(site.operation): site for f in self.text.functions.values() for site in _sites(f)}
        self.ciphertexts = 0

    def step(self, op: HeirOperation, inputs: list[Any], environment: dict[str, Any]) -> list[Any]:
        """An operation, with the keys that it takes noted."""
        if op.name in (ROTATION, BOOTSTRAP):
            keys = keys_of(op, inputs, self.inner)
            for name in self.stack:
                self.taken[name].update(keys)
            self.note(op, keys)
        elif op.name == CALL and op.attributes["callee"] in self.whole:
            self.note(op, self.whole[op.attributes["callee"]])
        self.ciphertexts += op.name.startswith("openfhe.") and op.name != "openfhe.make_ckks_packed_plaintext"
        return super().step(op, inputs, environment)

    def note(self, op: HeirOperation, keys: tuple[int, ...]) -> None:
        """A use, unless it is inside of one."""
        if not self.whole.keys() & self.stack:
            self.uses.append(RotationUse(self.sites[id(op)], tuple(self.turns), self.active, keys, self.ciphertexts))

    def call(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """Call a function, note its keys and return its results."""
        self.stack.append(name)
        self.entered[name] += 1
        returned = super().call(name, arguments)
        self.stack.pop()
        return returned

    def repeated_calls(self, most: int) -> dict[str, tuple[int, ...]]:
        """Functions that were called repeatedly, and take at most so many keys, with these."""
        found = {name: tuple(sorted(self.taken[name])) for name, times in self.entered.items() if times > 1}
        return {name: keys for name, keys in found.items() if 0 < len(keys) <= most}


def keys_of(op: HeirOperation, inputs: Sequence[Any], inner: tuple[int, ...]) -> tuple[int, ...]:
    """The keys that an operation takes."""
    if op.name == BOOTSTRAP:
        return inner
    steps = int(next(x for x in inputs if not isinstance(x, str | HeirVector)))
    return (steps,) if steps else ()


def run_without_slots(run: HeirRun, main: HeirFunction) -> None:
    """Carry a program out with nothing in its ciphertexts.

    raises  UserError for public arguments
    """
    given: list[Any] = []
    for kind in main.types:
        if kind.is_number:
            raise UserError(
                f"{run.text.name}:{main.line}: {main.name} takes public arguments, which keys may depend on"
            )
        if kind.element not in _ENCRYPTED:
            given.append(CONTEXT)
        elif min(kind.shape, default=1) < 0:
            raise UserError(f"{run.text.name}:{main.line}: {main.name} takes ciphertexts, it is not said how many")
        else:
            given.append(np.full(kind.shape, HeirVector(None), dtype=object) if kind.kind else HeirVector(None))
    run.call(main.name, given)


def _sites(function: HeirFunction) -> Iterator[KeySite]:
    regions = 0

    def inside(
        region: HeirRegion, path: tuple[tuple[int, int], ...], loops: tuple[HeirOperation, ...]
    ) -> Iterator[KeySite]:
        nonlocal regions
        regions += 1
        own = regions
        for place, op in enumerate(region.operations):
            here = (*path, (own, place))
            if op.name in (ROTATION, BOOTSTRAP, CALL):
                yield KeySite(op, function, here, loops)
            for inner in op.regions:
                yield from inside(inner, here, (*loops, op) if op.name == "scf.for" else loops)

    return inside(function.body, (), ())
