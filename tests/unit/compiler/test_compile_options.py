"""Options of lw.compile: one record each, from which its signature, its documentation and the types of keywords come."""

import dataclasses
import inspect
import typing
from pathlib import Path

import pytest

import latticework as lw
from latticework.compiler import options as folder
from latticework.compiler.options.compile_keywords import CompileKeywords
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.options.describe import write_keywords
from latticework.compiler.options.option_records import DEFAULTS, FIELDS, OPTIONS, RECORDS


@lw.program
def double(x: lw.Secret[4]):
    return x * 2


def test_the_signature_has_every_option_with_its_default_and_type():
    program, *given = inspect.signature(lw.compile).parameters.values()
    assert program.name == "program" and program.kind is program.POSITIONAL_OR_KEYWORD
    assert {each.kind for each in given} == {inspect.Parameter.KEYWORD_ONLY}
    assert {each.name: each.default for each in given} == DEFAULTS
    assert {each.name: each.annotation for each in given} == {name: each.type for name, each in FIELDS.items()}


def test_type_checkers_read_the_same_options():
    assert CompileKeywords.__optional_keys__ == set(OPTIONS)
    page = Path(folder.__file__).with_name("compile_keywords.py")
    assert page.read_text() == write_keywords(), "run tools/write_options.py"
    assert typing.get_type_hints(CompileKeywords)["precision_bits"] is float
    assert "Unpack[CompileKeywords]" in str(lw.compile.__wrapped__.__annotations__["options"])


def test_the_documentation_tells_of_every_option():
    rows = {line.split("  ")[0] for line in inspect.getdoc(lw.compile).splitlines() if line and line[0] != " "}
    assert rows >= set(OPTIONS) | {"raises", "warns"}
    assert all(option.doc and (bool(option.help) != bool(option.in_python)) for option in OPTIONS.values())
    assert max(map(len, lw.compile.__doc__.splitlines())) <= 116


def test_a_dozen_options_are_for_everybody():
    usual = [name for kind, record in RECORDS.items() if kind != "expert" for name in record.__dataclass_fields__]
    assert len(usual) <= 14


@pytest.mark.parametrize(("keyword", "hint"), [("precision_bit", "; did you mean precision_bits=[?]"), ("xyzzy", "")])
def test_an_unknown_keyword_is_a_type_error_that_names_a_similar_one(keyword, hint):
    with pytest.raises(TypeError, match=rf"^compile\(\) got an unexpected keyword argument '{keyword}'{hint}$"):
        lw.compile(double, **{keyword: 3})


def test_options_are_frozen_and_changed_by_keyword():
    made = CompileOptions.of(ring_degree=4096, seed=3)
    assert (made.ring_degree, made.expert.seed) == (4096, 3) and made.override(seed=4).ring_degree == 4096
    assert made.override(seed=4).costs is made.costs
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.parameters.ring_degree = 2048
    with pytest.raises(KeyError, match="ring"):
        made.override(ring=3)


@pytest.mark.parametrize(("batch", "rows"), [(None, None), (1, 1), (5, 8), ("fill", "fill")])
def test_rows_of_a_batch_are_a_power_of_two(batch, rows):
    assert CompileOptions.of(batch=batch).rows == rows
