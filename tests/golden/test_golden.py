"""What comes out of each pass, of expansion and of the search for layouts, as it was written (golden.py)."""

import golden
import pytest

from latticework.compiler.expand import expanding
from latticework.ir import verify
from latticework.ir.passes import ANY

CASES = [pytest.param(name, case, id=f"{name}: {case.title}") for name in golden.STEPS for case in golden.read(name)]
EXPANSIONS = ("expand", "expand-without-hoisting")


@pytest.mark.parametrize(("name", "case"), CASES)
def test_output_is_as_written(name, case):
    assert golden.result(name, case.before) == case.after
    if '"module"' in case.after:
        verify(golden.parsed("\n".join(line for line in case.after.split("\n") if not line.startswith("//"))))


def test_every_text_is_that_of_a_step():
    assert {path.stem for path in golden.HERE.glob("*.txt")} == set(golden.STEPS)


def test_two_bootstraps_need_no_more_of_keys_at_once_than_one():
    one, two = (case.after.splitlines() for case in golden.read("keys-at-once"))
    assert one[-1] == two[-1] and one[-1].startswith("at once: ")
    assert {line.partition(" x ")[2]: 2 * int(line.partition(" x ")[0]) for line in one[:-1]} == {
        line.partition(" x ")[2]: int(line.partition(" x ")[0]) for line in two[:-1]
    }


@pytest.mark.parametrize("step", golden.PASSES, ids=lambda step: step.name)
def test_what_a_pass_declares_to_write_is_written_in_one_of_its_texts(step):
    """Else its declaration is wider than need be."""
    assert set(step.writes) <= made_in(step.name)


@pytest.mark.parametrize("step", [step for step in golden.PASSES if step.roots != ANY], ids=lambda step: step.name)
def test_a_pass_changes_no_text_without_its_roots(step):
    """Else leaving it out there would lose something."""
    modules = [golden.parsed(case.before) for name in golden.STEPS for case in golden.read(name)]
    names = [{part for op in module.walk() for part in (op.name, op.name.partition(".")[0])} for module in modules]
    known = [(m, n) for m, n in zip(modules, names, strict=True) if {x for x in n if "." not in x} <= set(step.reads)]
    without = [m for m, found in known if found.isdisjoint({*step.roots, "vec.bootstrap"})]  # placed later
    assert without
    for module in without:
        assert golden.printed(step.run(module, golden.COST)) == golden.printed(module)


def test_expansion_writes_no_more_than_it_declares():
    declared = set(expanding(golden.CHAIN, golden.MapStrategies()).writes)
    assert set().union(*map(made_in, EXPANSIONS)) - {"loop.yield"} <= declared


def made_in(name):
    """Names of ops that more often come out of a case than they go in, or with other attributes."""
    made = set()
    for case in golden.read(name):
        before, after = (
            [(op.name, str(op.attrs)) for op in golden.parsed(text).walk()] for text in (case.before, case.after)
        )
        made |= {op for op in {op for op, _ in after} if [k for k in after if k[0] == op and k not in before]}
        made |= {op for op, _ in after if op not in {o for o, _ in before}}
    return made
