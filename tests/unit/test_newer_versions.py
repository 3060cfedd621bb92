"""The package with what newer Pythons and NumPys than those of .venv bring."""

import pkgutil

import pytest

import latticework

pytest.importorskip(
    "typing_extensions", reason="comes with mypy and PyTorch; before Python 3.12 it alone has such aliases"
)

# As in NumPy 2.5 for Python 3.12: `type NDArray[S] = ndarray[tuple[Any, ...], dtype[S]]`, which no class can derive from.
ALIASED = """
import importlib
import sys
import typing

import numpy as np
import numpy.typing as npt
from typing_extensions import TypeAliasType

S = typing.TypeVar("S", bound=np.generic)
npt.NDArray = TypeAliasType("NDArray", np.ndarray[tuple[typing.Any, ...], np.dtype[S]], type_params=(S,))
"""
IMPORTING = """
for name in sys.argv[1:]:
    importlib.import_module(name)
"""
DERIVING = """
class Derived(npt.NDArray[np.float64]): ...
"""


def modules():
    found = pkgutil.walk_packages(latticework.__path__, "latticework.")
    return [module.name for module in found if not module.name.endswith("__main__")]


def test_no_class_derives_from_an_alias(start_python):
    names = modules()
    assert len(names) > 500 and "latticework.frontend.subscripts" in names
    child = start_python(ALIASED + IMPORTING, *names)
    assert (child.communicate()[1], child.returncode) == ("", 0)


def test_aliases_are_such_that_deriving_fails(start_python):
    child = start_python(ALIASED + DERIVING)
    assert "TypeError" in child.communicate()[1] and child.returncode == 1
