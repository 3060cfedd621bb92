"""Texts for people: comments with the user's lines, names of types, decimal floats, definitions after the program."""

import numpy as np
import pytest
from test_ir_parser import fibonacci

from latticework.errors import IrError
from latticework.ir import Block, Builder, Loc, Module, Origin, parse_module, print_module
from latticework.ir.dialects import loop_dialect, vec_dialect
from latticework.ir.parser import parse_verified
from latticework.ir.printer import DEFINITIONS, print_readable

HALF = vec_dialect.VecType(1, 4, "real", True)
NUMBERS = [0.1, -2.5e-300, 1e22, float("inf"), -0.0, 1 / 3, 2.0**-1074]


def halved(factor=0.1, origin=None):
    """x times a number."""
    body = Block()
    x = body.add_arg(HALF)
    builder = Builder(body, Loc("/far/away/main.py", 7, "y = 0.1 * x  # of x"))
    number = builder.build("vec.splat", [], value=factor, slots=4)
    product = builder.build("vec.mul", [x, number])
    product.origin = origin
    builder.create(loop_dialect.YIELD, [product])
    return Module(body, ["x"], ["y"])


def test_a_line_of_the_user_stands_before_what_comes_of_it():
    program, definitions = print_readable(halved()).split(DEFINITIONS)
    assert program.splitlines()[1:5] == [
        "^bb0(%0: !secret_1x4):",
        "  // main.py:7: y = 0.1 * x  # of x",
        '  %1 = "vec.splat"() {value = 0.1, slots = 4} : () -> !public_1x4 loc(#loc2)',
        '  %2 = "vec.mul"(%0, %1) : (!secret_1x4, !public_1x4) -> !secret_1x4 loc(#loc2)',
    ]
    assert '!secret_1x4 = !vec<count = 1, slots = 4, elem = "real", secret = true>' in definitions
    assert 'loc("/far/away/main.py":7' in definitions


@pytest.mark.parametrize("factor", NUMBERS)
def test_decimal_floats_are_exact(factor):
    module = halved(factor)
    again = parse_module(print_readable(module))
    assert np.float64(again.body.ops[0].attrs["value"]).tobytes() == np.float64(factor).tobytes()
    assert print_module(again) == print_module(module)


@pytest.mark.parametrize("module", [fibonacci(), halved(origin=Origin("y", factor=0.25)), halved(origin=Origin("y"))])
def test_readable_texts_are_exact_copies(module):
    text = print_readable(module)
    again = parse_verified(text, "text", sources=module.sources)
    assert print_readable(again) == text and print_module(again) == print_module(module)


def test_comments_are_white_space():
    text = print_module(halved())
    commented = text.replace("{value", "// of it\n // all\n {value").replace(" loc(#loc0)", "//\n loc(#loc0)//", 1)
    assert print_module(parse_module(f"// first\n{commented}// last")) == text


def test_what_does_not_verify_is_told_at_its_place_in_the_text():
    text = print_readable(halved()).replace('outputs = ["y"]', 'outputs = ["y", "z"]')
    with pytest.raises(IrError, match=r"^edited.ir:6:3: loop.yield: yields 1 outputs"):
        parse_verified(text, "edited.ir")


def test_a_check_of_operations_is_told_at_its_place():
    def refuse(op):
        if op.name == "vec.mul":
            raise IrError("none of these", at=op.loc)

    with pytest.raises(IrError, match=r"^edited.ir:5:7: none of these"):
        parse_verified(print_readable(halved()), "edited.ir", check=refuse)
