"""Print a module in MLIR's generic syntax; `parser` reads it back exactly.

    #loc0 = loc("model.py":3, "h = x + x")
    #origin0 = origin("h", #loc0, 0x1.8p+1, none)
    "module"() ({
    ^bb0(%0: !vec<...>):
      %1 = "vec.add"(%0, %0) {lw.origin = [#origin0]} : (!vec<...>, !vec<...>) -> !vec<...> loc("model.py":3)
      "loop.yield"(%1) : (!vec<...>) -> ()
    }) {inputs = ["x"], outputs = ["y"], sources = []} : () -> ()

Floats are hexadecimal.  A location with its source line or its caller, and an
origin, is an alias defined at the top; so are, if that is asked for, long types
and attributes: `!vec0 = !vec<...>`, `#linear_map0 = #linear_map<...>`.  Sources
are listed by hash, dtype and shape; their data is not part of the text.

For people to read, `print_readable` writes definitions after the program, names
types by what they hold (`!secret_1x64`), floats of attributes in decimal, and a
comment with the user's line before what comes of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from latticework.errors.escaping import plain_text
from latticework.ir.attributes import print_attribute
from latticework.ir.core import Block, Op, Value
from latticework.ir.location import Loc, Origin
from latticework.ir.module import Module
from latticework.ir.types import Type

DEFINITIONS = "\n// definitions\n"  # between a program and the aliases that it uses, where they come after it
LONG_TYPE, LONG_ATTRIBUTE = 30, 90  # characters from which on they are aliases


def print_module(module: Module, *, locations: bool = True, aliases: bool = False) -> str:
    """The text of a module.

    locations  with locations and origins; without them the text is not an exact copy
    aliases    long types and attributes are written once, at the top
    """
    printer = _Printer(locations, aliases)
    lines = printer.module(module)
    return "\n".join([*printer.aliases, *lines, ""])


def print_readable(module: Module) -> str:
    """The text of a module for people to read; an exact copy all the same."""
    printer = _Printer(locations=True, aliases=True, readable=True)
    lines = printer.module(module)
    return "\n".join(lines) + "\n" + DEFINITIONS + "\n".join([*printer.aliases, ""])


class _Printer:
    def __init__(self, locations: bool, aliases: bool, readable: bool = False) -> None:
        self.lines: list[str] = []
        self.aliases: list[str] = []
        self._readable = readable
        self._float = repr if readable else float.hex
        self._line = ("", 0)
        self._locations = locations
        self._shorten = self._shorten_instance if aliases else None
        self._short: dict[str, str] = {}
        self._num_short: Counter[str] = Counter()
        self._names: dict[Value, str] = {}
        self._types: dict[Type, str] = {}
        self._locs: dict[Loc, str] = {Loc.unknown(): "unknown"}
        self._origins: dict[Origin, str] = {}
        self._num_names = 0

    def module(self, module: Module) -> list[str]:
        """The lines of a module, without the aliases that are defined then."""
        self.block(module.body, "")
        known = {digest: (array.dtype.str, array.shape) for digest, array in module.sources.items()}
        sources = tuple((digest, *about) for digest, about in sorted({**module.absent, **known}.items()))
        names = {"inputs": tuple(module.input_names), "outputs": tuple(module.outputs), "sources": sources}
        return ['"module"() ({', *self.lines, f"}}){self.attributes(names)} : () -> ()"]

    def block(self, block: Block, indent: str) -> None:
        """Append the lines of a block."""
        if block.args:
            self.lines.append(f"{indent}^bb0({', '.join(map(self._argument, block.args))}):")
        for op in block.ops:
            if self._readable:
                self._comment(op.loc, indent + "  ")
            self._op(op, indent + "  ")

    def _comment(self, loc: Loc, indent: str) -> None:
        """Say the user's line, where it is another one than before."""
        if loc is not Loc.unknown() and (loc.file, loc.line) != self._line:
            self._line = loc.file, loc.line
            place = plain_text(f"{PurePath(loc.file).name}:{loc.line}")
            self.lines.append(f"{indent}// {place}{f': {plain_text(loc.text)}' if loc.text else ''}")

    def _argument(self, value: Value) -> str:
        name = self._names[value] = self._new_name()
        place = f" loc({self._origin(value.origin)})" if value.origin and self._locations else ""
        return f"{name}: {self._type(value.type)}{place}"

    def _new_name(self) -> str:
        self._num_names += 1
        return f"%{self._num_names - 1}"

    def _op(self, op: Op, indent: str) -> None:
        operands = ", ".join([self._names[value] for value in op.operands])
        head = f'{indent}{self._results(op)}"{op.name}"({operands})'
        if op.regions:
            for number, region in enumerate(op.regions):
                self.lines.append(f"{head} ({{" if number == 0 else f"{indent}}}, {{")
                self.block(region.block, indent)
            head = f"{indent}}})"
        if len(op.results) == 1:
            types = self._type(op.results[0].type)
        else:
            types = f"({self._list(op.results)})"
        signature = f"({self._list(op.operands)}) -> {types}"
        place = "" if op.loc is Loc.unknown() or not self._locations else f" loc({self._loc(op.loc)})"
        self.lines.append(f"{head}{self._op_attributes(op)} : {signature}{place}")

    def _results(self, op: Op) -> str:
        if not op.results:
            return ""
        name = self._new_name()
        if len(op.results) == 1:
            self._names[op.results[0]] = name
            return f"{name} = "
        for value in op.results:
            self._names[value] = f"{name}#{value.index}"
        return f"{name}:{len(op.results)} = "

    def _op_attributes(self, op: Op) -> str:
        text = self.attributes(op.attrs)
        if not self._locations or all(value.origin is None for value in op.results):
            return text
        origins = ", ".join(self._origin(value.origin) for value in op.results)
        return f"{text[:-1]}, lw.origin = [{origins}]}}" if text else f" {{lw.origin = [{origins}]}}"

    def attributes(self, attrs: dict[str, Any]) -> str:
        """The dictionary of attributes with a space before it, or nothing."""
        if not attrs:
            return ""
        texts = [f"{key} = {print_attribute(value, self._shorten, self._float)}" for key, value in attrs.items()]
        return " {" + ", ".join(texts) + "}"

    def _list(self, values: Sequence[Value]) -> str:
        return ", ".join([self._type(value.type) for value in values])

    def _type(self, type: Type) -> str:
        text = self._types.get(type)
        if text is None:
            text = type.attribute_text()
            if self._shorten is not None and len(text) > LONG_TYPE:
                text = self._shorten(type.short_name() if self._readable else type.name, text, "!")
            self._types[type] = text
        return text

    def _shorten_instance(self, name: str, text: str, mark: str = "#") -> str:
        """An instance of a class, or its alias."""
        if mark == "#" and len(text) <= LONG_ATTRIBUTE:
            return text
        if text not in self._short:
            kind = f"{mark}{name.rpartition('.')[2]}"
            number = self._num_short[kind]
            if kind[-1].isdigit():  # what tells the type has a number only where it is not enough
                self._short[text] = f"{kind}_v{number}" if number else kind
            else:
                self._short[text] = f"{kind}{number}"
            self._num_short[kind] += 1
            self.aliases.append(f"{self._short[text]} = {text}")
        return self._short[text]

    def _loc(self, loc: Loc) -> str:
        text = self._locs.get(loc)
        if text is None:
            columns = ":{}:{}".format(*loc.span) if loc.span != (0, 0) else ""
            text = f"{print_attribute(loc.file)}:{loc.line}{columns}"
            if loc.text or loc.via or loc.parts:
                via = f", {self._loc(loc.via)}" if loc.via else ""
                fused = "".join(f", {print_attribute(share)} {self._loc(part)}" for part, share in loc.parts)
                parts = f" fused({fused[2:]})" if fused else ""
                text = self._alias("loc", f"loc({text}, {print_attribute(loc.text)}{via}{parts})")
            self._locs[loc] = text
        return text

    def _origin(self, origin: Origin | None) -> str:
        if origin is None:
            return "none"
        text = self._origins.get(origin)
        if text is None:
            facts = [origin.max_abs, origin.position, *([origin.factor] if origin.factor != 1.0 else [])]
            rest = ", ".join(map(print_attribute, facts))
            body = f"origin({print_attribute(origin.name)}, {self._loc(origin.loc)}, {rest})"
            text = self._origins[origin] = self._alias("origin", body)
        return text

    def _alias(self, kind: str, text: str) -> str:
        name = f"#{kind}{len(self.aliases)}"
        self.aliases.append(f"{name} = {text}")
        return name
