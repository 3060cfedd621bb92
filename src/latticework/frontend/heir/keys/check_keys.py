"""Proof that a text with keys finds each where it needs it: carried out, with what is in memory followed.

Control flow and indices are public, so one run is every run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from latticework.errors import UserError
from latticework.frontend.heir.evaluate_text import HeirRun, check_operations
from latticework.frontend.heir.heir_program import find_reachable
from latticework.frontend.heir.keys.trace import BOOTSTRAP, ROTATION, NoSlots, keys_of, run_without_slots
from latticework.frontend.heir.syntax import HeirFunction, HeirOperation, HeirText
from latticework.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class KeyCounts:
    """Counts of what a run does with its keys.

    uses  of keys by rotations and inside bootstraps;  loads  of which `requests` were asked for ahead
    most  keys that are in memory or on the way at once
    """

    uses: int
    loads: int
    requests: int
    most: int


@dataclass(frozen=True, slots=True)
class LoadedKey:
    """A key that is a value; load: the number of the load that gave it."""

    index: int
    load: int


class KeyWalk(HeirRun):
    """Follows what is in memory."""

    def __init__(self, text: HeirText, inner: tuple[int, ...]) -> None:
        super().__init__(text, NoSlots())
        self.inner = inner
        self.loaded: dict[int, int] = {}  # index -> the number of its load
        self.asked: set[int] = set()
        self.uses = self.loads = self.requests = self.most = 0
        self._rules: dict[str, Callable[[HeirOperation, Any], list[Any]]] = {
            "key_mgmt.prefetch_key": self._ask,
            "key_mgmt.load_key": self._load,
            "key_mgmt.assume_loaded": self._assume,
            "key_mgmt.use_key": self._use,
            "key_mgmt.clear_key": self._clear,
        }

    def step(self, op: HeirOperation, inputs: list[Any], environment: dict[str, Any]) -> list[Any]:
        """One operation; UserError with its line where a key is not what it has to be."""
        if op.name in self._rules:
            return self._rules[op.name](op, inputs[0])
        if op.name in (ROTATION, BOOTSTRAP):
            keys = keys_of(op, inputs, self.inner)
            missing = [key for key in keys if key not in self.loaded]
            if missing:
                self.fail(op, f"takes the key of {missing[0]}, which is not in memory")
            self.uses += len(keys)
        return super().step(op, inputs, environment)

    def fail(self, op: HeirOperation, what: str) -> None:
        """Say what is wrong."""
        raise UserError(f"{self.text.name}:{op.line}: {op.name} {what}")

    def _ask(self, op: HeirOperation, index: int) -> list[Any]:
        if index in self.loaded or index in self.asked:
            self.fail(op, f"asks for the key of {index}, which is in memory or was asked for")
        self.asked.add(index)
        self.requests += 1
        self._count()
        return []

    def _load(self, op: HeirOperation, index: int) -> list[Any]:
        if index in self.loaded:
            self.fail(op, f"loads the key of {index}, which is in memory")
        self.asked.discard(index)
        self.loads += 1
        self.loaded[index] = self.loads
        self._count()
        return self._check_key_type(op, LoadedKey(index, self.loads))

    def _assume(self, op: HeirOperation, index: int) -> list[Any]:
        if index not in self.loaded:
            self.fail(op, f"takes the key of {index}, which is not in memory")
        return self._check_key_type(op, LoadedKey(index, self.loaded[index]))

    def _use(self, op: HeirOperation, key: LoadedKey) -> list[Any]:
        self._require(op, key)
        return self._check_key_type(op, key)

    def _clear(self, op: HeirOperation, key: LoadedKey) -> list[Any]:
        self._require(op, key)
        del self.loaded[key.index]
        return []

    def _require(self, op: HeirOperation, key: LoadedKey) -> None:
        if self.loaded.get(key.index) != key.load:
            self.fail(op, f"takes the key of {key.index} as it was loaded before, which is no longer in memory")

    def _check_key_type(self, op: HeirOperation, key: LoadedKey) -> list[Any]:
        _, static, index = op.types[0].element.rstrip(">").partition("rotation_index=")
        if static and int(index) != key.index:
            self.fail(op, f"gives the key of {key.index} the type of {index}")
        return [key]

    def _count(self) -> None:
        self.most = max(self.most, len(self.loaded) + len(self.asked))


def check_keys(text: HeirText, main: HeirFunction, inner: Sequence[int] = (), most: int | None = None) -> KeyCounts:
    """Prove that every rotation and bootstrap finds its keys in memory, and that none is left there.

    inner   indices inside a bootstrap;  most  keys in memory at once that are allowed
    raises  UserError that names the operation and its line
    """
    check_operations(text, find_reachable(text, [main]))
    walk = KeyWalk(text, tuple(inner))
    run_without_slots(walk, main)
    where = f"{text.name}:{main.line}: {main.name}"
    if walk.loaded or walk.asked:
        raise UserError(f"{where} leaves keys in memory at its end: {sorted({*walk.loaded, *walk.asked})}")
    if most is not None and walk.most > most:
        raise UserError(f"{where} has {walk.most} keys in memory at once, {most} are allowed")
    return KeyCounts(walk.uses, walk.loads, walk.requests, walk.most)
