"""The contract of passes: `run(module, cost)`, and nothing beyond what is declared to be read, written and removed."""

import re

import pytest
from vec_cases import SLOTS, Vectors

from latticework.compiler.levels import unroll
from latticework.errors import IrError
from latticework.ir import Builder, Pass, rebuild, run_passes
from latticework.ir.dialects import loop_dialect, scalar_dialect  # noqa: F401  (defines the ops)


def program():
    """rotate(x, 1) * 0.5"""
    v = Vectors(1)
    return v.done(v.op("mul", v.op("rotate", v.x[0], steps=1), v.splat(0.5)))


def replacing(name, make):
    """A function that builds `make(builder, operands)` in the place of operations called `name`."""

    def visit(op, builder, mapping):
        if op.name != name:
            return False
        mapping[op.result] = make(builder, [mapping[v] for v in op.operands])
        return True

    return lambda module, _cost: rebuild(module, visit)


def turned(builder, operands):
    return builder.build("vec.rotate", operands, steps=2)


def negated(builder, operands):
    return builder.build("vec.neg", operands)


def again(builder, operands):
    return builder.build("vec.rotate", operands, steps=1)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Pass("p", replacing("vec.rotate", negated)), "pass p: made vec.neg, or changed .*; it writes only nothing"),
        (Pass("p", replacing("vec.rotate", turned), writes=("vec.neg",)), "pass p: made vec.rotate, .* only vec.neg"),
        (Pass("p", lambda m, _cost: m, reads=("scalar", "loop")), "pass p: was given vec.*, reads only scalar, loop"),
        (Pass("p", lambda m, _cost: m.clone(), removes=("vec.mul",)), "pass p: left vec.mul, which it declares to"),
    ],
)
def test_what_is_not_declared_is_refused(step, message):
    with pytest.raises(IrError, match=re.compile(message)):
        run_passes(program(), (step,))
    run_passes(program(), (step,), verify=False)


@pytest.mark.parametrize(
    "step",
    [
        Pass("p", replacing("vec.rotate", negated), writes=("vec.neg",), removes=("vec.rotate",)),
        Pass("p", replacing("vec.rotate", turned), reads=("vec", "loop"), writes=("vec",)),
        Pass("p", replacing("vec.rotate", again)),  # equal to what was there
        Pass("p", lambda m, _cost: m.clone()),
    ],
)
def test_what_is_declared_passes(step):
    assert run_passes(program(), (step,)) is not None


def test_copies_of_what_was_given_need_no_declaration():
    v = Vectors(1)
    module = v.done(*v.loop(lambda _i, x: [v.op("mul", x, v.op("rotate", x, steps=1))], [v.x[0]], 3))
    made = run_passes(module, (unroll.PASS,))
    assert [op.name for op in made.walk()].count("vec.rotate") == 3
    assert "vec.rotate" not in unroll.PASS.writes


def test_every_pass_is_handed_the_cost():
    asked = []

    def run(module, cost):
        asked.append(cost)
        return module

    module = program()
    assert run_passes(module, (Pass("a", run), Pass("b", run)), 3.5) is module
    assert run_passes(module, (Pass("c", run),)) is module
    assert asked == [3.5, 3.5, None]


def test_a_pass_runs_where_its_roots_occur():
    ran = []

    def noting(name):
        return lambda module, _cost: ran.append(name) or module

    roots = {"op": ("vec.rotate",), "dialect": ("vec",), "one of two": ("tensor.add", "vec.mul"), "none": ("vec.add",)}
    events = []
    steps = [Pass(name, noting(name), roots=of) for name, of in roots.items()]
    run_passes(program(), (*steps, Pass("any", noting("any"))), on_event=events.append)
    assert ran == ["op", "dialect", "one of two", "any"]
    assert [event.name for event in events] == [*roots, "any"]  # progress counts those left out too


def test_what_stands_in_regions_is_looked_at_too():
    v = Vectors(1)
    module = v.done(*v.loop(lambda _i, x: [v.op("rotate", x, steps=1)], [v.x[0]], 3))
    with pytest.raises(IrError, match="pass p: made vec.neg"):
        run_passes(module, (Pass("p", replacing("vec.rotate", negated)),))
    foreign = program()
    end = foreign.body.terminator
    Builder(foreign.body).before(end).create("scalar.constant", [], {"value": SLOTS})
    with pytest.raises(IrError, match=r"was given scalar.constant"):
        run_passes(foreign, (Pass("p", lambda m, _cost: m, reads=("vec", "loop")),))
