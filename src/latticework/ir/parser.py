"""Parse the text of a module, as `printer` writes it."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from latticework.errors import UserError
from latticework.ir.builder import Builder
from latticework.ir.core import Array, Block, Op, Region, Value
from latticework.ir.location import Loc, Origin
from latticework.ir.module import Module
from latticework.ir.printer import DEFINITIONS
from latticework.ir.scanner import Scanner
from latticework.ir.types import Type
from latticework.ir.verify import verify

Item = TypeVar("Item")

FAULTS = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, AssertionError)
_VALUE = re.compile(r"%\d++(?:#\d++)?")
_RESULTS = re.compile(r"%(\d++)(?::(\d++))?")
_ALIAS = re.compile(r"[#!][A-Za-z_]\w*\d(?![\w.<])")


def parse_module(text: str, *, sources: Mapping[str, Array] | None = None) -> Module:
    """The module of a text.

    sources  arrays by content hash; a source of the text that is not among them is only declared (`Module.absent`)
    raises   IrError with the place in the text, for bad syntax, types that do not agree and undefined values
    """
    return _parse(_Parser(text), sources)


def parse_verified(
    text: str,
    name: str,
    *,
    sources: Mapping[str, Array] | None = None,
    restore: Callable[[dict[str, Any]], None] = lambda _attrs: None,
    check: Callable[[Op], None] = lambda _op: None,
) -> Module:
    """The module of a text, verified as every module is; errors name the place in the text, called `name`.

    restore  replaces what stands for something else in the attributes of an operation
    check    raises a UserError for an operation that may not be there
    """
    parser = _Parser(text, name)
    parser.restore = restore
    module = _parse(parser, sources)

    def verify_all() -> None:
        for op in parser.places:
            check(op)
        verify(module)

    try:
        verify_all()
    except UserError:
        for op, position in parser.places.items():
            op.loc = parser.place(position)  # type: ignore[assignment]  # of a module that goes no further
        verify_all()
    return module


def _parse(parser: _Parser, sources: Mapping[str, Array] | None) -> Module:
    try:
        return parser.module(sources or {})
    except RecursionError:
        parser.error("nested too deeply")


class _Parser(Scanner):
    def __init__(self, text: str, name: str = "IR text") -> None:
        super().__init__(text, name)
        self.places: dict[Op, int] = {}
        self.restore: Callable[[dict[str, Any]], None] = lambda _attrs: None
        self._values: dict[str, Value] = {}
        self._aliases: dict[str, Any] = {}

    def module(self, arrays: Mapping[str, Array]) -> Module:
        """The whole text."""
        end = self.text.find(DEFINITIONS)
        if end < 0:
            end = len(self.text)
        else:
            self.position = end + 1
            self.aliases()
            self.position = 0
        self.aliases()
        self.expect('"module"() ({')
        body = self.block()
        for token in (")", "{", "inputs", "="):
            self.expect(token)
        inputs = self._list(self.string)
        for token in (",", "outputs", "="):
            self.expect(token)
        module = Module(body, inputs, self._list(self.string))
        for token in (",", "sources", "="):
            self.expect(token)
        for digest, dtype, shape in self._list(self._source):
            if digest not in arrays:
                module.absent[digest] = (dtype, shape)
            elif (arrays[digest].dtype.str, arrays[digest].shape) != (dtype, shape):
                self.error(f"source {digest} must be {dtype} of shape {shape}")
            else:
                module.sources[digest] = arrays[digest]
        self.expect("}")
        self.expect(": () -> ()")
        self.take("")
        if self.position < end:
            self.fail("the end of the text")
        return module

    def _list(self, item: Callable[[], Item]) -> list[Item]:
        """``[item, ...]``."""
        self.expect("[")
        items: list[Item] = []
        while not self.take("]"):
            if items:
                self.expect(",")
            items.append(item())
        return items

    def _source(self) -> tuple[str, str, tuple[int, ...]]:
        self.expect("[")
        digest = self.string()
        self.expect(",")
        dtype = self.string()
        self.expect(",")
        shape = tuple(self._list(self.integer))
        self.expect("]")
        return digest, dtype, shape

    def aliases(self) -> None:
        """Read definitions of locations, origins, types and attributes, up to the module or the end."""
        while not self.take('"module"'):
            if self.position == len(self.text):
                return
            name = self.match(_ALIAS, "an alias or the module").group()
            self.expect("=")
            if self.take("loc("):
                self._aliases[name] = self._loc_body()
            elif self.take("origin("):
                self._aliases[name] = self._origin_body()
            else:
                self._aliases[name] = self.type() if name.startswith("!") else self.instance()
        self.position -= len('"module"')

    def _loc_body(self) -> Loc:
        """Read a location up to its closing parenthesis."""
        file, line, span = self._place()
        text, via = "", None
        parts: list[tuple[Loc, float]] = []
        if self.take(","):
            text = self.string()
            if self.take(","):
                via = self._loc()
            if self.take("fused("):
                while not self.take(")"):
                    if parts:
                        self.expect(",")
                    share = self.attribute()
                    parts.append((self._loc(), share))
        self.expect(")")
        loc: Loc = self._make(Loc, {"file": file, "line": line, "text": text, "via": via, "span": span,
                                    "parts": tuple(parts)})  # fmt: skip
        return loc

    def _place(self) -> tuple[str, int, tuple[int, int]]:
        """File, line and columns."""
        file = self.string()
        self.expect(":")
        line = self.integer()
        if not self.take(":"):
            return file, line, (0, 0)
        start = self.integer()
        self.expect(":")
        return file, line, (start, self.integer())

    def _origin_body(self) -> Origin:
        name = self.string()
        self.expect(",")
        loc = self._loc()
        self.expect(",")
        max_abs = self.attribute()
        self.expect(",")
        position = self.attribute()
        factor = self.attribute() if self.take(",") else 1.0
        self.expect(")")
        origin: Origin = self._make(
            Origin, {"name": name, "loc": loc, "max_abs": max_abs, "position": position, "factor": factor}
        )
        return origin

    def _loc(self) -> Loc:
        """A location: unknown, an alias, or file and line."""
        if self.take("unknown"):  # white space is skipped now
            return Loc.unknown()
        if self.text.startswith("#", self.position):
            return self._alias(Loc)
        file, line, span = self._place()
        return Loc(file, line, span=span)

    def instance(self) -> Any:
        """An attribute that starts with #: here also an alias, of an origin too."""
        if _ALIAS.match(self.text, self.position):
            return self._alias(object)
        return super().instance()

    def type(self) -> Type:
        """A type, or the alias of one."""
        self._skip_space()
        if self._aliases and _ALIAS.match(self.text, self.position):
            return self._alias(Type)
        return super().type()

    def _alias(self, kind: builtins.type[Item]) -> Item:
        """Read an alias and return what it stands for."""
        name = self.match(_ALIAS, "an alias").group()
        result = self._aliases.get(name)
        if not isinstance(result, kind):
            self.error(f"{name} is not a defined {'attribute' if kind is object else kind.__name__.lower()}")
        return result

    def block(self) -> Block:
        """A block up to and including its closing brace."""
        block = Block()
        defined = []
        if self.take("^bb0("):
            while not self.take(")"):
                if block.args:
                    self.expect(",")
                defined.append(self._argument(block))
            self.expect(":")
        builder = Builder(block)
        while not self.take("}"):
            defined.extend(self._op(builder))
        for name in defined:
            del self._values[name]
        return block

    def _argument(self, block: Block) -> str:
        name = self.match(_VALUE, "a value").group()
        self.expect(":")
        value = block.add_arg(self.type())
        if self.take("loc("):
            value.origin = self._alias(Origin)
            self.expect(")")
        self._define(name, value)
        return name

    def _define(self, name: str, value: Value) -> None:
        if name in self._values:
            self.error(f"{name} is defined twice")
        self._values[name] = value

    def _op(self, builder: Builder) -> list[str]:
        """One op; returns the names of its results."""
        results = None
        if self.take("%"):
            self.position -= 1
            results = self.match(_RESULTS, "a result")
            self.expect("=")
        start = self.position
        kind = self.string()
        operands = self._operands()
        regions = self._regions()
        attrs = self.dictionary("}") if self.take("{") else {}
        origins = self._origins(attrs)
        self.restore(attrs)
        self.expect(":")
        operand_types, result_types = self._signature()
        loc = Loc.unknown()
        if self.take("loc("):
            loc = self._loc()
            self.expect(")")
        if [value.type for value in operands] != operand_types:
            self.error(f"{kind}: operands are {[value.type for value in operands]}, written as {operand_types}")
        try:
            op = builder.create(kind, operands, attrs, regions, loc=loc)
        except UserError as error:
            self.position = start
            self.error(error.message)
        except FAULTS as error:  # of a rule that was given what no operation of its kind has
            self.position = start
            self.error(f"{kind}: does not take these operands and attributes: {error}")
        self.places[op] = start
        if [value.type for value in op.results] != result_types:
            self.error(f"{kind}: results are {[value.type for value in op.results]}, written as {result_types}")
        if origins and len(origins) != len(op.results):
            self.error(f"{kind}: has {len(op.results)} results, but {len(origins)} origins")
        for value, origin in zip(op.results, origins, strict=False):
            value.origin = origin
        return self._define_results(op, results)

    def _origins(self, attrs: dict[str, Any]) -> tuple[Origin | None, ...]:
        """The origins of results among the attributes, taken out of them; empty if there are none."""
        origins = attrs.pop("lw.origin", ())
        if type(origins) is not tuple or not all(isinstance(origin, Origin | None) for origin in origins):
            self.error("lw.origin must be a list of origins or none")
        if any(map(_holds_origin, attrs.values())):
            self.error("an origin stands for an attribute; only lw.origin lists origins")
        return origins

    def _define_results(self, op: Op, results: re.Match[str] | None) -> list[str]:
        number = int(results.group(2) or 1) if results else 0
        if number != len(op.results):
            self.error(f"{op.name}: has {len(op.results)} results, {number} are named")
        if results is None:
            return []
        name = f"%{results.group(1)}"
        names = [name] if results.group(2) is None else [f"{name}#{i}" for i in range(number)]
        for name, value in zip(names, op.results, strict=True):
            self._define(name, value)
        return names

    def _operands(self) -> list[Value]:
        self.expect("(")
        operands: list[Value] = []
        while not self.take(")"):
            if operands:
                self.expect(",")
            name = self.match(_VALUE, "a value").group()
            if name not in self._values:
                self.error(f"{name} is not defined here")
            operands.append(self._values[name])
        return operands

    def _regions(self) -> list[Region]:
        regions: list[Region] = []
        if self.take("("):
            while not self.take(")"):
                if regions:
                    self.expect(",")
                self.expect("{")
                regions.append(Region(self.block()))
        return regions

    def _signature(self) -> tuple[list[Type], list[Type]]:
        self.expect("(")
        operands = self._types()
        self.expect("->")
        return operands, self._types() if self.take("(") else [self.type()]

    def _types(self) -> list[Type]:
        """Types up to and including a closing parenthesis."""
        types: list[Type] = []
        while not self.take(")"):
            if types:
                self.expect(",")
            types.append(self.type())
        return types


def _holds_origin(value: Any) -> bool:
    """Whether an attribute is an origin or a list with one in it."""
    return isinstance(value, Origin) or (type(value) is tuple and any(map(_holds_origin, value)))
