"""Compile time grows no faster than a program: what Python does is counted, so that no clock is needed.

Bytecode instructions are counted for every function and comprehension of the compiler by itself, so that one that walks
the whole program for each statement stands out in programs of a few dozen.
How far back a number is moved (compiler/levels/factors.py) is bounded, and not counted.
"""

import sys
from collections import Counter

import pytest

import latticework as lw
from bench.growth import PROGRAMS
from latticework.compiler.circuits.circuit_pipeline import LaneOptions, to_lanes, to_scalars
from latticework.compiler.vector_levels import to_levels, to_primitives
from latticework.plan.parameters import Need, build_chain

MOST = 7  # times as much for four times as many statements: 4 where it is linear, 16 where it is quadratic
FEW = 500  # instructions of the smaller program that are no part worth a look
COUNTED = tuple(
    f"latticework/{part}"
    for part in ("frontend", "ir", "dialects", "layout", "ops", "layout_cost", "passes", "levels/depth", "levels/manage", "levels/ranges", "levels/constants", "expand", "keys",
                 "circuit", "codegen", "instructions", "plan/code", "plan/schema", "analysis/simulat", "assemble", "measure", "precision")
)  # fmt: skip


def instructions(work):
    """Bytecode instructions that some work takes, by the code they are of."""
    counted = Counter()

    def step(frame, event, _):
        if event == "opcode":
            counted[frame.f_code] += 1
        elif event == "call":
            if not any(part in frame.f_code.co_filename for part in COUNTED):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        work()
    finally:
        sys.settrace(before)
    return counted


def whole(name, n):
    """All of compiling a program on arrays."""
    options = PROGRAMS[name][0](n)
    lw.compile(options.pop("program"), **options)


def one_by_one(name, n):
    """A circuit as code for one number at a time, with levels and keys."""
    scalars = to_scalars(PROGRAMS[name][0](n)["program"], (), exact=False)
    vectors = to_lanes(scalars, 1024, LaneOptions("scalar", "normal", 0, ()))
    to_primitives(to_levels(vectors), build_chain(2048, Need(vectors.depth, 1024, 30, 10), 1, 128, insecure=True))


CASES = [(whole, "products", 8), (whole, "additions", 8), (whole, "statements", 6), (one_by_one, "layers", 16)]


@pytest.mark.parametrize(("work", "name", "n"), CASES, ids=[case[1] for case in CASES])
def test_four_times_the_statements_take_about_four_times_as_long(work, name, n):
    if sys.version_info >= (3, 12):  # opcode events come once they were asked for: in 3.13, in each function
        instructions(lambda: work(name, n))
    few, many = (instructions(lambda size=size: work(name, size)) for size in (n, 4 * n))
    assert many.total() > few.total() > FEW
    grown = {
        f"{code.co_filename}:{code.co_firstlineno} {code.co_name}": (few[code], most)
        for code, most in many.items()
        if most > MOST * max(few[code], FEW)
    }
    assert not grown
