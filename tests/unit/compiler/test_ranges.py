"""How large values are where they may be bootstrapped, by runs on data."""

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors

from latticework.compiler.levels.bootstrap_ranges import find_ranges, outgrown_error
from latticework.ir import Loc, Origin


def test_exponents_hold_the_largest_value_of_all_runs_and_iterations_with_a_margin():
    v = Vectors(1, trips=True)
    (y,) = v.loop(lambda _i, a: [v.op("add", a, v.op("mul", a, v.splat(0.5)))], [v.x[0]], v.n)
    module = v.done(v.op("mul", y, v.splat(1e-3)), y)
    x = np.linspace(-0.4, 0.1, SLOTS)
    ranges = find_ranges(module, [{"x0": x, "n": 2}, {"x0": 2 * x, "n": 6}, {"x0": x, "n": 0}])
    body = y.owner.regions[0].block
    assert ranges.largest[y] == pytest.approx(0.8 * 1.5**6)
    assert ranges.exponent(y) == 5  # 2 * 9.1 <= 2^5
    assert ranges.largest[body.args[1]] == pytest.approx(0.8 * 1.5**5)
    assert ranges.exponent(module.inputs[0]) == 1
    small = module.body.terminator.operands[0]
    assert ranges.exponent(small) == 0
    assert module.inputs[1] not in ranges.largest


def test_slots_without_elements_do_not_count():
    v = Vectors()
    y = v.op("mul", v.x[0], v.x[0])
    y.origin = Origin("y", Loc.unknown(), None, (3,))
    module = v.done(y)
    x = np.full(SLOTS, 100.0)
    x[:4] = 0.5
    held = np.zeros((1, SLOTS), dtype=bool)
    held[0, :4] = True
    assert find_ranges(module, [{"x0": x}]).exponent(y) == 15
    assert find_ranges(module, [{"x0": x}], {3: held}).exponent(y) == 0


def test_values_that_grow_without_end_have_no_exponent_and_those_that_never_run_have_one():
    v = Vectors(1, trips=True)

    def body(_i, a):
        v.builder.loc = Loc("user.py", 7, "a * a")
        return [v.op("mul", a, a)]

    (y,) = v.loop(body, [v.x[0]], v.n)
    carried = y.owner.regions[0].block.args[1]
    carried.origin = Origin("a", Loc("user.py", 6), None, None)
    module = v.done(y)
    unseen = find_ranges(module, [{"x0": np.ones(SLOTS), "n": 0}])
    inside = y.owner.regions[0].block.ops[0].result
    assert unseen.exponents == {v.x[0]: 1, y: 1, carried: 0, inside: 0}
    for trips, start in ((12, 3.0), (7, 3.0)):  # 3^4096 is no number, 3^128 is
        ranges = find_ranges(module, [{"x0": np.full(SLOTS, start), "n": trips}])
        assert ranges.exponent(carried) is None
        error = outgrown_error(ranges, [carried])
        assert error is not None and error.at.line == 6
        assert "'a' has to be bootstrapped" in str(error) and "grows beyond 2^23 in iteration 5" in str(error)
    assert outgrown_error(unseen, [carried]) is None


def test_complex_values_count_by_their_parts():
    v = Vectors()
    turned = v.op("mul", v.x[0], v.builder.build("vec.splat", [], value=3 + 4j, slots=SLOTS))
    module = v.done(turned)
    assert find_ranges(module, [{"x0": np.ones(SLOTS)}]).largest[turned] == 4.0
