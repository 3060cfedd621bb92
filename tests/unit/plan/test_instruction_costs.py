"""What records say that instructions cost, hold on to and count as, and the walks that add it up."""

from dataclasses import fields, replace

import numpy as np
import pytest
from instruction_cases import Maker
from tiny_plans import CHAIN, DOWN, GALOIS, INDEX, PLAIN, TOP, counted_plan, loop_plan, make_plan, reads

from latticework.compiler.noisy_code import NoisyCode
from latticework.plan.analysis.estimate import OperationCounts, estimate
from latticework.plan.analysis.memory import peak_value_bytes
from latticework.plan.analysis.trip_counts import TripCounts, instructions_run
from latticework.plan.cost import CostModel, work
from latticework.plan.instructions.executable import Instruction, PlanBlock, RegisterOperand
from latticework.plan.instructions.public_matrices import residue_parts
from latticework.plan.instructions.shared_rules import no_parts
from latticework.plan.instructions.table import RECORDS
from latticework.plan.instructions.value_shapes import row_bytes, vectors_of
from latticework.plan.instructions.walk import Domain, Walk
from latticework.plan.schema.schema import IndexInput, SecretInput
from latticework.report.families import family_of
from latticework.values.packing.key_manifest import KeySpec

COUNTS = {f.name for f in fields(OperationCounts)}
FREE = {"take", "take_at", "put_at", "concat", "relabel"}  # beside control
WITH_CONSTANTS = {op for op, record in RECORDS.items() if set("vmw") & set(record.signature.immediates)}
DRAWS = 8


@pytest.mark.parametrize("scheme", ["ckks", "bfv"])
@pytest.mark.parametrize("op", [op for op in RECORDS if op not in WITH_CONSTANTS])
def test_costs_of_instructions_by_chance(op, scheme):
    """Parts are priced, counts are told, keys are among the operands, and buffers fit the result."""
    record, maker = RECORDS[op], Maker(np.random.default_rng([len(op), len(scheme)]), scheme)
    for case in (maker.right(op) for _ in range(DRAWS if scheme in record.signature.schemes else 0)):
        if case is None:
            continue
        use = maker.use(case)
        parts = record.parts(use)
        assert bool(parts) == (not record.traits.control and op not in FREE)
        for part in parts:
            assert part.number >= 0 and all(units >= 0 for units in work(part.operation, part.shape).values())
        assert set(record.counts(use)) <= COUNTS
        keys = {place for place, kind in enumerate(use.operands) if isinstance(kind, KeySpec)}
        assert set(record.keys(use)) == (set() if record.traits.control else keys)
        if record.traits.control:
            continue
        assert 0 <= record.scratch(use, True) <= record.scratch(use, False)
        buffers = [tuple((place, i) for i in range(vectors_of(kind))) for place, kind in enumerate(use.operands)]
        for lent in (False, True):
            reused = record.reuse(use, lent, *buffers)
            assert reused is None or len(reused) == use.stated.count


def test_residues_are_priced_whole_where_a_float64_adds_up_four_products():
    for bits in range(28, 50):
        for scale_bits in range(10, 44):
            weight_bits = min(max(scale_bits - 8, 1), 24)
            fits = 4 * 2 ** (bits - 1) * 2**weight_bits <= 2**53  # residues are centred
            assert residue_parts(2**bits, 2.0**scale_bits) == (1 if fits else 2)


def test_every_opcode_has_work_or_parts_that_have():
    for op, record in RECORDS.items():
        free = record.traits.control or op in FREE
        assert (record.parts is no_parts) == free and not (free and record.work), op
        assert all(name.removeprefix("bfv.") == op for name in record.work)
    with pytest.raises(ValueError, match="frobnicate"):
        work("frobnicate", None)


def test_an_unknown_opcode_has_no_family():
    assert family_of("map_sums") == "switch" and family_of("key") == "other"
    with pytest.raises(KeyError, match="frobnicate"):
        family_of("frobnicate")


def branch_plan(**last):
    """`if n: rotate(x) + x else: -x`, x read from outside; reads in `last` are the last ones."""
    registers = (TOP, INDEX, GALOIS, TOP, TOP, TOP, TOP)
    turned = Instruction("rotate", 0, reads(0, 2), (3,))
    added = Instruction("add", 0, (RegisterOperand(3, True), RegisterOperand(0, last.get("then", False))), (4,))
    blocks = (
        PlanBlock(
            (0, 1),
            (
                Instruction("key", 0, (), (2,), (1,)),
                Instruction("if", 0, reads(1), (6,), (1, 2)),
                Instruction("yield", 0, reads(6), ()),
            ),
        ),
        PlanBlock((), (turned, added, Instruction("yield", 0, reads(4), ()))),
        PlanBlock(
            (),
            (
                Instruction("neg", 0, (RegisterOperand(0, last.get("otherwise", False)),), (5,)),
                Instruction("yield", 0, reads(5), ()),
            ),
        ),
    )
    return make_plan(registers, blocks, (*loop_plan().client.inputs, IndexInput("n", 1)))


@pytest.mark.parametrize("last", [{}, {"then": True, "otherwise": True}])
def test_both_branches_are_looked_at_and_the_slower_is_counted(last):
    plan = branch_plan(**last)
    cost = estimate(plan, CostModel.load())
    assert cost.counts.rotations == cost.counts.additions == 1
    assert [step.op for step in cost.steps] == ["key", "if", "rotate", "add", "yield", "yield"]
    assert cost.key_uses == {1: 1}
    assert instructions_run(plan) == 3 + 3 + 2
    assert cost.memory.values >= 2 * 2 * 3 * row_bytes(CHAIN)


def test_how_often_blocks_run():
    assert instructions_run(loop_plan()) == 10 + 3 * 3
    assert instructions_run(counted_plan(7)) == 2 + 7 * 2
    assert instructions_run(counted_plan(None)) == 2 + 2
    trips = TripCounts(counted_plan(7), {"n": 4})
    assert trips.indices == [None, 4] and trips.assumed == {"n": 4}


def test_rows_of_a_rotation_are_those_of_its_division():
    """Beside x and the result: by hand for 3 limbs in digits of 2 and 1, and one special prime."""
    switching, closing, result = 3 + (2 + 3) + 2 * 8, 3 + 8 + 2 * 1 + 2 * 6, 6
    body = (
        Instruction("key", 0, (), (1,), (1,)),
        Instruction("rotate", 0, reads(0, 1), (2,)),
        Instruction("yield", 0, reads(2), ()),
    )
    plan = make_plan((TOP, GALOIS, TOP), [PlanBlock((0,), body)])
    rows = 6 + result + max(switching, closing) - result
    assert peak_value_bytes(plan, TripCounts(plan)) == rows * row_bytes(CHAIN)


def test_a_sum_is_written_over_what_is_not_read_again():
    for last, buffers in ((True, 3), (False, 4)):
        body = (
            Instruction("add", 0, reads(0, 0), (1,)),
            Instruction("neg", 0, reads(0), (2,)),
            Instruction("add", 0, (RegisterOperand(1, last), RegisterOperand(2)), (3,)),
            Instruction("yield", 0, reads(3), ()),
        )
        plan = make_plan((TOP,) * 4, [PlanBlock((0,), body)])
        assert peak_value_bytes(plan, TripCounts(plan)) == buffers * 6 * row_bytes(CHAIN)


class Ends(Domain):
    """What ends where."""

    def __init__(self):
        self.seen = []

    def step(self, site, operands):
        return [site.record.name] * len(site.use.results)

    def drop(self, register):
        self.seen.append(register)

    def leave(self, site):
        self.seen.append(site.record.name)


def test_values_end_before_an_instruction_is_left_and_at_the_end_of_blocks():
    body = (
        Instruction("neg", 0, (RegisterOperand(0, True),), (1,)),
        Instruction("yield", 0, (RegisterOperand(1, True),), ()),
    )
    plan, ends = make_plan((TOP, TOP), [PlanBlock((0,), body)]), Ends()
    assert Walk(plan, CHAIN, ends).run(0, ["x"]) == ["neg"]
    assert ends.seen == [0, "neg", 1, "yield"]


def test_what_the_choice_of_parameters_counts():
    code = NoisyCode(loop_plan())
    assert (code.switches, code.products) == (2, 1)


def test_encodings_are_paid_once_and_have_steps_of_their_own():
    """The second encoding of the same constant, as the same type, takes no time."""
    body = (
        Instruction("encode", 0, (), (1,), (0,)),
        Instruction("encode", 0, (), (2,), (0,)),
        Instruction("mul_plain", 0, reads(0, 1), (3,)),
        Instruction("mul_plain", 0, reads(3, 2), (4,)),
        Instruction("yield", 0, reads(4), ()),
    )
    inputs = (replace(loop_plan().client.inputs[0], level=1),)
    plan = make_plan((DOWN, PLAIN, PLAIN, DOWN, DOWN), [PlanBlock((0,), body)], inputs)
    assert isinstance(inputs[0], SecretInput)
    cost = estimate(plan, CostModel.load())
    first, second = [step for step in cost.steps if step.op == "encode"]
    assert first.seconds > 0 == second.seconds and cost.counts.encodes == 1
    assert cost.bytes.constants == 2 * row_bytes(CHAIN)
