"""Options of lw.compile that a kind of program does not take are refused by name, and so are values of other types."""

import inspect
import re

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.options.option import Kind
from latticework.compiler.options.option_records import OPTIONS
from latticework.errors import UserError
from latticework.frontend.heir import HeirProgram


@lw.program
def square(x: lw.Secret[4]):
    return x * x


@lw.circuit
def product(a: lw.scalar(), b: lw.scalar()):
    return a * b


class Packed(HeirProgram):
    """A program of HEIR, as far as options are concerned."""

    def __init__(self):
        self.name, self.loc = "packed", None


PROGRAMS = {
    Kind.ARRAYS: (square, "ckks"), Kind.CIRCUIT: (product, "ckks"), Kind.EXACT: (product, "bfv"),
    Kind.HEIR: (Packed(), "ckks"), Kind.SLOTS: (lw.private_lookup([1, 2]), "bfv"),
}  # fmt: skip
VALUES = {  # that a program of another kind could have; any one that is not the default is refused
    "example": np.zeros(4), "weights": (np.ones(3),), "calibrate": np.zeros((9, 4)), "labels": [1], "degree": 3,
    "precision_bits": 9, "agreement": 0.9, "tolerance": 0.1, "plain_bits": -1, "plain_modulus": 65537, "wraps": True,
    "spare_levels": -1, "feed": {"x": "result"}, "feed_runs": 2, "owner": 3, "scale_columns": "x",
    "margin": 0.5, "bootstrap": "never", "bootstrap_set": "A14", "batch": 4, "algorithm": "scalar", "effort": "fast", "seed": 1,
    "like": 3,
}  # fmt: skip
REFUSED = [
    (kind, name) for kind in Kind for name, option in OPTIONS.items() if kind not in option.kinds
]  # fmt: skip


def test_the_table_has_all_options():
    taken = [*inspect.signature(lw.compile).parameters][1:]
    assert list(sorted(OPTIONS)) == sorted(taken) and set(VALUES) <= {name for _, name in REFUSED}


@pytest.mark.parametrize(("kind", "name"), REFUSED, ids=lambda each: getattr(each, "name", each))
def test_an_option_of_other_programs_is_refused(kind, name):
    program, scheme = PROGRAMS[kind]
    told = re.escape(f"compile: {name}= is for ") + ".*" + re.escape(f"{program.name} is {kind.value}: ")
    with pytest.raises(UserError, match=told + r".+"):
        lw.compile(program, scheme=scheme, **{name: VALUES.get(name, "any")})


def test_defaults_are_no_options():
    none = {name: each.default for name, each in inspect.signature(lw.compile).parameters.items() if name != "program"}
    for kind in (Kind.ARRAYS, Kind.CIRCUIT, Kind.EXACT, Kind.SLOTS):
        program, scheme = PROGRAMS[kind]
        small = {"scheme": scheme, "ring_degree": 1024 if scheme == "ckks" else 2048, "insecure": True}
        more = {"plain_bits": 16} if kind is Kind.EXACT else {}
        assert lw.compile(program, **{**none, **small, **more, "weights": []})


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"on_event": 3}, r"on_event=3; give a function"),
        ({"on_event": 3, "progress": False}, r"on_event=3; give a function"),
        ({"owner": 3}, r"owner=3; give latticework.owner.OwnerStages"),
        ({"scale_columns": "x"}, r"scale_columns='x'; give True or False, or None"),
        ({"insecure": "yes"}, r"insecure='yes'; give True or False"),
        ({"feed_runs": -1}, r"feed_runs=-1; give a whole number"),
    ],
    ids=str,
)
def test_values_of_other_types_are_refused(options, told):
    with pytest.raises(UserError, match=told):
        lw.compile(square, **options)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"like": 3}, r"like=3; give a compiled model, or its plan file"),
        ({"spare_levels": -1}, r"spare_levels=-1; give a whole number"),
        ({"plain_bits": -1}, r"no plaintext modulus of -1 bits"),
        ({"wraps": 2}, r"wraps=2; give True or False"),
        ({"seed": -1}, r"seed=-1; give a whole number"),
    ],
    ids=str,
)
def test_values_that_circuits_do_not_take_are_refused(options, told):
    with pytest.raises(UserError, match=told):
        lw.compile(product, scheme="bfv", **options)
