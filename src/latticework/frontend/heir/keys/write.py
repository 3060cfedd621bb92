"""The same text with operations of HEIR's `key_mgmt` dialect around every operation that takes keys.

`rot` names an index and no key, so each has right before it the operation that gives its key: `load_key`, `use_key`
where the key is a value in scope, `assume_loaded` where it was loaded in another turn, branch or function; and right
after it `clear_key`, where the key goes. What depends on counters of loops is a table, read by these, and an `scf.if`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from latticework.frontend.heir.keys.key_rules import ByTurns, SiteRules, Turns
from latticework.frontend.heir.keys.trace import KeySite
from latticework.frontend.heir.syntax import HeirFunction
from latticework.lazy_dataclass import dataclass

KEY = "!key_mgmt.rot_key<>"
_Handles = dict[tuple[int, int | None], tuple[str, str]]  # (operation, index) -> the key's name, and its type


def write_keys(source: str, main: HeirFunction, rules: Sequence[SiteRules], first: Sequence[int]) -> str:
    """The text with keys; first: what is asked for at the beginning of `main`."""
    prefix = "rk"
    while f"%{prefix}" in source:
        prefix += "_"
    functions: dict[str, _KeyedFunction] = {}
    handles: _Handles = {}
    for one in [KeySite(main.body.operations[0], main, (), ()), *(rule.site for rule in rules)]:
        name = one.function.name
        functions.setdefault(name, _KeyedFunction(source, one.function, f"{prefix}{len(functions)}_", handles))
    functions[main.name].ask(first, functions[main.name].head)
    for rule in sorted(rules, key=lambda rule: rule.site.operation.span):
        functions[rule.site.function.name].site(rule)
    pieces, at = [], 0
    insertions = [piece for function in functions.values() for piece in function.insertions()]
    for place, _, written in sorted(insertions):
        pieces += [source[at:place], written]
        at = place
    return "".join([*pieces, source[at:]])


@dataclass
class _KeyedFunction:
    """The text that is added to one function.

    prefix  of new names;  handles  of keys that are values
    head    lines at its beginning, after the constants
    """

    source: str
    function: HeirFunction
    prefix: str
    handles: _Handles
    head: list[str] = field(default_factory=list)
    constants: dict[str, str] = field(default_factory=dict)
    added: list[tuple[int, int, str]] = field(default_factory=list)
    number: int = 0

    def insertions(self) -> list[tuple[int, int, str]]:
        """(place, order, text)."""
        lines = [f"{name} = arith.constant {value}" for value, name in self.constants.items()]
        start = self.function.body.operations[0].span[0]
        return [(start, -1, self._before(start, [*lines, *self.head])), *self.added]

    def site(self, rules: SiteRules) -> None:
        """Keys around one operation."""
        site = rules.site
        before: list[str] = []
        after: list[str] = []
        start, end = site.operation.span
        for key, loaded, cleared, partner in zip(rules.keys, rules.loaded, rules.cleared, rules.partners, strict=True):
            index, index_type, kind = self._index(site, key, before)
            load = f"key_mgmt.load_key {index} : {index_type} -> {kind}"
            assume = f"key_mgmt.assume_loaded {index} : {index_type} -> {kind}"
            handle = self.name()
            if not rules.is_whole:
                turns = self._turns(site, before)
                clear = [f"{handle} = {assume}", f"key_mgmt.clear_key {handle} : {kind}"]
                self._guard(loaded, site, [f"{self.name()} = {load}"], before, turns)
                self._guard(cleared, site, clear, after, turns)
                continue
            if loaded.always is None:
                flag = self._entry(loaded, site, before)
                then, other = self.name(), self.name()
                before += [
                    f"{handle} = scf.if {flag} -> ({kind}) {{",
                    f"  {then} = {load}",
                    f"  scf.yield {then} : {kind}",
                ]
                before += ["} else {", f"  {other} = {assume}", f"  scf.yield {other} : {kind}", "}"]
            elif loaded.always:
                before.append(f"{handle} = {load}")
            else:
                before.append(f"{handle} = {self._use_loaded_key(partner, key, kind) or assume}")
            self.handles[id(site.operation), key] = handle, kind
            self._guard(cleared, site, [f"key_mgmt.clear_key {handle} : {kind}"], after)
        self._requests(rules.requests, site, after)
        self.added.append((start, 0, self._before(start, before)))
        self.added.append((end, 1, self._after(start, after)))

    def _use_loaded_key(self, partner: KeySite | None, key: int | None, kind: str) -> str | None:
        """`use_key` of what an operation before has loaded: one that takes this key whenever it is carried out."""
        held = None if partner is None or key is None else self.handles.get((id(partner.operation), key))
        return None if held is None else f"key_mgmt.use_key {held[0]} : {held[1]} -> {kind}"

    def _index(self, site: KeySite, key: int | None, before: list[str]) -> tuple[str, str, str]:
        """The value of an index with its type, and the type of its key."""
        if key is not None:
            return self.constant(f"{key} : i64"), "i64", f"!key_mgmt.rot_key<rotation_index = {key}>"
        operand, kind = next(
            (name, kind)
            for name, kind in zip(site.operation.operands, site.operation.takes, strict=True)
            if kind.is_number
        )
        if kind.element in ("index", "i64"):
            return operand, kind.element, KEY
        return self._cast(operand, kind.element, before), "index", KEY

    def _cast(self, value: str, kind: str, lines: list[str]) -> str:
        lines.append(f"{self.name()} = arith.index_cast {value} : {kind} to index")
        return lines[-1].partition(" ")[0]

    def _turns(self, site: KeySite, lines: list[str]) -> str:
        """Whether a rotation is by another index than 0."""
        operand, kind = _index_operand(site)
        zero = self.constant(f"0 : {kind}")
        lines.append(f"{self.name()} = arith.cmpi ne, {operand}, {zero} : {kind}")
        return lines[-1].partition(" ")[0]

    def _guard(
        self, rule: ByTurns[bool], site: KeySite, inside: list[str], lines: list[str], turns: str | None = None
    ) -> None:
        """Lines that are carried out always, never, or as a table says; where `turns` is true, if it is given."""
        if rule.always is None or (rule.always and turns):
            flags = [self._entry(rule, site, lines)] if rule.always is None else []
            flags += [turns] if turns else []
            if len(flags) == 2:
                lines.append(f"{self.name()} = arith.andi {flags[0]}, {flags[1]} : i1")
                flags = [lines[-1].partition(" ")[0]]
            lines += [f"scf.if {flags[0]} {{", *(f"  {line}" for line in inside), "}"]
        elif rule.always:
            lines += inside

    def _entry(self, rule: ByTurns[bool], site: KeySite, lines: list[str]) -> str:
        return self._read(rule, site, lines, np.zeros(rule.shape, dtype=bool), rule.values, "i1")

    def _read(
        self, rule: ByTurns[Any], site: KeySite, lines: list[str], table: Any, values: Mapping[Turns, Any], kind: str
    ) -> str:
        """The entry of a table for the turn that is going."""
        for turns, value in values.items():
            table[turns] = value or 0
        shape = "x".join(map(str, table.shape))
        name = self.constant(f"dense<{str(table.tolist()).lower()}> : tensor<{shape}x{kind}>")
        counters = []
        for loop in rule.loops:
            region = site.loops[loop].regions[0]
            counter, of = region.arguments[0], region.types[0].element
            counters.append(counter if of == "index" else self._cast(counter, of, lines))
        lines.append(f"{self.name()} = tensor.extract {name}[{', '.join(counters)}] : tensor<{shape}x{kind}>")
        return lines[-1].partition(" ")[0]

    def _requests(self, rule: ByTurns[tuple[int, ...]], site: KeySite, lines: list[str]) -> None:
        if rule.always is not None:
            self.ask(rule.always, lines)
            return
        asked = {turns: keys or () for turns, keys in rule.values.items()}
        for place in range(max(map(len, asked.values()))):
            values = {turns: keys[place] if place < len(keys) else 0 for turns, keys in asked.items()}
            index = self._read(rule, site, lines, np.zeros(rule.shape, dtype=np.int64), values, "i64")
            flag = self.name()
            lines += [f"{flag} = arith.cmpi ne, {index}, {self.constant('0 : i64')} : i64", f"scf.if {flag} {{"]
            lines += [f"  key_mgmt.prefetch_key {index}", "}"]

    def ask(self, keys: Sequence[int], lines: list[str]) -> None:
        """Requests for keys."""
        lines += [f"key_mgmt.prefetch_key {self.constant(f'{key} : i64')}" for key in keys]

    def constant(self, value: str) -> str:
        """Its name."""
        if value not in self.constants:
            self.constants[value] = self.name()
        return self.constants[value]

    def name(self) -> str:
        """A new one."""
        self.number += 1
        return f"%{self.prefix}{self.number}"

    def _indent(self, at: int) -> str:
        line = self.source[self.source.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip())]

    def _before(self, at: int, lines: Sequence[str]) -> str:
        return "".join(f"{line}\n{self._indent(at)}" for line in lines)

    def _after(self, at: int, lines: Sequence[str]) -> str:
        return "".join(f"\n{self._indent(at)}{line}" for line in lines)


def _index_operand(site: KeySite) -> tuple[str, str]:
    """Return the operand that is the index of a rotation, with its type."""
    operands = zip(site.operation.operands, site.operation.takes, strict=True)
    return next((name, kind.element) for name, kind in operands if kind.is_number)
