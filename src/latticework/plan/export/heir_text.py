"""HEIR's text of a program on slot vectors: a function on tensors of all slots, in arith and tensor_ext.

`heir-opt --mlir-to-ckks` (or `--mlir-to-bfv`) places levels, scales, relinearisations and bootstraps of its own. Loops
and branches by integers that the plan knows are carried out here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from latticework.errors import UnsupportedError
from latticework.errors.escaping import plain_text
from latticework.plan.export.program_arrays import Array, Tables
from latticework.plan.export.vector_program import INDEX_OPS, Constants, VectorProgram, VectorStep
from latticework.plan.schema.schema import IndexInput

Files = dict[str, str | dict[str, Array]]
INTEGER: dict[str, Callable[[int, int], int]] = {
    "iadd": lambda a, b: a + b, "isub": lambda a, b: a - b, "imul": lambda a, b: a * b, "imin": min,
    "ilt": lambda a, b: int(a < b),
}  # fmt: skip
Value = list[str]  # names of vectors
MOST_LINES = 1 << 20


def write_heir(program: VectorProgram) -> Files:
    """Return the files of a program: its text, where elements stand in slots, and how to lower it.

    raises  UnsupportedError for run-time integers and imaginary parts
    """
    client = program.plan.client
    if any(isinstance(each, IndexInput) for each in client.inputs):
        raise UnsupportedError(
            f"export of {client.name}: HEIR's circuits have no public integers at run time; compile the program for a "
            "number of iterations, as a weight or in its text"
        )
    if program.is_complex:
        raise UnsupportedError(
            f"export of {client.name}: HEIR's slots are real, and this plan packs two real vectors in one; compile it "
            "with techniques=lw.Techniques(complex_packing=False)"
        )
    text = HeirLines(program).write()
    tables = Tables(program)
    for each in client.secret_inputs:
        tables.places(each.name, each.pack)
    for output in client.outputs:
        tables.first_places(output.name, output.pack)
    lower = f"--mlir-to-bfv=plaintext-modulus={program.modulus}" if program.modulus else (
        f"--mlir-to-ckks=min-slot-count={program.slots}")  # fmt: skip
    readme = (
        f"{plain_text(client.name)}, on vectors of {program.slots} slots, for HEIR:\n\n"
        f"    heir-opt {lower} --scheme-to-openfhe program.mlir\n\n"
        "Arguments are slot vectors: `places of NAME` in packing.npz says which element each slot holds (-1: 0), and "
        "`places of NAME, first` where an element of a result stands.\n"
    )
    return {"program.mlir": text, "README.md": readme, "packing.npz": tables.arrays}


class HeirLines:
    """Lines of a function, from blocks that are followed with known integers."""

    def __init__(self, program: VectorProgram) -> None:
        self.program = program
        self.tables = Tables(program)
        self.kind = "i64" if program.modulus else "f64"
        self.type = f"tensor<{program.slots}x{self.kind}>"
        self.suffix = "i" if program.modulus else "f"
        self.lines: list[str] = []
        self.constants: dict[str, str] = {}
        self.values: dict[int, Any] = {}
        self.rotated: dict[tuple[str, int], str] = {}

    def write(self) -> str:
        """The module."""
        program = self.program
        arguments, ends = self.run_body()
        results: list[str] = []
        for vectors, factor in zip(ends, program.factors, strict=True):
            results += vectors if factor == 1.0 else [self.times(vector, factor) for vector in vectors]
        given = ", ".join(f"{name}: {self.type} {{secret.secret}}" for name in arguments)
        made = ", ".join([self.type] * len(results))
        scheme = "bfv" if program.modulus else "ckks"
        lines = [
            f"// {plain_text(program.plan.client.name)}",
            f"module attributes {{backend.openfhe, scheme.{scheme}}} {{",
            f"  func.func @main({given}) -> ({made}) {{",
            *(f"    {name} = arith.constant {text}" for text, name in self.constants.items()),
            *(f"    {line}" for line in self.lines),
            f"    return {', '.join(results)} : {made}",
            "  }",
            "}",
        ]
        return "\n".join(lines) + "\n"

    def run_body(self) -> tuple[list[str], list[list[str]]]:
        """Follow the program from its arguments: their names, and those of the vectors of each result."""
        arguments: list[str] = []
        body = self.program.blocks[0]
        for value in body.arguments:
            names = [f"%arg{len(arguments) + k}" for k in range(self.program.counts[value])]
            arguments += names
            self.values[value] = names
        return arguments, self.run(0, [self.values[value] for value in body.arguments])

    # -- lines ---------------------------------------------------------------------------------

    def put(self, text: str, kind: str = "") -> str:
        """Add an operation of one result; its name."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text} : {kind or self.type}")
        if len(self.lines) > MOST_LINES:
            raise UnsupportedError(
                f"export of {self.program.plan.client.name}: its loops, carried out, are more than {MOST_LINES} lines"
            )
        return name

    def constant(self, text: str) -> str:
        """The name of a constant, which stands at the top once."""
        return self.constants.setdefault(text, f"%c{len(self.constants)}")

    def dense(self, vector: Array | float) -> str:
        """A public vector, or a number in every slot."""
        numbers = np.atleast_1d(np.asarray(vector))
        if (numbers == numbers[0]).all():
            return self.constant(f"dense<{self.number(numbers[0])}> : {self.type}")
        return self.constant(f"dense<[{', '.join(map(self.number, numbers.tolist()))}]> : {self.type}")

    def number(self, number: Any) -> str:
        """A number as MLIR writes it."""
        if self.program.modulus:
            return str(round(float(number)))
        text = repr(float(np.real(number)))
        return text if "e" not in text or "." in text else text.replace("e", ".0e")

    def two(self, op: str, a: str, b: str) -> str:
        """An operation on two vectors: add, sub or mul."""
        return self.put(f"arith.{op}{self.suffix} {a}, {b}")

    def times(self, vector: str, factor: float) -> str:
        """A product with a number."""
        return self.two("mul", vector, self.dense(factor))

    def rotate(self, vector: str, steps: int) -> str:
        """A vector rotated left; once for each number of steps."""
        if steps == 0:
            return vector
        known = self.rotated.get((vector, steps))
        if known is None:
            index = self.constant(f"{steps} : index")
            known = self.put(f"tensor_ext.rotate {vector}, {index}", f"{self.type}, index")
            self.rotated[vector, steps] = known
        return known

    # -- steps ---------------------------------------------------------------------------------

    def run(self, number: int, arguments: Sequence[Any]) -> list[Any]:
        """Follow a block; what it yields."""
        block = self.program.blocks[number]
        self.values.update(zip(block.arguments, arguments, strict=True))
        for step in block.steps:
            self.values.update(zip(step.results, self.step(step), strict=True))
        return [self.values[value] for value in block.yields]

    def step(self, step: VectorStep) -> list[Any]:
        """The results of a step."""
        given = [self.values[value] for value in step.operands]
        if step.op in INDEX_OPS:
            return [self.integer(step, given)]
        if step.op in ("for", "if"):
            return self.follow(step, given)
        if step.op == "sums":
            return self.sums(step, given[0])
        return [STEPS[step.op](self, step, given)]

    def integer(self, step: VectorStep, given: list[int]) -> int:
        """A public integer."""
        if step.op == "iconst":
            return step.immediate[0]
        return given[0] // step.immediate[0] if step.op == "idiv" else INTEGER[step.op](*given)

    def follow(self, step: VectorStep, given: list[Any]) -> list[Any]:
        """A loop, iteration by iteration, or the branch that is taken."""
        first, *carried = given
        if step.op == "if":
            return self.run(step.immediate[0 if first else 1], carried)
        for iteration in range(first):
            carried = self.run(step.immediate[0], [iteration, *carried])
        return carried

    def sums(self, step: VectorStep, vectors: Value) -> list[Value]:
        """The inner sums of a linear map."""
        totals: dict[int, str] = {}
        for term in step.terms:
            weights = self.dense(self.tables.vectors(term.values)[term.row])
            product = self.two("mul", self.rotate(vectors[term.in_], term.steps), weights)
            totals[term.group] = self.two("add", totals[term.group], product) if term.group in totals else product
        ends = iter(totals[group] for group in range(len(totals)))
        return [[next(ends) for _ in range(self.program.counts[result])] for result in step.results]

    def public(self, constants: Constants | None) -> Value:
        """Public vectors, as constants."""
        assert constants is not None
        number = 0 if constants.index is None else self.values[constants.index]
        return [self.dense(vector) for vector in self.tables.vectors(constants.choices[number])]

    def pairs(self, op: str, a: Value, b: Value) -> Value:
        """An operation vector by vector; one meets each of the others."""
        count = max(len(a), len(b))
        a, b = (x * count if len(x) == 1 else x for x in (a, b))
        return [self.two(op, x, y) for x, y in zip(a, b, strict=True)]

    def add_neighbours(self, vectors: Value, groups: int) -> Value:
        """Sums of neighbours."""
        size, totals = len(vectors) // groups, []
        for first in range(0, len(vectors), size):
            total = vectors[first]
            for other in vectors[first + 1 : first + size]:
                total = self.two("add", total, other)
            totals.append(total)
        return totals


def _negate(lines: HeirLines, _step: VectorStep, given: list[Value]) -> Value:
    return [lines.two("sub", lines.dense(0.0), vector) for vector in given[0]]


def _take_part(lines: HeirLines, step: VectorStep, given: list[Any]) -> Value:
    vectors, number = given
    size = lines.program.counts[step.results[0]]
    return list(vectors[number * size : (number + 1) * size])


def _replace_part(_lines: HeirLines, _step: VectorStep, given: list[Any]) -> Value:
    vectors, part, number = given
    return [*vectors[: number * len(part)], *part, *vectors[(number + 1) * len(part) :]]


Form = Callable[[HeirLines, VectorStep, list[Any]], Value]
STEPS: dict[str, Form] = {
    "add": lambda lines, _step, given: lines.pairs("add", *given),
    "sub": lambda lines, _step, given: lines.pairs("sub", *given),
    "mul": lambda lines, _step, given: lines.pairs("mul", *given),
    "neg": _negate,
    "add_public": lambda lines, step, given: lines.pairs("add", given[0], lines.public(step.constants)),
    "sub_public": lambda lines, step, given: lines.pairs("sub", given[0], lines.public(step.constants)),
    "mul_public": lambda lines, step, given: lines.pairs("mul", given[0], lines.public(step.constants)),
    "dot": lambda lines, step, given: lines.add_neighbours(lines.pairs("mul", *given), step.immediate[0]),
    "dot_public": lambda lines, step, given: lines.add_neighbours(
        lines.pairs("mul", given[0], lines.public(step.constants)), step.immediate[0]
    ),
    "scale": lambda lines, step, given: [lines.times(vector, step.number.real) for vector in given[0]],
    "shift": lambda lines, step, given: lines.pairs("add", given[0], [lines.dense(step.number.real)]),
    "rotate": lambda lines, step, given: [lines.rotate(vector, step.steps) for vector in given[0]],
    "encrypt": lambda lines, step, _given: lines.public(step.constants),
    "sum": lambda lines, step, given: lines.add_neighbours(given[0], step.immediate[0]),
    "concat": lambda _lines, _step, given: [vector for vectors in given for vector in vectors],
    "take": lambda _lines, step, given: [given[0][number] for number in step.immediate],
    "part": _take_part,
    "with_part": _replace_part,
    "relinearize": lambda _lines, _step, given: given[0],
    "bootstrap": lambda _lines, _step, given: given[0],  # heir-opt places its own
}
