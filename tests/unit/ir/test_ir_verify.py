"""The verifier refuses each kind of broken module, and names the op and its line."""

import re

import numpy as np
import pytest

from latticework.errors import IrError, ShapeError
from latticework.ir import INDEX, Block, Builder, Loc, Module, Op, Region, Value, define, verify
from latticework.ir.dialects import loop_dialect, vec_dialect

V = vec_dialect.VecType(1, 8, "real", True)
W = vec_dialect.VecType(1, 4, "real", True)


def looped():
    """x -> loop of 3: carried + x, then rotated."""
    body = Block()
    x = body.add_arg(V)
    inner = Block()
    inner.add_arg(INDEX)
    carried = inner.add_arg(V)
    nested = Builder(inner, Loc("m.py", 3))
    nested.create(loop_dialect.YIELD, [nested.build(vec_dialect.ADD, [carried, x])])
    builder = Builder(body, Loc("m.py", 2))
    result = builder.create(loop_dialect.FOR, [x], {"static_trip": 3}, [Region(inner)]).result
    builder.loc = Loc("m.py", 5)
    builder.create(loop_dialect.YIELD, [builder.build(vec_dialect.ROTATE, [result], steps=1)])
    return Module(body, ["x"], ["y"])


def for_op(module):
    return module.body.ops[0]


def inner_block(module):
    return for_op(module).regions[0].block


def raw(spec, operands, types, attrs=None, regions=(), line=9):
    return Op(spec, operands, types, attrs or {}, regions, loc=Loc("m.py", line))


def place(block, op, at=0):
    block.ops.insert(at, op)
    op.block = block


def use_before_definition(m):
    m.body.ops.reverse()
    m.body.ops.append(m.body.ops.pop(0))
    return "m.py:5: vec.rotate: operand 0 is used where it is not defined"


def use_of_inner_value_outside(m):
    m.body.ops[1].set_operand(0, inner_block(m).ops[0].result)
    return "m.py:5: vec.rotate: operand 0 is used where it is not defined"


def use_of_other_module(m):
    m.body.ops[1].set_operand(0, looped().inputs[0])
    return "m.py:5: vec.rotate: operand 0 is used where it is not defined"


def operand_changed_without_its_use(m):
    m.body.ops[1].operands[0] = m.inputs[0]
    return "m.py:2: loop.for: the use list of <block argument"


def use_listed_twice(m):
    m.inputs[0].uses.append(m.inputs[0].uses[0])
    return "m.py:2: loop.for: the use list of <block argument"


def one_use_listed_instead_of_another(m):
    m.inputs[0].uses[1] = m.inputs[0].uses[0]
    return "m.py:2: loop.for: the use list of <block argument"


def use_by_an_op_that_is_nowhere(m):
    raw(vec_dialect.NEG, [m.inputs[0]], [V])
    return "m.py:2: loop.for: the use list of <block argument"


def wrong_result_type(m):
    inner_block(m).ops[0].result.type = W
    return "m.py:3: vec.add: results are"


def wrong_number_of_results(m):
    place(m.body, raw(vec_dialect.NEG, [m.inputs[0]], [V, V]))
    return "m.py:9: vec.neg: results are"


def operand_of_wrong_type(m):
    place(inner_block(m), raw(vec_dialect.NEG, [inner_block(m).args[0]], [V]))
    return "m.py:9: vec.neg: takes 1 vectors, got (index)"


def no_terminator(m):
    inner_block(m).ops[-1].erase()
    return "m.py:3: loop.for: a block must end in a terminator"


def empty_block(m):
    while inner_block(m).ops:
        inner_block(m).ops[-1].erase()
    return "m.py:2: loop.for: a block must end in a terminator"


def terminator_in_the_middle(m):
    place(inner_block(m), raw(loop_dialect.YIELD, [inner_block(m).args[1]], []))
    return "m.py:9: loop.yield: a terminator must be the last op"


def op_in_two_places(m):
    m.body.ops.insert(1, m.body.ops[0])
    return "m.py:2: loop.for: stands in a block that is not its own, or stands twice"


def op_of_another_block(m):
    m.body.ops[1].block = inner_block(m)
    return "m.py:5: vec.rotate: stands in a block that is not its own"


def result_of_another_op(m):
    m.body.ops[1].results = [Value(V, m.body.ops[0], 0)]
    return "m.py:5: vec.rotate: value 0 names another owner"


def argument_with_wrong_index(m):
    inner_block(m).args[1].index = 0
    return "m.py:2: loop.for: value 1 names another owner or index"


def region_of_another_op(m):
    for_op(m).regions[0].op = m.body.ops[1]
    return "m.py:2: loop.for: a region of it names another op or block"


def missing_region(m):
    place(m.body, raw(loop_dialect.FOR, [m.inputs[0]], [V], {"static_trip": 1}))
    return "m.py:9: loop.for: has 0 regions, must have 1"


def attribute_that_is_an_array(m):
    m.body.ops[1].attrs["mask"] = np.zeros(8)
    return "m.py:5: vec.rotate: attribute 'mask' of class ndarray is not a named constant"


def attribute_with_a_bad_name(m):
    m.body.ops[1].attrs["a b"] = 1
    return "m.py:5: vec.rotate: attribute 'a b' of class int is not a named constant"


def missing_attribute(m):
    del m.body.ops[1].attrs["steps"]
    return "m.py:5: vec.rotate: attribute steps is missing; it must be a int"


def attribute_of_wrong_kind(m):
    m.body.ops[1].attrs["steps"] = 1.5
    return "m.py:5: vec.rotate: attribute steps is 0x1.8000000000000p+0; it must be a int"


def carried_argument_of_another_type(m):
    inner_block(m).args[1].type = W
    return "m.py:2: loop.for: its region takes [index, !vec<count = 1, slots = 4"


def loop_variable_that_is_no_index(m):
    inner_block(m).args[0].type = V
    return "m.py:2: loop.for: its region takes [!vec"


def yield_of_another_type(m):
    block = inner_block(m)
    narrow = raw(vec_dialect.SPLAT, [], [vec_dialect.VecType(1, 4, "real", False)], {"value": 1.0, "slots": 4})
    place(block, narrow)
    block.ops[-1].set_operand(0, narrow.result)
    return "m.py:2: loop.for: the body yields !vec<count = 1, slots = 4"


def yield_of_too_many(m):
    block = inner_block(m)
    block.ops[-1].erase()
    place(block, raw(loop_dialect.YIELD, [block.args[1]] * 2, []), at=1)
    return "m.py:2: loop.for: the body yields 2 values where 1 are needed"


def result_of_a_loop_of_another_type(m):
    for_op(m).result.type = W
    return "m.py:2: loop.for: results are"


def more_trips_than_allowed(m):
    for_op(m).attrs["at_most"] = 2
    return "m.py:2: loop.for: 3 iterations, but at_most is 2"


def negative_trip(m):
    for_op(m).attrs["static_trip"] = -1
    return "m.py:2: loop.for: static_trip is -1"


def run_time_trip_that_is_no_index(m):
    for_op(m).attrs["static_trip"] = None
    return "m.py:2: loop.for: its region takes"


def outputs_without_names(m):
    m.outputs = []
    return "m.py:5: loop.yield: yields 1 outputs, named are []"


def two_inputs_of_one_name(m):
    m.body.add_arg(V)
    m.input_names = ["x", "x"]
    return "a module of 2 inputs needs as many different names"


def two_outputs_of_one_name(m):
    m.outputs = ["y", "y"]
    return "outputs of a module need different names"


def body_in_a_region(m):
    Region(m.body)
    return "the body of a module is nested"


BREAKS = [
    value
    for name, value in sorted(globals().items())
    if callable(value) and getattr(value, "__code__", None) and value.__code__.co_varnames[:1] == ("m",)
]


def test_the_unbroken_module_verifies():
    verify(looped())
    assert len(BREAKS) == 35


@pytest.mark.parametrize("damage", BREAKS, ids=lambda f: f.__name__)
def test_broken_modules_are_refused(damage):
    module = looped()
    message = damage(module)
    with pytest.raises(IrError, match=f"^{re.escape(message)}"):
        verify(module)


def test_own_checks_of_an_op_are_located():
    def refuse(op):
        raise ShapeError("test.refused: never right")

    spec = define("test.refused", infer=lambda operands, attrs, regions: [], verify=refuse)
    module = looped()
    place(module.body, raw(spec, [], []))
    with pytest.raises(ShapeError, match=r"^m.py:9: test.refused: never right$"):
        verify(module)
