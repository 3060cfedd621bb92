"""Linear combinations of ciphertexts that executors compute in one pass, as cpp/exec/linear_forms.cpp decides it.

A product with an integer or with i, or a sum, that one more such step is the only reader of is not computed: it waits
as a form, and the last step reads every ciphertext once and writes one. A form that alone keeps several ciphertexts in
memory is computed before.
"""

from __future__ import annotations

from collections import Counter

from latticework.plan.instructions.executable import Instruction
from latticework.plan.instructions.shared_rules import no_parts
from latticework.plan.instructions.table import RECORDS
from latticework.plan.schema.schema import Plan

MOST_TERMS = 32


class _Sums:
    """The forms that instructions of a plan begin, join and compute.

    bound    terms of the form that a result is, at most, where it is one
    kept     registers that wait as forms;  terms, own  of each: how many it has, and how many of these nobody else has
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.bound: dict[int, int] = {}
        self.kept: set[int] = set()
        self.terms: dict[int, int] = {}
        self.own: dict[int, int] = {}
        self.views: set[int] = set()

    def find_kept(self) -> None:
        """Find the results that wait for their only reader: on a stretch of code without inner blocks."""
        plan = self.plan
        reads = Counter(o.register for block in plan.blocks for i in block.code for o in i.operands)
        for block in plan.blocks:
            waiting: set[int] = set()
            for instruction in block.code:
                record = RECORDS[instruction.op]
                if record.signature.blocks:
                    waiting.clear()
                if not self.is_linear(instruction):
                    continue
                forms = [] if record.traits.begins else [o.register for o in instruction.operands]
                terms, reads_form = 0, False
                for operand in instruction.operands:
                    number = self.bound.get(operand.register, 0)
                    if operand.register in forms and operand.register in waiting and terms + number < MOST_TERMS:
                        self.kept.add(operand.register)
                        terms, reads_form = terms + number, True
                    else:
                        terms += 1
                (out,) = instruction.results
                if reads_form or (len(instruction.operands) == 1 and record.family == "plain"):
                    self.bound[out] = terms
                    if reads[out] == 1:
                        waiting.add(out)

    def is_linear(self, instruction: Instruction) -> bool:
        """Whether it is a step of a combination, of arrays of the same length."""
        linear, plan = RECORDS[instruction.op].traits.linear, self.plan
        if linear is None or not linear(instruction.immediate, plan.chain.ring_degree):
            return False
        kinds = [plan.kind(r) for r in (*instruction.results, *(o.register for o in instruction.operands))]
        return len({getattr(kind, "count", None) for kind in kinds}) == 1

    def count(self, instruction: Instruction) -> int | None:
        """Terms of what it computes; 0 where that waits; None for what is no step of a combination."""
        operands = instruction.operands
        if RECORDS[instruction.op].parts is no_parts:  # costs nothing: what it makes shares memory with what it reads
            self.views.update(instruction.results)
        if not instruction.results or not self.is_linear(instruction):
            return None
        (out,) = instruction.results
        if out not in self.kept and not any(o.register in self.kept for o in operands):
            return None
        terms = own = 0
        for operand in operands:
            if operand.register in self.kept:
                terms, own = terms + self.terms[operand.register], own + self.own[operand.register]
            else:
                terms, own = terms + 1, own + (operand.last_use and operand.register not in self.views)
        waits = out in self.kept and own <= 1
        self.terms[out], self.own[out] = (terms, own) if waits else (1, 1)
        return 0 if waits else terms


def weighted_sums(plan: Plan) -> dict[tuple[int, int], int]:
    """Terms of what each step of a linear combination computes, by block and place; 0 where it waits for its reader."""
    sums = _Sums(plan)
    sums.find_kept()
    found = {}
    for number, block in enumerate(plan.blocks):
        for index, instruction in enumerate(block.code):
            terms = sums.count(instruction)
            if terms is not None:
                found[number, index] = terms
    return found
