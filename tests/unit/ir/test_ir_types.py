"""Types are interned and immutable; attributes have one exact text each; locations are interned."""

import copy
import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from latticework.errors import IrError, LevelError, RangeError, ScaleError, ShapeError
from latticework.ir import (
    INDEX,
    IndexType,
    Loc,
    Origin,
    attribute_class,
    attribute_key,
    is_attribute,
    print_attribute,
    register_attribute,
    type_class,
)
from latticework.ir.dialects.rlwe_dialect import CipherType, Level
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.ir.dialects.vec_dialect import VecType


def test_equal_arguments_give_the_same_object():
    a = VecType(1, 64, "real", True)
    assert VecType(count=1, slots=64, elem="real", secret=True) is a
    assert VecType(1, 64, secret=True, elem="real") is a
    assert VecType(1, 32, "real", True) is not a
    assert IndexType() is INDEX


def test_fields_are_converted_so_that_equal_types_print_alike():
    level = Level(0, 3)
    whole = CipherType("ckks", 1, 8, level, 1024)
    assert whole is CipherType("ckks", True, np.int64(8), level, 1024.0)
    assert type(whole.scale) is float and type(whole.slots) is int and type(whole.count) is int
    assert "scale = 0x1.0000000000000p+10" in str(whole)


def test_defaults_and_replace():
    cipher = CipherType("ckks", 1, 8, Level(0, 3), 2.0**30)
    assert (cipher.degree, cipher.basis, cipher.secret_key) == (1, "Q", "main")
    assert cipher.replace(degree=2).replace(degree=1) is cipher
    assert TensorType((2, 3), "float64", True).layout is None
    with pytest.raises(TypeError, match="no field colour"):
        cipher.replace(colour=1)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((1, 2, "real", True, 5), {}), ((1,), {}), ((1, 2, "real", True), {"count": 1}), ((1, 2, "real"), {"hidden": 1})],
)
def test_constructor_refuses_wrong_arguments(args, kwargs):
    with pytest.raises(TypeError, match="VecType"):
        VecType(*args, **kwargs)


def test_types_are_immutable():
    with pytest.raises(AttributeError, match="immutable"):
        INDEX.name = "other"
    with pytest.raises(AttributeError, match="immutable"):
        VecType(1, 8, "real", True).slots = 4
    with pytest.raises(AttributeError, match="immutable"):
        del VecType(1, 8, "real", True).slots


def test_copies_are_the_same_object():
    a = CipherType("ckks", 1, 8, Level(0, 3), 2.0**30)
    assert copy.deepcopy(a) is a and copy.copy(a) is a and pickle.loads(pickle.dumps(a)) is a
    loc = Loc("a.py", 3, "x = 1", Loc("b.py", 9))
    assert copy.deepcopy(loc) is loc and pickle.loads(pickle.dumps(loc)) is loc


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: VecType(0, 8, "real", True), ShapeError),
        (lambda: VecType(1, 8, "quaternion", True), ShapeError),
        (lambda: TensorType((2, -1), "float64", True), ShapeError),
        (lambda: CipherType("ckks", 1, 12, Level(0, 0), 1.0), ShapeError),
        (lambda: CipherType("ckks", 1, 8, Level(0, -1), 1.0), LevelError),
        (lambda: CipherType("ckks", 1, 8, Level(0, 0), -1.0), ScaleError),
        (lambda: CipherType("ckks", 1, 8, Level(0, 0), math.inf), ScaleError),
        (lambda: CipherType("ckks", 1, 8, Level(0, 0), 1.0, 5), IrError),
        (lambda: CipherType("ckks", 1, 8, Level(0, 0), 1.0, 1, "R"), IrError),
    ],
)
def test_impossible_types_are_refused(make, error):
    with pytest.raises(error):
        make()


def test_types_accept_arrays_of_their_form():
    assert INDEX.accept(np.int32(7)).dtype == np.int64
    for bad in (1.5, "3", 2**63, [1]):
        with pytest.raises(RangeError, match="64-bit integer"):
            INDEX.accept(bad)
    assert VecType(2, 4, "real", True).accept(np.ones((2, 4), dtype=np.float32)).dtype == np.float64
    assert VecType(1, 4, "complex", True).accept([1, 2, 3, 4]).dtype == np.complex128
    with pytest.raises(ShapeError, match=r"\(3,\) where \(4,\)"):
        VecType(1, 4, "real", True).accept([1, 2, 3])
    with pytest.raises(ShapeError, match="complex"):
        VecType(1, 2, "real", True).accept([1j, 2])
    with pytest.raises(ShapeError, match="needed"):
        TensorType((2, 2), "float64", True).accept(np.ones(4))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"),
        (True, "true"),
        (-3, "-3"),
        (0.1, "0x1.999999999999ap-4"),
        (-0.0, "-0x0.0p+0"),
        (math.inf, "inf"),
        (1 - 2j, "#complex<0x1.0000000000000p+0, -0x1.0000000000000p+1>"),
        ('a"\n', '"a\\"\\n"'),
        ((1, (2.0, "x"), ()), '[1, [0x1.0000000000000p+1, "x"], []]'),
        (INDEX, "index"),
        (Level(0, 3), "#level<track = 0, index = 3>"),
        (VecType(1, 8, "real", False), '!vec<count = 1, slots = 8, elem = "real", secret = false>'),
    ],
)
def test_text_of_attributes(value, text):
    assert print_attribute(value) == text
    assert is_attribute(value)


@pytest.mark.parametrize("value", [np.float64(1), [1], {}, (1, np.zeros(2)), object()])
def test_what_is_no_attribute(value):
    assert not is_attribute(value)
    with pytest.raises(IrError, match="cannot be an attribute"):
        print_attribute(value)


def test_keys_tell_constants_apart_that_python_holds_equal():
    values = [1, 1.0, True, 1 + 0j, 0.0, -0.0, (1,), (1.0,), "1"]
    assert len({attribute_key(value) for value in values}) == len(values)
    assert attribute_key((2.5, "x")) == attribute_key((2.5, "x"))


def test_registry():
    assert attribute_class("level") is Level and type_class("vec") is VecType
    with pytest.raises(IrError, match="#nothing"):
        attribute_class("nothing")
    with pytest.raises(IrError, match="!nothing"):
        type_class("nothing")

    @dataclass
    class Mutable:
        x: int

    with pytest.raises(AssertionError, match="hashable"):
        register_attribute("test.mutable")(Mutable)


def test_locations():
    loc = Loc("model.py", 12, "y = x")
    assert Loc("model.py", 12, "y = x") is loc and Loc("model.py", 12) is not loc
    assert str(loc) == "model.py:12"
    assert str(Loc.unknown()) == "unknown location" and Loc.unknown() is Loc.unknown()
    with pytest.raises(AttributeError, match="immutable"):
        loc.line = 3


def test_origin_holds_plain_numbers():
    origin = Origin("h", Loc("a.py", 1), np.float64(2.5), (np.int64(1), 2))
    assert type(origin.max_abs) is float and origin.position == (1, 2) and type(origin.position[0]) is int
    assert origin == Origin("h", Loc("a.py", 1), 2.5, (1, 2))
