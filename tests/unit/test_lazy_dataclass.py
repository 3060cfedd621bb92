"""Records whose methods are written when they are first used, beside those of the standard library."""

import copy
import dataclasses
import inspect
import pickle
import re
from dataclasses import FrozenInstanceError, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latticework import lazy_dataclass

OPTIONS = [
    {"frozen": frozen, "slots": slots, "eq": eq, "repr": shown, "kw_only": kw_only}
    for frozen in (False, True)
    for slots in (False, True)
    for eq in (False, True)
    for shown in (False, True)
    for kw_only in (False, True)
]


def make_point(decorate, options):
    @decorate(**options)
    class Point:
        x: int
        y: float = 2.5
        names: list[str] = field(default_factory=list, compare=False, repr=False)

        def __post_init__(self):
            if self.x < 0:
                raise ValueError("negative")

    return Point


def make_below(decorate, options):
    @decorate(**options)
    class Below(make_point(decorate, options)):
        z: int = 7

    return Below


def make_written(decorate, options):
    """Methods of its own stay."""

    @decorate(**{**options, "slots": False})
    class Written:
        x: int

        def __init__(self, x):
            object.__setattr__(self, "x", x + 1)

        def __eq__(self, other):
            return False

        def __repr__(self):
            return "written"

    return Written


def make_hashed(decorate, options):
    @decorate(**options)
    class Hashed:
        x: int

        def __hash__(self):
            return 3

    return Hashed


def answer(work, *given):
    """What comes of a call: a value, or the kind and the text of its error."""
    try:
        return work(*given)
    except Exception as error:
        return type(error), str(error)


def looked_at(cls, other, values):
    """What records of a class answer to all that can be done with them; those of `other` are equal to none."""
    keywords = dict(zip([f.name for f in dataclasses.fields(cls)], values, strict=False))
    told = [answer(lambda: repr(cls(*values))), answer(lambda: cls()), answer(lambda: cls(5, 6, 7, 8, 9))]
    told += [str(inspect.signature(cls)), cls.__match_args__, [str(f) for f in dataclasses.fields(cls)]]
    made = answer(lambda: cls(**keywords))
    if isinstance(made, tuple):
        return [str(told), str(made)]
    same, different = cls(**keywords), cls(**{**keywords, "x": values[0] + 1})
    told += [made == same, made == different, made != same, made == other(**keywords), made.__eq__(3)]
    told += [answer(hash, made) if cls.__hash__ is not object.__hash__ else "by identity"]
    told += [answer(setattr, made, "x", 4), answer(delattr, made, "x")]
    refused = [type(each) for each in (answer(setattr, made, "new", 4), answer(delattr, made, "new"))]
    told += refused  # with slots the standard library refuses new names by a TypeError of its own, on some versions
    told += [dataclasses.asdict(same), dataclasses.replace(same, x=9).x, copy.deepcopy(same).x, copy.copy(same).x]
    told += [cls.__init__.__qualname__, hasattr(same, "__dict__"), cls.__dataclass_params__.frozen]
    return [re.sub("at 0x[0-9a-f]+", "", str(each)) for each in told]


@pytest.mark.parametrize("make", [make_point, make_below, make_written, make_hashed])
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: " ".join(k for k, v in options.items() if v) or "none")
@settings(max_examples=5, deadline=None)
@given(values=st.tuples(st.integers(-1, 5), st.floats(0, 1)))
def test_records_behave_as_those_of_the_standard_library(make, options, values):
    values = values[: len(dataclasses.fields(make(dataclasses.dataclass, options)))]
    found, want = (
        looked_at(make(decorate, options), make(decorate, options), values)
        for decorate in (lazy_dataclass.dataclass, dataclasses.dataclass)
    )
    assert found == want


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: " ".join(k for k, v in options.items() if v) or "none")
@pytest.mark.parametrize("order", [0, 1])
def test_both_kinds_of_records_derive_from_one_another(options, order):
    above, below = (lazy_dataclass.dataclass, dataclasses.dataclass)[:: 1 - 2 * order]

    @below(**options)
    class Below(make_point(above, options)):
        z: int = 7

    want = make_below(dataclasses.dataclass, options)
    assert str(inspect.signature(Below)) == str(inspect.signature(want))
    made = Below(x=1)
    assert (made.x, made.y, made.names, made.z) == (1, 2.5, [], 7)
    if options["frozen"]:
        with pytest.raises(FrozenInstanceError):
            made.x = 2
        with pytest.raises(TypeError, match="frozen"):
            below(type("Open", (Below,), {"__annotations__": {}}))


@lazy_dataclass.dataclass(frozen=True, slots=True)
class Kept:
    x: int
    names: tuple[str, ...] = ()


def test_records_are_pickled():
    assert pickle.loads(pickle.dumps(Kept(3, ("a",)))) == Kept(3, ("a",))


def test_methods_are_written_when_they_are_used_and_once():
    made = make_point(lazy_dataclass.dataclass, {"frozen": True, "slots": True})
    later = {"__init__", "__repr__", "__eq__", "__hash__"}
    waiting = {name for name in later if not inspect.isfunction(vars(made)[name])}
    assert waiting == later
    point = made(1)
    assert {name for name in later if not inspect.isfunction(vars(made)[name])} == later - {"__init__"}
    assert {point} == {made(1)}
    assert {name for name in later if not inspect.isfunction(vars(made)[name])} == {"__repr__"}
    assert made.__init__ is vars(made)["__init__"] and made.__init__.__module__ == __name__


def test_records_in_order():
    @lazy_dataclass.dataclass(frozen=True, order=True)
    class Pair:
        x: int
        y: int

    pairs = [Pair(x, y) for x in (2, 0, 1) for y in (1, 0)]
    assert [(pair.x, pair.y) for pair in sorted(pairs)] == sorted((pair.x, pair.y) for pair in pairs)
    assert Pair(1, 2) >= Pair(1, 2) > Pair(0, 9) and Pair(1, 2) <= Pair(1, 2) < Pair(2, 0)
    with pytest.raises(TypeError):
        sorted([Pair(1, 2), (1, 2)])
