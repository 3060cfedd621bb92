"""The package with what newer Pythons and NumPys than those of .venv bring."""

import builtins
import math
import pkgutil

import numpy as np

import latticework as lw
from latticework.values.sums import add_up

# As in NumPy 2.5 for Python 3.12: `type NDArray[S] = ndarray[tuple[Any, ...], dtype[S]]`, which no class can derive from.
ALIASED = """
import importlib
import sys
import typing

import numpy as np
import numpy.typing as npt

if sys.version_info >= (3, 12):
    from typing import TypeAliasType
else:
    from typing_extensions import TypeAliasType  # mypy and PyTorch bring it

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
    found = pkgutil.walk_packages(lw.__path__, "latticework.")
    return [module.name for module in found if not module.name.endswith("__main__")]


def test_no_class_derives_from_an_alias(start_python):
    names = modules()
    assert len(names) > 500 and "latticework.frontend.recording.subscripts" in names
    child = start_python(ALIASED + IMPORTING, *names)
    assert (child.communicate()[1], child.returncode) == ("", 0)


def test_aliases_are_such_that_deriving_fails(start_python):
    child = start_python(ALIASED + DERIVING)
    assert "TypeError" in child.communicate()[1] and child.returncode == 1


def rounding_each(values, /, start=0):
    """sum() before Python 3.12."""
    for value in values:
        start = start + value
    return start


def rounding_once(values, /, start=0):
    """sum() of Python 3.12 and later, for floats nearly."""
    values = list(values)
    return start + math.fsum(values) if {type(v) for v in values} == {float} else rounding_each(values, start)


def test_plans_do_not_depend_on_how_sum_rounds(tmp_path, monkeypatch):
    assert rounding_each([0.1] * 10) == add_up([0.1] * 10) != rounding_once([0.1] * 10) == 1.0

    @lw.program
    def score(x: lw.Secret[64], w1, w2):
        return lw.tanh(x @ w1) @ w2

    rng = np.random.default_rng(0)
    weights, data = (rng.normal(size=(64, 32)) / 8, rng.normal(size=(32, 10)) / 5), rng.uniform(0, 1, (20, 64))
    found = []
    for adding in (rounding_each, rounding_once):
        with monkeypatch.context() as patched:
            patched.setattr(builtins, "sum", adding)
            model = lw.compile(score, weights=weights, calibrate=data, ring_degree=2048, insecure=True)
        model.save(tmp_path / "plan")
        found.append((tmp_path / "plan").read_bytes())
        (tmp_path / "plan").unlink()
    assert found[0] == found[1]
