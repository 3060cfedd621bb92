"""Client files of circuits: what users' names stand for is checked before anything relies on it."""

from dataclasses import replace

import pytest

import latticework as lw
from latticework.errors import FormatError
from latticework.plan.files.serialise import read_client, write_client
from latticework.plan.schema.arguments import Branch


@lw.circuit
def f(x: lw.vector(2), y: lw.scalar(low=0, high=3)):
    return {"a": (x[0] * y, x[1] + y), "b": x[0] - y}


@pytest.fixture(scope="module")
def spec():
    return lw.compile(f, scheme="bfv", ring_degree=2048, insecure=True, effort="fast").plan.client


def test_client_files_keep_names_and_structure(spec):
    again = read_client(write_client(spec))
    assert again == spec
    assert [a.name for a in again.arguments] == ["x", "y"] and again.arguments[1].high == 3
    assert [r.name for r in again.results] == ["a0", "a1", "b"]


ALTERED = {
    "an input that is not there": ("arguments", 0, {"input": 7}, "argument 'x' is no part of input 7"),
    "an element that is not there": ("arguments", 0, {"elements": (0, 9)}, "argument 'x' is no part"),
    "too few elements": ("arguments", 0, {"elements": (0,)}, "argument 'x' is no part"),
    "half a range": ("arguments", 1, {"low": None}, "argument 'y' ranges from None to 3"),
    "two of one name": ("arguments", 1, {"name": "x"}, "a name stands twice in x, x"),
    "no such output": ("results", 0, {"elements": (99,)}, "result 'a0' is no part of the outputs"),
    "two in one place": ("results", 2, {"path": (Branch("a", 0), Branch(None, 1))}, "a result stands where others do"),
    "inside another": ("results", 2, {"path": ()}, "a result stands where others do"),
    "tuple and dictionary": ("results", 2, {"path": (Branch(None, 1),)}, "both in a tuple and in a dictionary"),
    "deep": ("results", 2, {"path": (Branch("b", 1),) * 100}, "result 'b' is no part of the outputs"),
}


@pytest.mark.parametrize("case", ALTERED)
def test_altered_names_are_refused(spec, case):
    field, number, change, message = ALTERED[case]
    items = list(getattr(spec, field))
    items[number] = replace(items[number], **change)
    with pytest.raises(FormatError, match=message):
        read_client(write_client(replace(spec, **{field: tuple(items)})))
