"""The table of instructions: nothing may be forgotten, and rules, walk and messages belong together."""

import ast
import re
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from tiny_plans import DOWN, TOP, counted_plan, loop_plan

import latticework as lw
from latticework import _core
from latticework.errors import IrError
from latticework.ir.dialects import (  # noqa: F401  (define the ops)
    bfv_dialect,
    ckks_dialect,
    loop_dialect,
    rlwe_dialect,
)
from latticework.ir.dialects.primitives import PRIMITIVES
from latticework.plan.analysis.simulate import simulate
from latticework.plan.instructions.instruction_record import Record
from latticework.plan.instructions.products import MUL
from latticework.plan.instructions.signatures import SIGNATURES
from latticework.plan.instructions.table import RECORDS, table_of
from latticework.plan.instructions.walk import Domain, Walk

GIVEN = {f.name: getattr(MUL, f.name) for f in fields(Record)}


@pytest.mark.parametrize("field", GIVEN)
def test_a_record_that_lacks_a_field_cannot_be_made(field):
    with pytest.raises(TypeError, match=f"'{field}'"):
        Record(**{name: value for name, value in GIVEN.items() if name != field})
    with pytest.raises(AssertionError):
        Record(**{**GIVEN, field: None})


def test_there_is_one_record_for_every_opcode_of_the_core():
    assert set(RECORDS) == set(_core.opcodes())
    opcodes, records = list(RECORDS), list(RECORDS.values())
    with pytest.raises(AssertionError, match=r"opcodes without a record: \['mul'\]"):
        table_of([record for record in records if record is not MUL], opcodes)
    with pytest.raises(AssertionError, match="records without: {'mul'}"):
        table_of(records, [name for name in opcodes if name != "mul"])
    with pytest.raises(AssertionError, match="two records"):
        table_of([*records, MUL], opcodes)


def test_lines_are_one_line_and_tell_instructions_apart():
    lines = [record.line for record in RECORDS.values()]
    assert len(set(lines)) == len(lines)
    assert all(line and "\n" not in line and not line.endswith(".") for line in lines)


class Visits(Domain):
    """How often each instruction is come to, loops turn by turn."""

    def __init__(self):
        self.seen = []

    def step(self, site, operands):
        return [site.record.name] * len(site.use.results)

    def visit(self, site):
        self.seen.append(site.instruction.op)


def test_the_walk_runs_loops_and_ends_values():
    plan, visits = loop_plan(), Visits()
    walk = Walk(plan, plan.chain, visits)
    assert walk.run(0, ["x"]) == ["mul_plain"]
    assert visits.seen.count("rotate") == 3 and visits.seen.count("key") == 2
    last = [replace(o, last_use=True) for o in plan.blocks[0].code[3].operands]
    code = list(plan.blocks[0].code)
    code[3] = replace(code[3], operands=tuple(last))
    ended = replace(plan, blocks=(replace(plan.blocks[0], code=tuple(code)), plan.blocks[1]))
    walk = Walk(ended, plan.chain, Visits())
    walk.run(0, ["x"])
    assert code[3].operands[0].register not in walk.registers


def with_kinds(plan, kinds):
    """A plan some registers of which are of other types."""
    registers = list(plan.registers)
    for number, (register, kind) in enumerate(kinds.items()):
        registers[register] = len(plan.kinds) + number
        assert plan.kind(register) != kind
    return replace(plan, kinds=(*plan.kinds, *kinds.values()), registers=tuple(registers))


def test_a_wrong_type_in_a_loop_names_the_line():
    right = with_kinds(loop_plan(), {13: replace(DOWN, scale=DOWN.scale**2)})
    assert len(simulate(right, [np.zeros(5)])) == 1
    wrong = with_kinds(right, {6: replace(TOP, count=2)})
    with pytest.raises(IrError, match=r"program.py:3: rotate: the result is stated as .*count=2"):
        simulate(wrong, [np.zeros(5)])


def test_trips_beyond_the_limit_name_the_line():
    with pytest.raises(ValueError, match="program.py:3: for: the trip count is 4; this plan allows 0 to 3"):
        simulate(counted_plan(3), [np.zeros(5), 4])


PACKAGE = Path(lw.__file__).parent
# Opcodes that are words of other things too: of public interfaces, of vectors, of kinds of keys.
EVERYDAY = {
    "for", "if", "yield", "key", "encode", "add", "sub", "neg", "mul", "mul_plain", "mul_int", "square", "rotate",
    "relinearize", "mod_down", "trivial", "take", "concat", "sum", "dot", "to_sparse",
}  # fmt: skip
MAKES_THEM = ("plan/instructions/", "ir/dialects/", "compiler/expand/")
READS_PLANS = (
    "plan/schema/", "plan/files/", "plan/key_schedule/", "plan/analysis/", "compiler/codegen/", "runtime/client/",
    "runtime/server/", "runtime/exchange/",
)  # fmt: skip
ALLOWED = {
    "plan/cost/block_maps.py": "prices of linear maps before there is a plan",
    "plan/cost/weights.py": "prices of layouts before there is a plan",
    "compiler/layout_choice/prices.py": "prices of circuits before there is a plan",
    "runtime/devices/profile_tables.py": "kernels, some of which have the same names",
    "plan/machine/measured_operations.py": "what is measured of the core",
    "commands/machine/operations_bfv.py": "what is measured of the core",
    "plan/files/check_file.py": "a kind of key",
    "frontend/heir/pretty_forms.py": "operations of HEIR, some of which have the same names",
    "frontend/heir/slots.py": "operations of vectors, some of which have the same names",
    "plan/files/code_file.py": "a kind of register",
    "plan/schema/schema.py": "a field",
    "plan/analysis/step_prices.py": "what is counted apart in reports",
    "plan/export/lift_plan.py": "what each is on vectors of slots, in libraries that have no levels to manage",
    "plan/export/vector_program.py": "operations of integers, as they are exported",
    "plan/export/python_lines.py": "operations of integers, as Python writes them",
    "plan/export/heir_text.py": "operations of integers, as HEIR writes them",
}


def spelled(path):
    """Opcodes that a file has as strings; annotations and docstrings are none."""
    return {node.value for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Constant) and node.value in RECORDS}  # fmt: skip


def test_no_record_is_imported_where_any_may_be_asked():
    """What sets one apart is in its record or signature, so that another like it is not forgotten."""
    families = [module for name, module in sys.modules.items() if name.startswith("latticework.plan.instructions.")]
    records = "|".join({name for family in families for name, record in vars(family).items()
                        if isinstance(record, Record) and not record.traits.control})  # fmt: skip
    imported = re.compile(rf"from latticework\.plan\.instructions\.\w+ import [^#]*?\b({records})\b")
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] != "instructions":
            for statement in re.findall(r"^from [\w.]+ import (?:\([^)]*\)|.*)", path.read_text(), re.MULTILINE):
                assert not imported.search(statement), f"{path}: ask the record or its signature"


def test_every_opcode_is_an_op_of_a_dialect():
    """What runs blocks is emitted with these."""
    written = {primitive.record.name for primitive in PRIMITIVES.values()}
    assert RECORDS.keys() - written == {op for op, record in RECORDS.items() if record.signature.blocks}


def test_signatures_name_blocks_first_and_constants_of_one_kind():
    for name, signature in SIGNATURES.items():
        assert signature.immediates.startswith("b" * signature.blocks) and set(signature.immediates) <= set("bkvmwn*")
        assert not signature.blocks or RECORDS[name].traits.control
    immediate = (4, 7, 9)
    assert SIGNATURES["encode_at"].constants(immediate) == (("v", 4), ("v", 7), ("v", 9))
    assert SIGNATURES["map_sums"].constants((3,)) == (("m", 3),)
    assert SIGNATURES["public_matmul"].constants((3,)) == (("w", 3),)
    assert SIGNATURES["take"].constants(immediate) == SIGNATURES["key"].constants((3,)) == ()


def test_no_opcode_is_named_where_records_are_asked():
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        reads = name.startswith(READS_PLANS)
        names = spelled(path) - (set() if reads else EVERYDAY)
        if names and not name.startswith(MAKES_THEM):
            found[name] = names
    unknown = {name: names for name, names in found.items() if name not in ALLOWED}
    assert not unknown, f"ask the record, or say here why not: {unknown}"
    assert set(ALLOWED) <= set(found), f"no longer needed: {set(ALLOWED) - set(found)}"
