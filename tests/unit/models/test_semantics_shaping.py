"""Meanings of shapes and places: PyTorch's on arrays, and of secrets."""

import numpy as np
import pytest
import torch
from meaning_cases import check, encrypted, refused, simulated

from latticework.models.semantics import shaping

RNG = np.random.default_rng(2)
X = RNG.normal(size=(2, 3, 4))
ONES = RNG.normal(size=(1, 3, 1))
PLACES = RNG.integers(0, 3, (2, 2, 4))

CASES = [
    ("reshape", X, ((4, -1),), lambda t: t.reshape(4, -1)),
    ("flatten", X, (), lambda t: t.flatten()),
    ("flatten", X, (1,), lambda t: t.flatten(1)),
    ("flatten", X, (-3, -2), lambda t: t.flatten(-3, -2)),
    ("unflatten", X, (-1, (2, -1)), lambda t: t.unflatten(-1, (2, -1))),
    ("unflatten", X, (0, (2, 1)), lambda t: t.unflatten(0, (2, 1))),
    ("permute", X, ((2, 0, -2),), lambda t: t.permute(2, 0, -2)),
    ("transpose", X, (0, -1), lambda t: t.transpose(0, -1)),
    ("squeeze", ONES, (), lambda t: t.squeeze()),
    ("squeeze", ONES, (-1,), lambda t: t.squeeze(-1)),
    ("squeeze", ONES, (1,), lambda t: t.squeeze(1)),  # no error: it stays
    ("squeeze", ONES, ((0, 1),), lambda t: t.squeeze((0, 1))),
    ("unsqueeze", X, (-1,), lambda t: t.unsqueeze(-1)),
    ("unsqueeze", X, (1,), lambda t: t.unsqueeze(1)),
    ("unsqueeze", X, ((0, -1),), lambda t: t.unsqueeze(0).unsqueeze(-1)),
    ("expand", ONES, ((2, -1, 4),), lambda t: t.expand(2, -1, 4)),
    ("expand", ONES, ((5, 1, 3, 2),), lambda t: t.expand(5, 1, 3, 2)),
    ("select", X, (1, -1), lambda t: t.select(1, -1)),
    ("slice", X, (1, 1, 9), lambda t: t[:, 1:9]),
    ("slice", X, (-1, -3, -1), lambda t: t[..., -3:-1]),
    ("slice", X, (2, None, None, 3), lambda t: t[..., ::3]),
    ("slice", X, (1, 5, None, -1), lambda t: t.flip(1)),  # as ONNX has it
    ("narrow", X, (-1, 1, 2), lambda t: t.narrow(-1, 1, 2)),
    ("narrow", X, (1, -2, 2), lambda t: t.narrow(1, -2, 2)),
    ("gather", X, (1, PLACES), lambda t: t.gather(1, torch.from_numpy(PLACES))),
    ("gather", X, (-1, PLACES[:1]), lambda t: t.gather(-1, torch.from_numpy(PLACES[:1]))),
    ("index_select", X, (1, np.array([2, 0, 2, 1])), lambda t: t.index_select(1, torch.tensor([2, 0, 2, 1]))),
    ("index_select", X, (2, np.array([3, 1])), lambda t: t.index_select(2, torch.tensor([3, 1]))),
    ("index_select", X, (1, np.array([[0, -1], [1, 1]])), lambda t: t[:, [[0, -1], [1, 1]]]),
    ("index_select", X, (0, np.array(1)), lambda t: t[1]),
    ("unbind", X, (1,), lambda t: t.unbind(1)),
    ("split", X, (2, 2), lambda t: t.split(2, 2)),
    ("split", X, (3, -1), lambda t: t.split(3, -1)),
    ("split", X, ((1, 3), -1), lambda t: t.split((1, 3), -1)),
    ("chunk", np.arange(10.0), (4,), lambda t: t.chunk(4)),  # 3, 3, 3, 1: not np.array_split
    ("chunk", np.arange(5.0), (4,), lambda t: t.chunk(4)),  # three parts
    ("flip", X, ((0, -1),), lambda t: t.flip((0, -1))),
    ("flip", X, ((),), lambda t: t.flip(())),
    ("roll", X, (2,), lambda t: t.roll(2)),
    ("roll", X, ((1, -1), (0, 2)), lambda t: t.roll((1, -1), (0, 2))),
    ("repeat", X, ((2, 1, 1, 2),), lambda t: t.repeat(2, 1, 1, 2)),
    ("tile", X, ((2,),), lambda t: t.tile(2)),
    ("repeat_interleave", X, (2, 1), lambda t: t.repeat_interleave(2, 1)),
    ("repeat_interleave", X, (np.array([1, 0, 2]), 1), lambda t: t.repeat_interleave(torch.tensor([1, 0, 2]), 1)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "x", "args", "expected"), CASES, ids=lambda c: c if isinstance(c, str) else "")
def test_as_pytorch(name, x, args, expected):
    check(getattr(shaping, name), (x, *args), expected(torch.from_numpy(x)))


@pytest.mark.parametrize(
    ("name", "args"), [("flatten", ()), ("squeeze", (-1,)), ("unsqueeze", (0,)), ("expand", ((2, 3),))]
)
def test_of_one_number(name, args):
    check(getattr(shaping, name), (np.array(2.5), *args), getattr(torch.tensor(2.5, dtype=torch.float64), name)(*args))


def test_public_shapes_stay_whole():
    shape = shaping.index_select(np.array([2, 3, 5]), 0, np.array([0, 2]))
    assert shape.dtype.kind == "i" and shaping.reshape(X, shaping.slice(np.array([7, 6, 4]), 0, 1)).shape == (6, 4)


@pytest.mark.parametrize(
    ("message", "name", "args"),
    [
        ("no order", "permute", ((0, 0, 1),)),
        ("only axes of length 1", "expand", ((2, 4, 4),)),
        ("leave axis 1", "narrow", (1, 2, 2)),
        ("axis 1 is 3 long", "index_select", (1, np.array([3]))),
        ("axis 1 is 3 long", "gather", (1, np.full((2, 2, 4), -4))),
        ("does not fit shape", "gather", (1, np.zeros((3, 2, 4), dtype=int))),
        ("do not add up", "split", ((1, 1), -1)),
        ("dim=3 does not exist", "flip", ((3,),)),
        ("repeated in dim", "flip", ((0, -3),)),
        ("do not multiply to 4", "unflatten", (-1, (3, -1))),
    ],
)
def test_refused(message, name, args):
    refused(message, getattr(shaping, name), (X, *args))


@pytest.mark.parametrize("name", ["gather", "index_select", "select"])
def test_places_that_are_secret(name):
    refused("index is secret.*known when", getattr(shaping, name), (X, 1, np.zeros((2, 3, 4))), secret=(0, 2))


def test_compiled():
    simulated(shaping.gather, (X, 1, PLACES))
    encrypted(shaping.permute, (X, (2, 0, 1)))
