"""NumPy functions that have no encrypted counterpart here, and what to write instead."""

from __future__ import annotations

_COMPARE = "secrets cannot be compared; approximate the step with lw.sigmoid(k * x) or lw.polynomial(x, coefficients)"
_JOIN = "place the parts with public 0/1 matrices and add them: a @ np.eye(2, 4) + b @ np.eye(2, 4, 2)"
_SELECT = "blend with a public mask: mask * a + (1 - mask) * b"
_ORDER = "ordering secrets is not supported; return the values and order them after decryption"
_FUNCTION = "approximate it on its range with lw.polynomial(x, coefficients)"
_VALUES = "return the values and do it after decryption"

_REMEDIES: dict[str, str] = {
    **dict.fromkeys(("concatenate", "stack", "hstack", "vstack", "column_stack", "block", "append", "pad"), _JOIN),
    **dict.fromkeys(("where", "select", "choose"), _SELECT),
    **dict.fromkeys(("sort", "argsort", "argmax", "argmin", "max", "min", "amax", "amin", "median", "unique"), _ORDER),
    **dict.fromkeys(("greater", "greater_equal", "less", "less_equal", "equal", "not_equal", "sign"), _COMPARE),
    **dict.fromkeys(("allclose", "isclose", "array_equal", "isnan", "isfinite", "isinf"), _VALUES),
    **dict.fromkeys(("sqrt", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "reciprocal"), _FUNCTION),
    **dict.fromkeys(("floor", "ceil", "rint", "round", "trunc", "mod", "remainder", "floor_divide"), _FUNCTION),
    "absolute": "write abs(x) as lw.relu(x) + lw.relu(-x), or approximate it with lw.polynomial(x, coefficients)",
    "minimum": "write min(a, b) as b - lw.relu(b - a)",
    "clip": "write clip(x, 0, 1) as lw.relu(x) - lw.relu(x - 1)",
    "prod": "multiply slices of x: x[..., 0] * x[..., 1]",
    "var": "write np.mean(np.square(x - np.mean(x)))",
    "std": "return the variance np.mean(np.square(x - np.mean(x))) and take its root after decryption",
    "einsum": "write it with @, np.transpose, * and np.sum",
    "tensordot": "write it with @ and np.reshape",
    "inner": "write a @ b.T",
    "vdot": "write np.ravel(a) @ np.ravel(b)",
    "outer": "write np.reshape(a, (-1, 1)) * b",
    "kron": "write it with np.reshape and *",
    "convolve": "multiply by the convolution's matrix: x @ matrix",
    "roll": "multiply by a permutation matrix: x @ np.roll(np.eye(n), shift, axis=1)",
    "cumsum": "multiply by a triangular matrix: x @ np.triu(np.ones((n, n)))",
    "diff": "subtract slices: x[1:] - x[:-1]",
    "split": "take slices: x[:2], x[2:]",
    "repeat": "multiply by a 0/1 matrix: x @ np.repeat(np.eye(n), times, axis=1)",
    "tile": "use np.broadcast_to and np.reshape",
    "take": "use slices, or multiply by a selection matrix: x @ np.eye(n)[:, chosen]",
    "trace": "write np.sum(x * np.eye(n))",
    "copyto": "values are immutable here; build a new one",
    "save": _VALUES,
}

SUPPORTED = (
    "+ - * / by public numbers, ** by whole numbers, @, np.dot, np.sum, np.mean, np.square, reshape, transpose, "
    "slices, np.broadcast_to, lw.relu, lw.sigmoid, lw.tanh, lw.gelu, lw.exp, lw.polynomial"
)


def remedy(name: str) -> str:
    """What to write instead of the NumPy function or method `name`."""
    return _REMEDIES.get(name, f"supported are {SUPPORTED}")
