"""Python lines for OpenFHE of a program on slot vectors, step by step.

A value of one vector is a ciphertext, an array of several a list of them; loops and branches are Python's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import PurePath

from latticework.errors.escaping import plain_text
from latticework.lazy_dataclass import dataclass
from latticework.plan.export.product_depth import is_free
from latticework.plan.export.program_arrays import Tables
from latticework.plan.export.vector_program import INDEX_OPS, VectorBlock, VectorProgram, VectorStep, uses

INDENT = "    "
SYMBOLS = {"iadd": "{} + {}", "isub": "{} - {}", "imul": "{} * {}", "imin": "min({}, {})", "ilt": "int({} < {})"}
SECRET = {"add": "cc.EvalAdd({}, {})", "sub": "cc.EvalSub({}, {})", "neg": "cc.EvalNegate({})",
          "relinearize": "cc.Relinearize({})"}  # fmt: skip
PUBLIC = {"add_public": "cc.EvalAdd", "sub_public": "cc.EvalSub", "mul_public": "cc.EvalMult"}


@dataclass
class PythonLines:
    """Lines of `evaluate`, and what they read of `tables`."""

    program: VectorProgram
    tables: Tables
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    location: int = -1
    told: str = ""
    uses: Counter[int] = field(default_factory=Counter)
    relinearized: set[int] = field(default_factory=set)
    same: dict[int, int] = field(default_factory=dict)
    integers: dict[int, int] = field(default_factory=dict)
    hoisted: Counter[int] = field(default_factory=Counter)
    is_hoisted: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        for block in self.program.blocks.values():
            self.uses.update(uses(block))
        products = {step.results[0] for step in self.program.steps() if step.op in ("mul", "dot")}
        read = {step.operands[0] for step in self.program.steps() if step.op == "relinearize"}
        self.relinearized = {value for value in products & read if self.uses[value] == 1}
        for step in self.program.steps():
            if step.op == "rotate" and step.number and not step.conjugates:
                self.hoisted[step.operands[0]] += 1

    def write(self) -> list[str]:
        """All lines of the function's body."""
        spec, body = self.program.plan.client, self.program.blocks[0]
        for value, each in zip(body.arguments, spec.inputs, strict=True):
            if self.program.counts[value] == 0:
                self.put(f"{self.name(value)} = integers[{each.name!r}]")
            else:
                self.put(
                    f"{self.name(value)} = inputs[{each.name!r}]{'[0]' if self.program.counts[value] == 1 else ''}"
                )
        self.block(body)
        ends = zip(spec.outputs, body.yields, strict=True)
        given = ", ".join(f"{output.name!r}: {self.array(value)}" for output, value in ends)
        self.put(f"return {{{given}}}")
        return self.lines

    # -- words ---------------------------------------------------------------------------------

    def put(self, line: str) -> None:
        """Add a line."""
        self.lines.append(INDENT * self.depth + line)

    def name(self, value: int) -> str:
        """A value's variable, or the number that it is."""
        value = self.same.get(value, value)
        if value in self.integers:
            return str(self.integers[value])
        return f"v{value}" if self.program.counts[value] else f"n{value}"

    def names(self, values: Sequence[int]) -> str:
        """Several, as a tuple that is assigned."""
        return ", ".join(map(self.name, values))

    def array(self, value: int) -> str:
        """A value as a list of ciphertexts, whatever its count is."""
        return f"[{self.name(value)}]" if self.program.counts[value] == 1 else self.name(value)

    def assign(self, step: VectorStep, text: str) -> None:
        """A list of ciphertexts to a step's result."""
        (result,) = step.results
        one = "[0]" if self.program.counts[result] == 1 else ""
        self.put(f"{self.name(result)} = {text}{one}")

    def each(
        self, step: VectorStep, form: Callable[..., str], values: Sequence[int], plain: str = "", count: int = 1
    ) -> None:
        """One operation on every vector of an array; one vector meets each of the others.

        form   from the operands' names, and a public vector's after them if there is one
        plain  the name of public vectors, of which there are `count`
        """
        (result,) = step.results
        named = [(self.name(value), self.program.counts[value]) for value in values]
        named += [(plain, count)] if plain else []
        arrays = [name for name, number in named if number > 1]
        if not arrays:
            self.put(f"{self.name(result)} = {form(*(name for name, _ in named))}")
            return
        letters = iter("abc")
        words = [next(letters) if number > 1 else name for name, number in named]
        loop = ", ".join(word for word, (_, number) in zip(words, named, strict=True) if number > 1)
        over = arrays[0] if len(arrays) == 1 else f"zip({', '.join(arrays)})"
        self.put(f"{self.name(result)} = [{form(*words)} for {loop} in {over}]")

    # -- steps ---------------------------------------------------------------------------------

    def block(self, block: VectorBlock) -> None:
        """The steps of a block, without what it yields."""
        for step in block.steps:
            self.tell_line(step.location)
            if step.op in INDEX_OPS:
                self.index(step)
            elif step.op in SECRET:
                self.secret(step)
            elif step.op in PUBLIC:
                self.public(step)
            else:
                getattr(self, f"step_{step.op}")(step)

    def tell_line(self, location: int) -> None:
        """A comment, where the user's line is another one than before."""
        if location != self.location:
            self.location = location
            place = self.program.plan.locations[location]
            told = plain_text(f"{PurePath(place.file).name}:{place.line}: {place.text.strip()}")
            if told != self.told:
                self.told = told
                self.put(f"# {told}")

    def index(self, step: VectorStep) -> None:
        """A public integer."""
        if step.op == "iconst":
            self.integers[step.results[0]] = step.immediate[0]
            return
        if step.op == "idiv":
            text = f"{self.name(step.operands[0])} // {step.immediate[0]}"
        else:
            text = SYMBOLS[step.op].format(*map(self.name, step.operands))
        self.put(f"{self.name(step.results[0])} = {text}")

    def secret(self, step: VectorStep) -> None:
        """Sums, differences, signs and relinearisations."""
        if step.op == "relinearize" and step.operands[0] in self.relinearized:
            self.same[step.results[0]] = self.same.get(step.operands[0], step.operands[0])
            return
        self.each(step, SECRET[step.op].format, step.operands)

    def public(self, step: VectorStep) -> None:
        """An operation with public vectors."""
        plain, count = self.plain(step)
        self.each(step, lambda a, b: f"{PUBLIC[step.op]}({a}, encode(cc, {b}, {a}))", step.operands[:1], plain, count)

    def plain(self, step: VectorStep) -> tuple[str, int]:
        """The table of public vectors that a step reads, and how many there are."""
        assert step.constants is not None
        key, count = self.tables.constant(step.constants)
        chosen = "" if step.constants.index is None else f"[choice({self.name(step.constants.index)}, " + (
            f"{len(step.constants.choices)})]")  # fmt: skip
        return f"TABLES[{key!r}]{chosen}", count

    def step_mul(self, step: VectorStep) -> None:
        """A product, of three polynomials where it is relinearised later."""
        both = step.number == 2.0 or step.results[0] in self.relinearized
        form = "cc.EvalMult({}, {})" if both else "cc.EvalMultNoRelin({}, {})"
        self.each(step, form.format, step.operands)

    def step_dot(self, step: VectorStep) -> None:
        """Sums of products, which are relinearised together."""
        form = "cc.EvalMult({}, {})" if step.results[0] in self.relinearized else "cc.EvalMultNoRelin({}, {})"
        self.products(step, form.format, step.operands)

    def step_dot_public(self, step: VectorStep) -> None:
        """Sums of products with public vectors."""
        plain, count = self.plain(step)
        self.products(step, lambda a, b: f"cc.EvalMult({a}, encode(cc, {b}, {a}))", step.operands, plain, count)

    def products(
        self, step: VectorStep, form: Callable[..., str], values: Sequence[int], plain: str = "", count: int = 1
    ) -> None:
        """All products of an array, then their sums."""
        result, number = step.results[0], max([count, *(self.program.counts[value] for value in values)])
        kept = self.program.counts[result]
        self.program.counts[result] = number
        self.each(step, form, values, plain, count)
        self.program.counts[result] = kept
        if number > 1:
            self.assign(step, f"added(cc, {self.name(result)}, {step.immediate[0]})")

    def step_scale(self, step: VectorStep) -> None:
        """A product with a number."""
        number = step.number
        if is_free(number):
            self.each(step, lambda a: f"times_integer(cc, {a}, {round(float(number.real))})", step.operands)
        elif self.program.modulus:
            self.each(
                step, lambda a: f"cc.EvalMult({a}, encode(cc, np.full(SLOTS, {round(number.real)})))", step.operands
            )
        else:
            self.each(step, lambda a: f"cc.EvalMult({a}, {number!r})", step.operands)

    def step_shift(self, step: VectorStep) -> None:
        """A sum with a number."""
        number = float(step.number.real)
        added = f"encode(cc, np.full(SLOTS, {round(number)}))" if self.program.modulus else repr(number)
        self.each(step, lambda a: f"cc.EvalAdd({a}, {added})", step.operands)

    def step_rotate(self, step: VectorStep) -> None:
        """A rotation; several of one value share its digits."""
        (value,), steps = step.operands, step.steps
        if step.conjugates:
            self.each(step, lambda a: f"conjugate(cc, keys, {a}, {steps})", step.operands)
        elif step.number and self.hoisted[value] > 1 and self.program.counts[value] == 1:
            digits = f"d{value}"
            if value not in self.is_hoisted:
                self.is_hoisted.add(value)
                self.put(f"{digits} = cc.EvalFastRotationPrecompute({self.name(value)})")
            rotated = f"cc.EvalFastRotation({self.name(value)}, {steps}, 2 * cc.GetRingDimension(), {digits})"
            self.put(f"{self.name(step.results[0])} = {rotated}")
        else:
            self.each(step, lambda a: f"cc.EvalRotate({a}, {steps})", step.operands)

    def step_sums(self, step: VectorStep) -> None:
        """The inner sums of a linear map, by a table of rotations and public vectors."""
        key = self.tables.terms(step.terms)
        found = f"weighted_sums(cc, keys, {self.array(step.operands[0])}, {key!r})"
        counts = [self.program.counts[r] for r in step.results]
        if len(counts) == 1:
            self.assign(step, found)
        elif set(counts) == {1}:
            self.put(f"{self.names(step.results)} = {found}")
        else:
            self.put(f"sums = {found}")
            for number, (result, count) in enumerate(zip(step.results, counts, strict=True)):
                self.put(f"{self.name(result)} = sums[{number * count} : {(number + 1) * count}]")

    def step_encrypt(self, step: VectorStep) -> None:
        """Public vectors as ciphertexts."""
        plain, count = self.plain(step)
        self.each(step, lambda a: f"cc.Encrypt(keys.pair.publicKey, encode(cc, {a}))", (), plain, count)

    def step_bootstrap(self, step: VectorStep) -> None:
        """A bootstrap; of real values of a program with imaginary parts, which it then drops."""
        (iterations,) = step.immediate
        again = f", {iterations}, ITERATION_BITS" if iterations > 1 else ""
        real = "real_part(cc, keys, {})" if step.conjugates else "{}"
        self.each(step, lambda a: f"cc.EvalBootstrap({real.format(a)}{again})", step.operands)

    def step_take(self, step: VectorStep) -> None:
        """Some vectors of an array."""
        array = self.array(step.operands[0])
        if len(step.immediate) == 1:
            self.put(f"{self.name(step.results[0])} = {array}[{step.immediate[0]}]")
        else:
            self.put(f"{self.name(step.results[0])} = [{array}[k] for k in {list(step.immediate)}]")

    def step_concat(self, step: VectorStep) -> None:
        """All vectors of some arrays."""
        joined = ", ".join(f"{'' if self.program.counts[v] == 1 else '*'}{self.name(v)}" for v in step.operands)
        self.assign(step, f"[{joined}]")

    def step_sum(self, step: VectorStep) -> None:
        """Neighbours of an array, added up."""
        self.assign(step, f"added(cc, {self.array(step.operands[0])}, {step.immediate[0]})")

    def step_part(self, step: VectorStep) -> None:
        """A part of an array, by a public number."""
        array, number = step.operands
        count = self.program.counts[step.results[0]]
        self.assign(step, f"part({self.array(array)}, {self.name(number)}, {count})")

    def step_with_part(self, step: VectorStep) -> None:
        """An array with another part."""
        array, new, number = step.operands
        self.assign(step, f"with_part({self.array(array)}, {self.array(new)}, {self.name(number)})")

    def step_for(self, step: VectorStep) -> None:
        """A loop: carried values are assigned before it, at the end of each iteration, and after it."""
        number, most = step.immediate
        inner = self.program.blocks[number]
        counter, *carried = inner.arguments
        self.move(carried, step.operands[1:])
        self.put(f"for {self.name(counter)} in range(trips({self.name(step.operands[0])}, {most})):")
        self.inside(inner, carried, inner.yields)
        self.move(step.results, carried)

    def step_if(self, step: VectorStep) -> None:
        """A branch by a public integer."""
        for word, number in zip((f"if {self.name(step.operands[0])}:", "else:"), step.immediate, strict=True):
            inner = self.program.blocks[number]
            self.put(word)
            self.depth += 1
            self.move(inner.arguments, step.operands[1:])
            self.depth -= 1
            self.inside(inner, step.results, inner.yields)

    def inside(self, block: VectorBlock, ends: Sequence[int], yields: Sequence[int]) -> None:
        """A block, indented, and what becomes of its values."""
        self.depth += 1
        hoisted = set(self.is_hoisted)
        self.block(block)
        self.move(ends, yields)
        if not block.steps and not ends:
            self.put("pass")
        self.is_hoisted = hoisted
        self.depth -= 1

    def move(self, to: Sequence[int], values: Sequence[int]) -> None:
        """Assign values at once."""
        if to:
            self.put(f"{self.names(to)} = {self.names(values)}")
