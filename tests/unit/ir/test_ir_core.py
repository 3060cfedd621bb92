"""Building: uses follow operands, errors carry the line, copies are independent, sources are content-addressed."""

import hashlib

import numpy as np
import pytest

from latticework.errors import DtypeError, IrError
from latticework.ir import INDEX, Block, Builder, Loc, Module, Origin, Region, define, print_module, spec, verify
from latticework.ir.dialects import loop_dialect, vec_dialect

V = vec_dialect.VecType(1, 8, "real", True)


@pytest.fixture
def body():
    block = Block()
    block.add_arg(V, Origin("x"))
    return block


def test_uses_follow_operands(body):
    builder = Builder(body)
    x = body.args[0]
    double = builder.create(vec_dialect.ADD, [x, x])
    other = builder.build(vec_dialect.NEG, [x])
    assert x.uses == [(double, 0), (double, 1), (other.owner, 0)]
    double.set_operand(1, other)
    assert x.uses == [(double, 0), (other.owner, 0)] and other.uses == [(double, 1)]
    assert double.operands == [x, other]


def test_erase_refuses_used_results_and_removes_uses(body):
    builder = Builder(body)
    x = body.args[0]
    first = builder.create(vec_dialect.NEG, [x], loc=Loc("a.py", 4))
    second = builder.create(vec_dialect.NEG, [first.result])
    with pytest.raises(IrError, match=r"a.py:4: vec.neg: cannot be erased, vec.neg uses"):
        first.erase()
    second.erase()
    first.erase()
    assert body.ops == [] and x.uses == []


def test_erase_removes_uses_in_regions(body):
    builder = Builder(body)
    x = body.args[0]
    inner = Block()
    inner.add_arg(INDEX)
    carried = inner.add_arg(V)
    Builder(inner).create(loop_dialect.YIELD, [Builder(inner).build(vec_dialect.ADD, [carried, x])])
    op = builder.create(loop_dialect.FOR, [x], {"static_trip": 3}, [Region(inner)])
    assert len(x.uses) == 2
    op.erase()
    assert x.uses == []


def test_insertion_points(body):
    builder = Builder(body)
    x = body.args[0]
    last = builder.create(vec_dialect.NEG, [x])
    builder.before(last)
    first = builder.create(vec_dialect.NEG, [x])
    second = builder.create(vec_dialect.NEG, [x])
    end = Builder(body).create(vec_dialect.NEG, [x])
    assert body.ops == [first, second, last, end]


def test_locations_and_origins(body):
    builder = Builder(body, Loc("a.py", 1))
    x = body.args[0]
    assert builder.create(vec_dialect.NEG, [x]).loc is Loc("a.py", 1)
    op = builder.create("vec.neg", [x], loc=Loc("a.py", 2), origin=Origin("y"))
    assert op.loc is Loc("a.py", 2) and op.result.origin == Origin("y")
    assert Builder(body).create(vec_dialect.NEG, [x]).loc is Loc.unknown()


def test_errors_carry_the_line(body):
    builder = Builder(body, Loc("a.py", 7))
    with pytest.raises(IrError, match=r"^a.py:7: vec.add: takes 2 vectors, got \(!vec<.*>\)$"):
        builder.build(vec_dialect.ADD, [body.args[0]])
    assert body.ops == [] and body.args[0].uses == []


def test_secrecy_follows_the_type(body):
    assert body.args[0].is_secret
    assert not body.add_arg(INDEX).is_secret
    assert not Builder(body).build(vec_dialect.SPLAT, value=1.0, slots=8).is_secret


def test_unknown_and_duplicate_ops(body):
    with pytest.raises(IrError, match=r"no op is called vec\.nothing"):
        Builder(body).create("vec.nothing")
    assert spec("vec.add") is vec_dialect.ADD
    with pytest.raises(AssertionError, match="already defined"):
        define("vec.add", infer=vec_dialect.ADD.infer)


def test_terminator_of_an_unfinished_block(body):
    with pytest.raises(IrError, match="must end in a terminator"):
        _ = body.terminator


def loop_module():
    body = Block()
    x = body.add_arg(V, Origin("x", Loc("m.py", 1)))
    inner = Block()
    i, carried = inner.add_arg(INDEX, Origin("i")), inner.add_arg(V)
    nested = Builder(inner, Loc("m.py", 3))
    branches = []
    for steps in (1, 2):
        branch = Block()
        arg = branch.add_arg(V)
        Builder(branch).create(loop_dialect.YIELD, [Builder(branch).build(vec_dialect.ROTATE, [arg], steps=steps)])
        branches.append(Region(branch))
    turned = nested.create(loop_dialect.IF, [i, carried], None, branches, origin=Origin("turned")).result
    nested.create(loop_dialect.YIELD, [nested.build(vec_dialect.ADD, [turned, x])])
    builder = Builder(body, Loc("m.py", 2))
    result = builder.create(loop_dialect.FOR, [x], {"static_trip": 3}, [Region(inner)]).result
    builder.create(loop_dialect.YIELD, [result])
    return Module(body, ["x"], ["y"])


def test_clone_is_equal_and_independent():
    module = loop_module()
    text = print_module(module)
    clone = module.clone()
    verify(clone)
    assert print_module(clone) == text
    Builder(clone.body).before(clone.body.ops[0]).build(vec_dialect.NEG, [clone.inputs[0]])
    assert print_module(module) == text != print_module(clone)
    assert not set(module.walk()) & set(clone.walk())


def test_walk_goes_in_order_outside_first():
    assert [op.name for op in loop_module().walk()] == [
        "loop.for",
        "loop.if",
        *["vec.rotate", "loop.yield"] * 2,
        "vec.add",
        "loop.yield",
        "loop.yield",
    ]


def test_copy_infers_again_where_types_changed():
    module = loop_module()
    narrow = vec_dialect.VecType(1, 4, "complex", True)
    body = Block()
    x = body.add_arg(narrow)
    copy = Builder(body).copy(module.body.ops[0], {module.inputs[0]: x})
    assert copy.result.type is narrow
    assert [arg.type for arg in copy.regions[0].block.args] == [INDEX, narrow]


def test_sources_are_content_addressed_and_read_only():
    module = Module()
    array = np.arange(6.0).reshape(2, 3)
    digest = module.add_source(array)
    assert digest == hashlib.blake2b(b"<f8(2, 3)" + array.tobytes(), digest_size=16).hexdigest()
    assert module.add_source(np.asfortranarray(array)) == digest
    assert module.add_source(array.astype(">f8")) == digest
    array[0, 0] = 9
    assert module.sources[digest][0, 0] == 0
    with pytest.raises(ValueError, match="read-only"):
        module.sources[digest][0, 0] = 1
    others = {module.add_source(a) for a in (array, array.T, array.astype(np.float32), np.float64(3), np.zeros((0, 2)))}
    assert len(others | {digest}) == 6 == len(module.sources)
    assert module.sources[module.add_source(np.float64(3))].shape == ()
    with pytest.raises(DtypeError, match="object"):
        module.add_source([object()])


def test_hashes_are_stable():
    """The hash is written into plans: it must never change."""
    assert Module().add_source(np.arange(3.0)) == "950d40ec73cb73ef0caf34cfcd883d88"
