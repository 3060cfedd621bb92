"""Errors of clients name places and accepted ranges, and no value of the data: they land in logs."""

import traceback

import numpy as np
import pytest

import latticework as lw
from latticework import bfv, ckks
from latticework.plan.client_steps import (
    Affine,
    Columns,
    Elementary,
    Given,
    Labels,
    OneHot,
    OwnerArray,
    OwnerStages,
    Piece,
    Prepared,
    Reshape,
    TableRows,
)

PRIVATE = 98765.4321  # told nowhere, in whatever number of digits
SMALL = {"ring_degree": 2048, "insecure": True, "progress": False}
RNG = np.random.default_rng(0)
DATA = RNG.uniform(-1, 1, (40, 3))


@lw.program
def plain(x: lw.Secret[1, 3]):
    return x @ np.ones(3)


@lw.program
def vector(x: lw.Secret[3]):
    return x @ np.ones(3)


@lw.program
def wide(x: lw.Secret[1, 4]):
    return x @ np.ones(4)


@lw.circuit
def total(x: lw.vector(3, low=-9, high=9)):
    return x.sum()


def staged(*steps, program=plain, **more):
    stages = OwnerStages((Given("x", (1, 3), ("a", "b", "c")),), (Prepared("x", (Piece("x", steps),)),))
    return lw.compile(program, owner=stages, **{"calibrate": np.abs(DATA) + 0.5, **SMALL, **more})


def scaled():
    return staged(Affine(OwnerArray.of([0.5, 2.0, 1.0]), OwnerArray.of([0.0, 1.0, 2.0])))


def one_hot():
    steps = (Columns(-1, 3, (1,)), OneHot(Labels.of(["dry", "wet", "bog"])), Reshape((1, 3), (3,)))
    rows = np.array([[1.0, "dry", 2.0], [1.0, "wet", 2.0], [1.0, "bog", 2.0]], dtype=object)
    return staged(*steps, calibrate=rows)


def table():
    steps = (Columns(-1, 3, (1,)), TableRows(OwnerArray.of(np.eye(3))), Reshape((1, 3), (3,)))
    return staged(*steps, calibrate=np.array([[1.0, 0, 2.0], [1.0, 1, 2.0], [1.0, 2, 2.0]]))


def row(value, place=1):
    given = np.full((4, 3), 0.75, dtype=object if isinstance(value, str) else float)
    given[2, place] = value
    return given


CASES = {
    "range": (lambda: lw.compile(plain, calibrate=DATA, **SMALL), row(PRIVATE), "row 2, column 1 is outside -1.* to 1"),
    "range of a stack": (
        lambda: lw.compile(vector, calibrate=DATA, **SMALL),
        row(PRIVATE),
        "run 2, column 1 is outside",
    ),
    "range of one": (
        lambda: lw.compile(vector, calibrate=DATA, **SMALL),
        row(PRIVATE)[2],
        "input x, column 1 is outside",
    ),
    "owner": (scaled, row(PRIVATE), r"row 2, column 1 \(b\) is outside -0.* to 1.*, as calibrated"),
    "unknown kind": (
        one_hot,
        np.where(row("98765") == 0.75, "wet", row("98765")),
        r"row 2, column 1 \(b\) is none of the categories",
    ),
    "no row of a table": (table, np.where(row(PRIVATE) > 1, 98765, 1.0), r"column 1 \(b\) is no row of a table of 3"),
    "fraction": (table, np.where(row(PRIVATE) > 1, PRIVATE, 1.0), r"column 1 \(b\) is no whole number"),
    "logarithm": (lambda: staged(Elementary("log")), row(-PRIVATE), r"column 1 \(b\) is not above 0"),
    "texts": (scaled, row("98765.4321"), r"row 2, column 1 \(b\) is no number"),
    "circuit": (lambda: lw.compile(total, **SMALL), row(PRIVATE)[2], "input x, column 1 is outside -9 to 9"),
    "circuit of integers": (
        lambda: lw.compile(total, scheme="bfv", **SMALL),
        row(98765)[2].astype(int),
        "outside -9 to 9",
    ),
    "no integer": (
        lambda: lw.compile(total, scheme="bfv", **SMALL),
        row(8.987654321)[2],
        "input x, column 0 is no integer",
    ),
    "62 bits": (
        lambda: lw.compile(total, scheme="bfv", **SMALL),
        [1, 98765 << 60, 1],
        "column 1 is a whole number of more than 62 bits",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values_are_in_no_error(name):
    make, given, told = CASES[name]
    client = make().client(threads=1, allow_insecure=True)
    for door in (client.encrypt, lambda x: client.encrypt(x=x), lambda x: client.encrypt_part(x=x)):
        with pytest.raises(lw.UserError, match=told) as caught:
            door(given)
        text = "".join(traceback.format_exception(caught.value))
        assert "98765" not in text and "9.87" not in text and "9.9e" not in text


def test_the_count_of_other_values_is_told():
    client = lw.compile(plain, calibrate=DATA, **SMALL).client(threads=1, allow_insecure=True)
    with pytest.raises(lw.UserError, match=r"row 0, column 0 is outside .*\(and 11 more values are not taken\)"):
        client.encrypt(np.full((4, 3), PRIVATE))


def test_expert_interfaces_tell_places_only():
    integers = bfv.Parameters(1024, [40], p_bits=[40], plain_bits=17, insecure=True)
    reals = ckks.Parameters(1024, [40, 30], scale_bits=30, num_special=1, insecure=True)
    for call in (
        lambda: bfv.Encoder(integers).encode(np.array([1, 98765])),
        lambda: bfv.Encoder(integers).encode([1, 98765 << 60]),
        lambda: ckks.Encoder(reals).encode([1.0, PRIVATE * 2.0**60]),
    ):
        with pytest.raises(lw.UserError) as caught:
            call()
        assert "98765" not in str(caught.value) and "e+23" not in str(caught.value)
