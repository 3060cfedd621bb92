"""When values come down: the rules mean the same, and the one by the cost table takes the least."""

from typing import get_args

import numpy as np
import pytest
from test_level_plans import PRICES
from vec_cases import SLOTS, Vectors, small_chain

from latticework.compiler.layout_choice import CodeCost
from latticework.compiler.levels import decide_levels, write_levels
from latticework.compiler.levels.depth import levels_of, lowest_input_levels
from latticework.compiler.levels.early_rescale import lowest_levels
from latticework.compiler.levels.level_plan import Drop
from latticework.compiler.levels.rescale_timing import plan_seconds
from latticework.compiler.options.techniques import Rescaling, Techniques
from latticework.compiler.passes import cse, dce
from latticework.errors import UserError
from latticework.ir import interpret, run_passes

RULES = [Techniques(rescaling=rule) for rule in get_args(Rescaling)]


class FreeDrops(CodeCost):
    """With these everything comes down that may."""

    def drop_seconds(self, spent):
        return 0.0


def drops(plan):
    return sum(isinstance(step, Drop) for op in plan.ops.values() for _, step in op.before)


def straight(seed):
    """Products, rotations and sums of values of all depths, of which the last four leave the program."""
    rng, v = np.random.default_rng(seed), Vectors(3)
    pool = list(v.x)

    def pick():
        return pool[rng.integers(len(pool))]

    for _ in range(14):
        kind = rng.integers(4)
        half = v.splat(0.5)
        pool.append(
            v.op("mul", pick(), pick()) if kind == 0
            else v.op("rotate", pick(), steps=int(rng.integers(1, 4))) if kind == 1
            else v.op("mul", half, pick()) if kind == 2
            else v.op("add", pick(), pick())
        )  # fmt: skip
    return v.done(*pool[-4:])


def three_plans(seed):
    """Coming down where it pays, late, and always."""
    module = run_passes(straight(seed), (cse.PASS, dce.PASS))
    least, late, _ = (decide_levels(module, t, prices=PRICES) for t in RULES)
    return least, late, decide_levels(module, prices=FreeDrops(PRICES.vectors, 0.0))


@pytest.mark.parametrize("seed", range(30))
def test_coming_down_where_it_pays_takes_no_more_than_late_or_always(seed):
    least, late, always = (plan_seconds(plan, PRICES) for plan in three_plans(seed))
    assert least <= min(late, always) * (1 + 1e-9)


def test_in_some_programs_it_takes_less():
    rows = [[plan_seconds(plan, PRICES) for plan in three_plans(seed)] for seed in range(30)]
    assert sum(least < 0.999 * late for least, late, _ in rows) >= 10
    assert sum(least < 0.999 * always for least, _, always in rows) >= 3


def shallow_and_deep():
    """A product that meets a deep one, and half of something higher that leaves the program."""
    v = Vectors(2)
    x, y = v.x
    first = v.op("mul", x, y)
    deep = v.op("mul", v.op("mul", first, y), y)
    return v.done(v.op("add", v.op("mul", x, x), deep), v.op("mul", v.splat(0.5), first))


def test_what_meets_something_low_is_computed_there_and_what_meets_nothing_is_not():
    module = shallow_and_deep()
    late, least, always = (decide_levels(module, Techniques(rescaling=r), prices=PRICES)
                           for r in ("waterline", "least-time", "proactive"))  # fmt: skip
    square, half = module.body.ops[3].result, module.body.ops[-2].result
    levels = {name: (plan.states[square].level, plan.states[half].level)
              for name, plan in {"late": late, "least": least, "always": always}.items()}  # fmt: skip
    assert levels == {"late": (0, -1), "least": (-2, -1), "always": (-3, -3)}
    assert [drops(plan) for plan in (late, least, always)] == [3, 3, 4]


@pytest.mark.parametrize("rule", get_args(Rescaling))
def test_rules_mean_the_same(rule):
    module = shallow_and_deep()
    plan = decide_levels(module, Techniques(rescaling=rule), prices=PRICES)
    inputs = list(np.random.default_rng(0).uniform(-1, 1, (2, SLOTS)))
    found = interpret(write_levels(plan, small_chain(plan.depth)), inputs)
    for got, want in zip(found, interpret(module, inputs), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-6)


def test_rotations_of_one_value_stay_on_one_level():
    v = Vectors(2)
    x, y = v.x
    low = v.op("mul", v.op("mul", y, y), y)
    module = v.done(
        v.op("mul", v.op("mul", v.op("rotate", x, steps=1), y), y), v.op("mul", low, v.op("rotate", x, steps=2))
    )
    levels = levels_of(module, lowest_input_levels(module, levels_of(module)))
    lowest = lowest_levels(module, levels, -3)
    turned = [op.result for op in module.walk() if op.name == "vec.rotate"]
    assert len({lowest[v] for v in turned}) == 1


def test_an_output_that_is_fed_stays_as_high_as_its_input_has_to_be():
    v = Vectors(2)
    x, y = v.x
    module = v.done(v.op("rotate", x, steps=1), v.op("mul", v.op("mul", x, y), y))
    plan = decide_levels(module, Techniques(rescaling="proactive"), feedback={0: 0})
    fed, start = module.body.terminator.operands[0], module.body.args[0]
    assert plan.states[fed].level == plan.states[start].level == 0


def test_rules_have_names():
    assert repr(Techniques(rescaling="waterline")) == "Techniques(rescaling='waterline')"
    with pytest.raises(UserError, match="rescaling='eager'; give one of least-time, waterline, proactive"):
        Techniques(rescaling="eager")
