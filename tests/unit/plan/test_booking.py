"""Which lines the time of a run is booked to: to those that cause it, each second once."""

from dataclasses import replace

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.passes import cse
from latticework.errors import FormatError, IrError
from latticework.ir import Builder, Loc, Module, parse_module, print_module
from latticework.ir.dialects import loop_dialect, scalar_dialect, vec_dialect  # noqa: F401  (defines the ops the texts use)
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.plan.files.serialise import read_plan, write_plan
from latticework.plan.schema.placement_record import INPUT
from latticework.plan.schema.schema import SourceLocation
from latticework.report import build_report

A, B, C = (Loc("m.py", line, f"line {line}") for line in (1, 2, 3))
RNG = np.random.default_rng(0)
SMALL = {"precision_bits": 4, "ring_degree": 1024, "insecure": True}
KERNEL, MIX = RNG.normal(size=(2, 1, 3, 3)) / 3, RNG.normal(size=(8, 4)) / 3
QUERY, KEY, VALUE = (RNG.normal(size=(8, 8)) / 3 for _ in range(3))


@lw.program
def merged(x: lw.Secret[1, 6, 6], kernel, mix):
    h = lw.conv2d(x, kernel)
    h = h[:, 1:3, 1:3]
    h = np.reshape(h, (8,))
    return h @ mix


@lw.program
def attending(x: lw.Secret[4, 8], query, key, value):
    q = x @ query
    k = x @ key
    v = x @ value
    return q * k * v


@lw.program
def settled(x: lw.Secret[8], y: lw.Secret[8]):
    p = x * y
    d = x - y
    return p * d


@lw.program
def learning(x: lw.Secret[8, 8], e: lw.Secret[8], w: lw.Secret[8]):
    g = x.T @ e
    return w + 0.02 * g


@lw.program
def summed(x: lw.Secret[8], y: lw.Secret[8]):
    p = x * y
    q = x * (y + 1)
    s = p + q
    return s * s


@lw.program
def network(x: lw.Secret[8], query, key):
    return np.square(x @ query) @ key


@lw.program
def twice(x: lw.Secret[8]):
    a = x * x
    b = x * x
    return a + 2 * b


WEIGHTS = {
    "merged": (KERNEL, MIX), "attending": (QUERY, KEY, VALUE), "network": (QUERY, KEY),
}  # fmt: skip
PROGRAMS = {p.name: p for p in (merged, attending, settled, learning, summed, network, twice)}


@pytest.fixture(scope="module", params=PROGRAMS)
def plan(request):
    return compiled(request.param)


def compiled(name):
    return lw.compile(PROGRAMS[name], weights=WEIGHTS.get(name, ()), **SMALL).plan


def lines(plan):
    """Lines by their text."""
    return {line.text: line for line in build_report(plan).execution.lines}


def of_op(plan, op, model=None):
    """Seconds of an opcode by the text of the line."""
    found = {}
    for step in estimate(plan, model or CostModel.load()).steps:
        for number, share in plan.shares(step.location) if step.op == op else ():
            text = plan.locations[number].text
            found[text] = found.get(text, 0.0) + share * step.seconds
    return found


def test_lines_operations_and_kinds_add_up_to_the_run(plan):
    cost, execution = estimate(plan, CostModel.load()), build_report(plan).execution
    assert sum(line.seconds for line in execution.lines) == pytest.approx(cost.warm_seconds)
    assert sum(line.encode_seconds for line in execution.lines) == pytest.approx(cost.encode_seconds)
    assert sum(m.seconds for m in execution.timeline) == pytest.approx(cost.warm_seconds)
    assert sum(cost.by_location.values()) == pytest.approx(cost.seconds)
    for line in execution.lines:
        assert sum(line.by_family.values()) == pytest.approx(line.seconds)
        if line.operations:
            assert sum(o.seconds for o in line.operations) == pytest.approx(line.seconds)
            assert sum(o.encode_seconds for o in line.operations) == pytest.approx(line.encode_seconds)


def test_every_line_that_computes_is_there(plan):
    told = lines(plan)
    for step in plan.placing.steps:
        assert step.operation == INPUT or plan.locations[step.location].text in told


def test_a_merged_map_is_shared_by_what_its_parts_take_alone():
    told = lines(compiled("merged"))
    conv, product = told["h = lw.conv2d(x, kernel)"], told["return h @ mix"]
    whole = sum(line.seconds for line in told.values())
    assert conv.seconds > 0.1 * whole and product.seconds > 0.1 * whole


def test_maps_of_one_value_share_what_they_have_in_common():
    told = lines(compiled("attending"))
    times = [told[f"{name} = x @ {w}"].seconds for name, w in (("q", "query"), ("k", "key"), ("v", "value"))]
    assert min(times) > 0.5 * max(times)


def test_a_product_is_settled_on_its_own_line():
    told = of_op(compiled("settled"), "relinearize")
    assert told["p = x * y"] > 0 and "d = x - y" not in told


def test_what_a_sum_is_settled_for_are_its_products():
    told = of_op(compiled("summed"), "relinearize")
    assert told["p = x * y"] == pytest.approx(told["q = x * (y + 1)"])
    assert "s = p + q" not in told


def test_a_factor_leaves_the_operations_it_is_moved_into_where_they_are():
    told = of_op(compiled("learning"), "rotate")
    assert told["g = x.T @ e"] > 0
    assert "return w + 0.02 * g" not in told


def test_a_line_is_broken_down_by_operation():
    (line,) = build_report(compiled("network")).execution.lines
    assert {o.text for o in line.operations} == {"x @ query", "np.square(…)", "… @ key"}
    assert all(o.seconds > 0 for o in line.operations)


def test_equal_lines_share_what_is_computed_once():
    told = lines(compiled("twice"))
    assert told["a = x * x"].seconds == pytest.approx(told["b = x * x"].seconds)
    assert told["a = x * x"].seconds > 0


def test_a_vector_instruction_belongs_to_the_lines_of_its_lanes():
    @lw.circuit
    def both(a: lw.vector(2), b: lw.vector(2)):
        first = a[0] * b[0]
        second = a[1] * b[1]
        return [first, second]

    plan = lw.compile(both, scheme="bfv", plain_bits=20).plan
    told = of_op(plan, "mul_relinearize")
    assert told["first = a[0] * b[0]"] == pytest.approx(told["second = a[1] * b[1]"])
    assert len(told) == 2


def test_shares_are_stored_and_checked():
    plan = compiled("merged")
    assert any(place.shares for place in plan.locations)
    assert read_plan(write_plan(plan)).locations == plan.locations
    shared = next(i for i, place in enumerate(plan.locations) if place.shares)
    for wrong, message in (
        (((0, 0.5),), "add up to 0.5"),
        (((0, 1.5), (1, -0.5)), "add up to 1"),
        (((len(plan.locations), 1.0),), "not there"),
        (((shared, 1.0),), "not there"),
    ):
        bad = (*plan.locations, SourceLocation("m.py", 3, "text", (0, 0), wrong))
        with pytest.raises(FormatError, match=message):
            read_plan(write_plan(replace(plan, locations=bad)))


def test_fused_places():
    assert dict(Loc.fuse([(A, 1.0), (B, 3.0)], C).parts) == {A: 0.25, B: 0.75}
    assert str(Loc.fuse([(A, 1.0), (B, 3.0)], C)) == "m.py:3"
    assert Loc.fuse([(A, 2.0), (A, 1.0)], C) is A
    assert Loc.fuse([], C) is C and Loc.fuse([(Loc.unknown(), 1.0)], C) is C
    assert Loc.fuse([(A, 1.0), (Loc.unknown(), 9.0)], C) is A
    assert dict(Loc.fuse([(A, 0.0), (B, 0.0)], C).parts) == {A: 0.5, B: 0.5}
    inner = Loc.fuse([(A, 1.0), (B, 1.0)], C)
    assert dict(Loc.fuse([(inner, 2.0), (C, 2.0)], C).parts) == {A: 0.25, B: 0.25, C: 0.5}
    assert A.shares == ((A, 1.0),)


def test_columns_and_shares_survive_being_printed():
    module = Module()
    kind = scalar_dialect.ScalarType(dtype="integer", secret=True)
    x = module.body.add_arg(kind)
    module.input_names.append("x")
    spanned = Loc("m.py", 4, "y = x + x", None, (4, 9))
    for loc in (spanned, Loc("m.py", 4, span=(1, 2)), Loc.fuse([(spanned, 1.0), (A, 2.0)], B)):
        Builder(module.body).create(scalar_dialect.ADD, [x, x], loc=loc)
    Builder(module.body).create(loop_dialect.YIELD)
    text = print_module(module)
    again = parse_module(text)
    assert print_module(again) == text
    assert all(a.loc is b.loc for a, b in zip(again.walk(), module.walk(), strict=True))
    with pytest.raises(IrError):
        parse_module(text.replace("fused(0x", "fused(y"))


def test_equal_ops_are_shared_by_their_places():
    module = Module()
    x = module.body.add_arg(scalar_dialect.ScalarType(dtype="integer", secret=True))
    module.input_names.append("x")
    made = [Builder(module.body).create(scalar_dialect.ADD, [x, x], loc=loc).result for loc in (A, B, A, C)]
    Builder(module.body).create(loop_dialect.YIELD, made)
    module.outputs = ["a", "b", "c", "d"]
    first = next(cse.run(module).walk())
    assert dict(first.loc.shares) == pytest.approx({A: 1 / 3, B: 1 / 3, C: 1 / 3})
    assert (first.loc.line, first.loc.text) == (1, "line 1")
