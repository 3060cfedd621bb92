"""Whatever can be built is printed, parsed and copied exactly."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_modules import attributes, modules, types

from latticework.errors import IrError
from latticework.ir import attribute_key, is_attribute, parse_module, print_attribute, print_module, verify
from latticework.ir.scanner import Scanner


def same(a, b):
    """Structural equality that tells 1 from 1.0 and 0.0 from -0.0, and takes NaN for itself."""
    return print_attribute(a) == print_attribute(b) and (a != a or attribute_key(a) == attribute_key(b))


@given(attributes)
def test_attributes_round_trip(value):
    assert is_attribute(value)
    scanner = Scanner(print_attribute(value))
    parsed = scanner.attribute()
    assert scanner.position == len(scanner.text)
    assert type(parsed) is type(value) and print_attribute(parsed) == print_attribute(value)
    if "nan" not in print_attribute(value):
        assert same(parsed, value)


@given(types)
def test_types_round_trip_to_the_same_object(value):
    assert Scanner(str(value)).type() is value


@settings(max_examples=60, deadline=None)
@given(modules())
def test_modules_round_trip(module):
    verify(module)
    text = print_module(module)
    assert print_module(parse_module(print_module(module, aliases=True), sources=module.sources)) == text
    parsed = parse_module(text, sources=module.sources)
    verify(parsed)
    assert print_module(parsed) == text
    assert [op.loc for op in parsed.walk()] == [op.loc for op in module.walk()]
    assert [[v.origin for v in op.results] for op in parsed.walk()] == [
        [v.origin for v in op.results] for op in module.walk()
    ]


@settings(max_examples=30, deadline=None)
@given(modules())
def test_copies_print_the_same(module):
    clone = module.clone()
    verify(clone)
    assert print_module(clone) == print_module(module)


TOKENS = [
    "",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "%0",
    "#origin0",
    "none",
    "-1",
    "0x1p+99999",
    "9" * 5000,
    '"',
    "\\",
    "é",
]


@settings(max_examples=150, deadline=None)
@given(module=modules(), where=st.floats(0, 1), width=st.integers(0, 12), token=st.sampled_from(TOKENS))
def test_damaged_text_is_parsed_or_refused(module, where, width, token):
    """Any other exception than an IrError is a fault of the parser."""
    text = print_module(module)
    at = int(where * len(text))
    try:
        damaged = parse_module(text[:at] + token + text[at + width :])
    except IrError as error:
        assert str(error).startswith("IR text:")
    else:
        assert print_module(damaged)


@pytest.mark.parametrize("opening", ["[", "!tensor<shape = ", "#level<track = ", "#complex<"])
def test_deep_nesting_is_refused(opening):
    with pytest.raises(IrError, match=r"^IR text:1:\d+: "):
        parse_module('"module"() ({ "test.note"() {a = ' + opening * 20_000)
