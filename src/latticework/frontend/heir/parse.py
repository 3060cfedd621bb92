"""The parser: from text, generic or pretty, to functions of operations."""

from __future__ import annotations

from typing import Any

from latticework.errors import UserError
from latticework.frontend.heir.heir_attributes import Reader
from latticework.frontend.heir.pretty_forms import FORMS, OPENFHE, SHORT
from latticework.frontend.heir.shared_operands import mark_shared
from latticework.frontend.heir.syntax import HeirFunction, HeirOperation, HeirRegion, HeirText, HeirType, text_of
from latticework.frontend.heir.tokens import OPENING, Tokens
from latticework.values.inputs.reading_budget import DEFAULTS, current_budget

DYNAMIC = -(1 << 63)  # in static offsets, sizes and strides: an operand stands for it
PREDICATES = {
    "arith.cmpi": ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"),
    "arith.cmpf": ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une",
                   "uno", "true"),
}  # fmt: skip
_SLICES = ("offsets", "sizes", "strides")
MOST_RESULTS = 10_000  # of an operation


def parse(text: str, name: str) -> HeirText:
    """Read a file; UserError with its line where it is no MLIR text."""
    tokens = Tokens(text, name)
    try:
        parser = _TextParser(tokens)
        functions = parser.file()
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError) as error:  # of literals
        if isinstance(error, UserError):
            raise
        raise UserError(f"{name}:{tokens.line}: {error or 'nested too deep'}; give what heir-opt prints") from error
    for function in functions.values():
        mark_shared(function)
    return HeirText(name, functions, text.splitlines(), parser.attributes, size=len(text))


class _TextParser:
    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.read = Reader(tokens)
        self.functions: dict[str, HeirFunction] = {}
        self.attributes: dict[str, Any] = {}
        self.depth = 0
        budget = current_budget()
        self.most_nested = (DEFAULTS if budget is None else budget.limits).depth

    def file(self) -> dict[str, HeirFunction]:
        """All functions, by name."""
        tokens = self.tokens
        while tokens.kind in ("type", "attribute"):
            name, is_type = tokens.take(), tokens.kinds[tokens.at - 1] == "type"
            tokens.expect("=")
            if is_type:
                self.read.type_aliases[name] = self.read.type_text()
            else:
                self.read.aliases[name] = self.read.value()
        is_module = tokens.text in ("module", "builtin.module") or tokens.text == '"builtin.module"'
        if is_module and tokens.kind == "string":
            self.attributes = self.operation([], tokens.take()[1:-1], tokens.line).attributes
        elif is_module:
            tokens.take()
            if tokens.kind == "symbol":
                tokens.take()
            if tokens.accept("attributes"):
                tokens.expect("{")
                self.attributes = self.read.dictionary()
            self.region()
        else:
            while tokens.kind != "end":
                self.statement()
        while tokens.kind == "attribute":  # locations, which stand at the end
            tokens.take()
            tokens.expect("=")
            self.read.value()
        if tokens.kind != "end":
            tokens.fail("the end of the text")
        return self.functions

    def region(self) -> HeirRegion:
        """Operations in braces, the arguments of a block in front of them if they are written."""
        tokens, made = self.tokens, HeirRegion()
        self.depth += 1
        if self.depth > self.most_nested:
            tokens.fail(f"at most {self.most_nested} nested regions")
        tokens.expect("{")
        if tokens.kind == "block":
            tokens.take()
            if tokens.accept("("):
                while not tokens.accept(")"):
                    made.arguments.append(tokens.take_kind("value"))
                    tokens.expect(":")
                    made.types.append(self.read.type())
                    self.location()
                    tokens.accept(",")
            tokens.expect(":")
        while not tokens.accept("}"):
            if tokens.kind == "block":
                tokens.fail("one block in a region")
            found = self.statement()
            if found is not None:
                made.operations.append(found)
        self.depth -= 1
        return made

    def statement(self) -> HeirOperation | None:
        """An operation with the names of its results; None for a function, which is kept apart."""
        tokens, results, line, start = self.tokens, [], self.tokens.line, self.tokens.start
        while tokens.kind == "value":
            name = tokens.take()
            if tokens.accept(":"):
                count = int(tokens.take_kind("number"))
                if count > MOST_RESULTS:
                    tokens.fail(f"at most {MOST_RESULTS} results of an operation")
                results += [f"{name}#{i}" for i in range(count)]
            else:
                results.append(name)
            if not tokens.accept(","):
                tokens.expect("=")
                break
        if tokens.kind == "string":
            made = self.operation(results, tokens.take()[1:-1], line)
            if made.name == "func.func":
                self.keep(made)
                return None
        else:
            word = tokens.take_kind("word")
            if word == "func.func":
                self.function(line)
                return None
            made = self.pretty(results, SHORT.get(word, word), line)
        self.location()
        made.span = start, tokens.done
        return made

    def location(self) -> None:
        if self.tokens.text == "loc" and self.tokens.texts[self.tokens.at + 1] == "(":
            self.tokens.take()
            self.tokens.group()

    # generic form

    def operation(self, results: list[str], name: str, line: int) -> HeirOperation:
        """Read an operation behind its name in quotes."""
        tokens = self.tokens
        tokens.expect("(")
        attributes: dict[str, Any] = {}
        operands, regions = self.values(), []
        tokens.expect(")")
        if tokens.accept("<"):
            tokens.expect("{")
            attributes |= self.read.dictionary()
            tokens.expect(">")
        if tokens.accept("("):
            while not tokens.accept(")"):
                regions.append(self.region())
                tokens.accept(",")
        if tokens.accept("{"):
            attributes |= self.read.dictionary()
        tokens.expect(":")
        takes, types = self.read.function_type()
        made = HeirOperation(name, line, results, operands, attributes, types, regions, takes=takes)
        return self.in_one_form(made)

    def in_one_form(self, made: HeirOperation) -> HeirOperation:
        """Attributes as the pretty form gives them."""
        attributes = made.attributes
        if "static_offsets" in attributes:
            segments = attributes.get("operandSegmentSizes", [])
            rest = iter(made.operands[2 if made.name == "tensor.insert_slice" else 1 :])
            if len(segments) < 3:
                raise UserError(f"{self.tokens.name}:{made.line}: {made.name} without operandSegmentSizes")
            for key in _SLICES:
                attributes[key] = [next(rest, "") if n == DYNAMIC else n for n in attributes[f"static_{key}"]]
            made.operands = made.operands[: len(segments) - 3]
        named = PREDICATES.get(made.name)
        if named and isinstance(attributes.get("predicate"), int):
            number = attributes["predicate"]
            attributes["predicate"] = named[number] if 0 <= number < len(named) else str(number)
        return made

    def keep(self, made: HeirOperation) -> None:
        """A function in generic form."""
        attributes = made.attributes
        inputs, outputs = (split_types(part) for part in text_of(attributes, "function_type", "()->()").split("->", 1))
        body = made.regions[0] if made.regions else HeirRegion()
        name = text_of(attributes, "sym_name")
        given = attributes.get("arg_attrs") or [{} for _ in inputs]
        self.add(HeirFunction(name, made.line, inputs, outputs, attributes, given, body))

    def add(self, made: HeirFunction) -> None:
        """Keep a function, whose name has to be new."""
        if made.name in self.functions:
            first = self.functions[made.name].line
            raise UserError(f"{self.tokens.name}:{made.line}: {made.name} is a function of line {first} already")
        self.functions[made.name] = made

    # pretty form

    def function(self, line: int) -> None:
        """Read a function behind `func.func`."""
        tokens = self.tokens
        if tokens.text in ("private", "public", "nested"):
            tokens.take()
        name, body, types, given = tokens.take_kind("symbol")[1:].strip('"'), HeirRegion(), [], []
        tokens.expect("(")
        while not tokens.accept(")"):
            if tokens.kind == "value":
                body.arguments.append(tokens.take())
                tokens.expect(":")
            types.append(self.read.type())
            given.append(self.read.dictionary() if tokens.accept("{") else {})
            self.location()
            tokens.accept(",")
        returns: list[HeirType] = []
        if tokens.accept("->"):
            is_list = tokens.accept("(")
            while not (is_list and tokens.accept(")")):
                returns.append(self.read.type())
                if tokens.text == "{" and is_list:
                    tokens.group()
                if not is_list:
                    break
                tokens.accept(",")
        attributes: dict[str, Any] = {}
        if tokens.accept("attributes"):
            tokens.expect("{")
            attributes = self.read.dictionary()
        if tokens.text == "{":
            body.operations = self.region().operations
        self.location()
        self.add(HeirFunction(name, line, types, returns, attributes, given, body))

    def pretty(self, results: list[str], name: str, line: int) -> HeirOperation:
        """Read an operation in pretty form, behind its name."""
        made = HeirOperation(name, line, results, [], {}, [], [])
        if name == "scf.for":
            self.loop(made)
        elif name == "scf.if":
            self.branch(made)
        elif name in FORMS or name.startswith("openfhe."):
            self.parse_form(made, FORMS.get(name, OPENFHE))
        else:
            self.skip()
        return made

    def parse_form(self, made: HeirOperation, form: str) -> None:
        tokens, slices = self.tokens, iter(_SLICES)
        for part in form.split():
            if part == "v":
                made.operands.append(tokens.take_kind("value"))
            elif part == "V":
                made.operands += self.values()
                if form.endswith("V A") and tokens.accept(":"):
                    made.types = [HeirType.of(self.read.type_text())]
                    while tokens.accept(","):
                        made.types.append(self.read.type())
            elif part == "[I]":
                tokens.expect("[")
                made.operands += self.values()
                tokens.expect("]")
            elif part == "[S]":
                made.attributes[next(slices)] = self.parse_mixed_indices()
            elif part in ("T", "t"):
                found = self.read.type()
                made.types = [found] if part == "T" else made.types
                if part == "t" and made.name.startswith("arith."):
                    made.takes = [found]
            elif part == "F":
                made.takes, made.types = self.read.function_type()
            elif part == "a":
                made.attributes["value"] = self.read.value()
            elif part == "p":
                made.attributes["predicate"] = tokens.take_kind("word")
            elif part == "@":
                made.attributes["callee"] = tokens.take_kind("symbol")[1:].strip('"')
            elif part == "A":
                self.extra(made)
            else:
                for sign in (part,) if part != "()" else ("(", ")"):
                    tokens.expect(sign)

    def extra(self, made: HeirOperation) -> None:
        """Attributes in braces or angles, and flags."""
        tokens = self.tokens
        while True:
            if tokens.accept("{"):
                made.attributes |= self.read.dictionary()
            elif tokens.accept("<"):
                made.attributes |= self.read.dictionary(">")
            elif tokens.text in ("fastmath", "overflow"):
                tokens.take()
                tokens.group()
            else:
                return

    def values(self) -> list[str]:
        """Operands with commas, maybe none."""
        tokens, found = self.tokens, []
        while tokens.kind == "value":
            found.append(tokens.take())
            if not tokens.accept(","):
                break
        return found

    def parse_mixed_indices(self) -> list[int | str]:
        tokens, found = self.tokens, []
        tokens.expect("[")
        while not tokens.accept("]"):
            found.append(tokens.take() if tokens.kind == "value" else int(tokens.take_kind("number")))
            tokens.accept(",")
        return found

    def loop(self, made: HeirOperation) -> None:
        tokens = self.tokens
        names = [tokens.take_kind("value")]
        for sign in ("=", "to", "step"):
            tokens.expect(sign)
            made.operands.append(tokens.take_kind("value"))
        if tokens.accept("iter_args"):
            tokens.expect("(")
            while not tokens.accept(")"):
                names.append(tokens.take_kind("value"))
                tokens.expect("=")
                made.operands.append(tokens.take_kind("value"))
                tokens.accept(",")
        if tokens.accept("->"):
            made.types = [HeirType.of(t) for t in self.read.types()]
        counter = self.read.type() if tokens.accept(":") else HeirType.of("index")
        made.regions.append(self.region())
        made.regions[0].arguments, made.regions[0].types = names, [counter, *made.types]
        self.extra(made)

    def branch(self, made: HeirOperation) -> None:
        tokens = self.tokens
        made.operands.append(tokens.take_kind("value"))
        if tokens.accept("->"):
            made.types = [HeirType.of(t) for t in self.read.types()]
        made.regions.append(self.region())
        made.regions.append(self.region() if tokens.accept("else") else HeirRegion())
        self.extra(made)

    def skip(self) -> None:
        """The rest of an operation that is not known: to the next line that begins one."""
        tokens, line = self.tokens, self.tokens.line
        while tokens.kind != "end" and tokens.text != "}":
            if tokens.line > line and (tokens.kind in ("value", "string") or "." in tokens.text):
                return
            line = tokens.line
            _ = tokens.group() if tokens.text in OPENING else tokens.take()
            line = max(line, tokens.line if tokens.text == "->" else line)


def split_types(text: str) -> list[HeirType]:
    """The types of a list `(a,b)` without spaces."""
    found, depth, start = [], 0, 1
    for at, sign in enumerate(text):
        depth += (sign in "(<[{") - (sign in ")>]}" and text[at - 1] != "-")
        if (sign == "," and depth == 1) or (depth == 0 and sign == ")"):
            if at > start:
                found.append(HeirType.of(text[start:at]))
            start = at + 1
    return found
