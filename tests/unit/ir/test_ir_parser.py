"""Text: one known module word for word, and the line of each fault."""

import numpy as np
import pytest

from latticework.errors import IrError
from latticework.ir import (
    INDEX,
    Block,
    Builder,
    Loc,
    Module,
    Origin,
    Region,
    define,
    parse_module,
    print_module,
    verify,
)
from latticework.ir.core import RegionRule
from latticework.ir.dialects import loop_dialect, scalar_dialect

S = scalar_dialect.ScalarType("integer", True)

TEXT = """\
#loc0 = loc("main.py":40, "model(x)")
#loc1 = loc("model.py":2, "def f(x):", #loc0)
#origin2 = origin("x", #loc1, 0x1.8000000000000p+1, [0, 1])
#loc3 = loc("model.py":7, "a, b = \\"\\u00e9\\"")
#origin4 = origin("b", unknown, none, none)
"module"() ({
^bb0(%0: index, %1: !scalar<dtype = "integer", secret = true> loc(#origin2)):
  %2:2 = "loop.for"(%0, %1, %1) ({
  ^bb0(%3: index, %4: !scalar<dtype = "integer", secret = true>, %5: !scalar<dtype = "integer", secret = true>):
    %6 = "scalar.add"(%4, %5) : (!scalar<dtype = "integer", secret = true>, !scalar<dtype = "integer", secret = true>) -> \
!scalar<dtype = "integer", secret = true> loc("model.py":8)
    "loop.yield"(%5, %6) : (!scalar<dtype = "integer", secret = true>, !scalar<dtype = "integer", secret = true>) -> ()
  }) {at_most = 9, lw.origin = [none, #origin4]} : (index, !scalar<dtype = "integer", secret = true>, \
!scalar<dtype = "integer", secret = true>) -> (!scalar<dtype = "integer", secret = true>, \
!scalar<dtype = "integer", secret = true>) loc(#loc3)
  "loop.yield"(%2#1) : (!scalar<dtype = "integer", secret = true>) -> ()
}) {inputs = ["n", "x"], outputs = ["y"], sources = [["5d07e1c1bd69af4d9f4a9bd2b48aa6c3", "<f4", [2, 1]]]} : () -> ()
"""


def fibonacci():
    body, inner = Block(), Block()
    n = body.add_arg(INDEX)
    x = body.add_arg(S, Origin("x", Loc("model.py", 2, "def f(x):", Loc("main.py", 40, "model(x)")), 3.0, (0, 1)))
    inner.add_arg(INDEX)
    a, b = inner.add_arg(S), inner.add_arg(S)
    total = Builder(inner).create(scalar_dialect.ADD, [a, b], loc=Loc("model.py", 8)).result
    Builder(inner).create(loop_dialect.YIELD, [b, total])
    where = Loc("model.py", 7, 'a, b = "é"')
    results = Builder(body).create(loop_dialect.FOR, [n, x, x], {"at_most": 9}, [Region(inner)], loc=where).results
    results[1].origin = Origin("b")
    Builder(body).create(loop_dialect.YIELD, [results[1]])
    module = Module(body, ["n", "x"], ["y"])
    module.add_source(np.array([[1], [2]], dtype=np.float32))
    return module


def expected_text(module):
    (digest,) = module.sources or module.absent
    return TEXT.replace("5d07e1c1bd69af4d9f4a9bd2b48aa6c3", digest)


def test_a_known_module_word_for_word():
    module = fibonacci()
    assert print_module(module) == expected_text(module)


def test_parsed_modules_verify_and_print_the_same():
    module = fibonacci()
    for sources in (None, module.sources):
        parsed = parse_module(expected_text(module), sources=sources)
        verify(parsed)
        assert print_module(parsed) == expected_text(module)
        assert parsed.input_names == ["n", "x"] and parsed.outputs == ["y"]
        assert bool(parsed.absent) == (sources is None)
    assert next(parsed.walk()).loc is next(module.walk()).loc
    assert parsed.inputs[1].origin == module.inputs[1].origin


def test_locations_can_be_left_out():
    text = print_module(fibonacci(), locations=False)
    assert "loc" not in text and "origin" not in text and text.startswith('"module"')
    verify(parse_module(text))


def test_white_space_does_not_matter():
    text = print_module(fibonacci(), locations=False)
    loose = text.replace(", ", " ,\n\t ").replace(" = ", "=").replace("!scalar<", "!scalar < ")
    assert print_module(parse_module(loose)) == text


def test_sources_must_have_the_form_that_is_written():
    (digest,) = fibonacci().sources
    with pytest.raises(IrError, match=rf"source {digest} must be <f4 of shape \(2, 1\)"):
        parse_module(expected_text(fibonacci()), sources={digest: np.zeros(3)})


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('"module"() ({', '"modul"() ({', 6, "expected an alias or the module"),
        ("#loc1 = ", "#loc = ", 2, "expected an alias or the module"),
        ('"def f(x):", #loc0', '"def f(x):", #loc9', 2, "#loc9 is not a defined loc"),
        ("loc(#origin2)", "loc(#origin7)", 7, "#origin7 is not a defined origin"),
        ("loc(#origin2)", "loc(#loc1)", 7, "#loc1 is not a defined origin"),
        ("(%4, %5)", "(%4, %9)", 10, "%9 is not defined here"),
        ("(%2#1)", "(%6)", 13, "%6 is not defined here"),
        ("(%2#1)", "(%2#2)", 13, "%2#2 is not defined here"),
        ("%6 = ", "%5 = ", 10, "%5 is defined twice"),
        ("%6 = ", "%6:2 = ", 10, "scalar.add: has 1 results, 2 are named"),
        ("%6 = ", "", 10, "scalar.add: has 1 results, 0 are named"),
        ('"scalar.add"', '"scalar.plus"', 10, "no op is called scalar.plus"),
        ("%1: !scalar", "%1: !skalar", 7, "no type is called !skalar"),
        ("%1: !scalar<dtype", "%1: !scalar<kind", 7, "ScalarType: .*takes dtype, secret"),
        ('%1: !scalar<dtype = "integer"', '%1: !scalar<dtype = "int8"', 7, "a scalar is float64 or integer, not int8"),
        ("secret = true> loc(#origin2)", "secret = maybe> loc(#origin2)", 7, "expected an attribute, found 'maybe>"),
        ("secret = true> loc(#origin2)", "dtype = true> loc(#origin2)", 7, "dtype is given twice"),
        ("at_most = 9", "at_most = #nothing<>", 12, "no attribute is called #nothing"),
        ("at_most = 9", "at_most = -3", 8, "at_most is -3; it must be >= 0"),
        ("at_most = 9", "at_most 9", 12, "expected '='"),
        (": (index,", ": (", 12, "loop.for: operands are"),
        ("-> (!scalar", "-> (index, !scalar", 12, "loop.for: results are"),
        ('("main.py":40', "(main.py:40", 1, "expected a string"),
        ('"main.py":40', '"main.py":x', 1, "expected an integer, found 'x"),
        ('"main.py":40', '"main\\q.py":40', 1, "bad string"),
        (": () -> ()\n", ": () -> () more\n", 14, "expected the end of the text, found 'more'"),
        (": () -> ()\n", "", 14, "expected ': .. -> ..', found 'the end of the line'"),
    ],
)
def test_faults_are_located(old, new, line, message):
    text = expected_text(fibonacci())
    assert old in text
    with pytest.raises(IrError, match=f"^IR text:{line}:\\d+: .*{message}"):
        parse_module(text.replace(old, new, 1))


@pytest.mark.parametrize("cut", range(0, len(TEXT) - 1, 37))
def test_truncated_text_is_refused(cut):
    with pytest.raises(IrError, match=r"^IR text:\d+:\d+: "):
        parse_module(TEXT[:cut])


def test_empty_regions_and_modules():
    define("test.wrap", infer=lambda operands, attrs, regions: [], regions=RegionRule(2))
    block, regions = Block(), []
    for _ in range(2):
        inner = Block()
        Builder(inner).create(loop_dialect.YIELD)
        regions.append(Region(inner))
    Builder(block).create("test.wrap", (), None, regions)
    Builder(block).create(loop_dialect.YIELD)
    text = print_module(Module(block))
    assert print_module(parse_module(text)) == text
    verify(parse_module(text))
