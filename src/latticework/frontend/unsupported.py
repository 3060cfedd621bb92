"""NumPy functions that have no encrypted counterpart here, and what to write instead, in programs and in circuits."""

from __future__ import annotations

_COMPARE = "secrets cannot be compared; approximate the step with lw.sigmoid(k * x) or lw.polynomial(x, coefficients)"
_SELECT = "blend with a public mask: mask * a + (1 - mask) * b"
_ORDER = "ordering secrets is not supported; return the values and order them after decryption"
_FUNCTION = "approximate it on its range with lw.approximate(function)(x)"
_VALUES = "return the values and do it after decryption"

REMEDIES: dict[str, str] = {
    **dict.fromkeys(("block", "insert"), "join the parts with np.concatenate or np.stack"),
    **dict.fromkeys(("select", "choose"), _SELECT),
    **dict.fromkeys(("sort", "argsort", "argmax", "argmin", "max", "min", "amax", "amin", "median", "unique"), _ORDER),
    **dict.fromkeys(("greater", "greater_equal", "less", "less_equal", "equal", "not_equal", "sign"), _COMPARE),
    **dict.fromkeys(("allclose", "isclose", "array_equal", "isnan", "isfinite", "isinf"), _VALUES),
    **dict.fromkeys(("floor", "ceil", "rint", "round", "trunc", "mod", "remainder", "floor_divide"), _FUNCTION),
    "minimum": "write min(a, b) as b - lw.relu(b - a)",
    "clip": "write clip(x, 0, 1) as lw.relu(x) - lw.relu(x - 1)",
    "copyto": "values are immutable here; build a new one",
    "save": _VALUES,
}

SUPPORTED = (
    "+ - * / by public numbers, ** by whole numbers, @, np.dot, np.einsum, np.sum, np.mean, np.var, np.prod, "
    "np.square, reshape, transpose, indexing by public numbers, np.concatenate, np.stack, np.split, np.pad, np.roll, "
    "np.where by a public mask, lw.conv2d, lw.avg_pool2d, lw.relu, lw.exp, "
    "lw.approximate for any function, lw.polynomial; docs/programs.md lists them all"
)


def remedy(name: str) -> str:
    """What to write instead of the NumPy function or method `name`."""
    return REMEDIES.get(name, f"supported are {SUPPORTED}")


_CHOICE = "encrypt the bit of the comparison as an input of its own, and choose with lw.select(bit, if_one, if_zero)"
_POLYNOMIAL = (
    "write it as a polynomial: circuits have + - *, ** by small whole numbers, and / by public numbers in CKKS"
)
_OF_CIRCUITS = {_COMPARE: _CHOICE, _SELECT: _CHOICE, _ORDER: _CHOICE, _VALUES: _VALUES}


def circuit_remedy(name: str) -> str:
    """What to write in a circuit instead of the NumPy function `name`."""
    return _OF_CIRCUITS.get(REMEDIES.get(name, ""), _POLYNOMIAL)
