"""The multiplicative depth of a program on slot vectors, as a library counts it that rescales after every product."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from latticework.errors import UnsupportedError
from latticework.plan.export.vector_program import PRODUCTS, VectorProgram, VectorStep

FREE_FACTORS = range(-64, 65)  # integers that are sums and differences: no level
MOST = 1 << 12  # products in a row; no parameters have so many levels


def is_free(number: complex) -> bool:
    """Whether a product with a number takes additions only."""
    return not isinstance(number, complex) and number in FREE_FACTORS


def count_depth(program: VectorProgram) -> int:
    """The most products on a way from an input, or from a bootstrap, to an output or to the next bootstrap.

    raises  UnsupportedError for loops whose iterations spend levels that no bootstrap in them gives back
    """
    walk = _Depths(program)
    body = program.blocks[0]
    walk.run(0, [0] * len(body.arguments))
    return walk.most


class _Depths:
    """Products so far of every value."""

    def __init__(self, program: VectorProgram) -> None:
        self.program = program
        self.most = 0
        self.known: dict[int, int] = {}

    def run(self, number: int, arguments: Sequence[int]) -> list[int]:
        """Follow a block; the depths of what it yields."""
        block, known = self.program.blocks[number], self.known
        known.update(zip(block.arguments, arguments, strict=True))
        for step in block.steps:
            known.update(zip(step.results, self._step(step), strict=True))
            self.most = max([self.most, *(known[r] for r in step.results)])
            if self.most > MOST:
                raise UnsupportedError(
                    f"export of {self.program.plan.client.name}: a loop's iterations spend levels that no bootstrap "
                    "gives back, so other libraries would need more of them with each; export a plan for a number of "
                    "iterations that is known when it is compiled",
                    at=self.program.plan.locations[step.location],
                )
        return [known[value] for value in block.yields]

    def _step(self, step: VectorStep) -> list[int]:
        ways = {"for": self._loop, "if": self._branch, "bootstrap": self._bootstrap}
        if step.op in ways:
            return ways[step.op](step)
        deepest = max((self.known[value] for value in step.operands), default=0)
        return [deepest + spends_level(step, self.program.modulus)] * len(step.results)

    def _bootstrap(self, step: VectorStep) -> list[int]:
        """A bootstrap takes a level of its operand, to adjust its scale, and one more for each further iteration; one
        that drops imaginary parts takes a product too, by a half."""
        self.most = max(self.most, self.known[step.operands[0]] + 1 + step.conjugates)
        return [step.immediate[0] - 1]

    def _branch(self, step: VectorStep) -> list[int]:
        given = [self.known[value] for value in step.operands[1:]]
        both = [self.run(number, given) for number in step.immediate]
        return [max(pair) for pair in zip(*both, strict=True)]

    def _loop(self, step: VectorStep) -> list[int]:
        """Iterations until another one adds nothing, or all that there may be."""
        number, most = step.immediate
        carried = [self.known[value] for value in step.operands[1:]]
        for _ in range(most):
            joined = [max(pair) for pair in zip(carried, self.run(number, [0, *carried]), strict=True)]
            if joined == carried:
                break
            carried = joined
        return carried


def spends_level(step: VectorStep, modulus: int = 0) -> bool:
    """Whether a step is a product that has to be rescaled; by BFV, one whose noise grows with the modulus t."""
    if step.op == "scale":
        return modulus > 0 or not is_free(step.number)
    return step.op in PRODUCTS


def most_terms(program: VectorProgram) -> int:
    """The most products that one step adds up."""
    most = 1
    for step in program.steps():
        if step.op in ("sum", "dot", "dot_public"):
            count = max([program.counts.get(value, 1) for value in step.operands])
            most = max(most, count // max(1, step.immediate[0]))
        elif step.op == "sums":
            most = max(most, *Counter(term.group for term in step.terms).values())
    return most
