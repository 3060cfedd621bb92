"""Functions of other packages that a program calls on secrets: what they are called, and what to write instead.

They compute with the numbers in memory, which nobody has while a program is compiled. What fitted estimators hold are
public arrays, and most of what they do with them is a line of NumPy; no package is imported for saying so.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType
from typing import Any

import numpy as np

from latticework.errors.remedies import REMEDIES
from latticework.frontend.recording.unsupported import known_remedy
from latticework.ir.lines import is_installed

_DISTRIBUTIONS = {"sklearn": "scikit-learn", "torch": "PyTorch"}
_IMPORT = "lw.from_sklearn(model)"
_RBF = "lw.exp(-gamma * np.sum((x[:, None] - s) ** 2, axis=2))"
# What estimators hold after fit() -> what to write with it, of an input x (rows, features) and the estimator `model`.
_HOLDING: tuple[tuple[tuple[str, ...], str], ...] = (
    (("coefs_", "intercepts_"),
     "for W, b in zip(model.coefs_, model.intercepts_): x = x @ W + b, with lw.relu(x), lw.tanh(x) or lw.sigmoid(x) "
     "between layers as model.activation says"),
    (("coef_", "intercept_"), "x @ model.coef_.T + model.intercept_"),
    (("support_vectors_", "dual_coef_"),
     f"with s = model.support_vectors_ and an RBF kernel: {_RBF} @ model.dual_coef_.T + model.intercept_"),
    (("components_", "mean_"), "(x - model.mean_) @ model.components_.T"),
    (("cluster_centers_",),
     "np.sum((x[:, None] - model.cluster_centers_) ** 2, axis=2), the squared distances from all centres; the nearest "
     "is found after decryption"),
    (("scale_", "mean_"), "(x - model.mean_) / model.scale_"),
    (("scale_", "min_"), "x * model.scale_ + model.min_"),
)  # fmt: skip
_NO_FORMULA: tuple[tuple[tuple[str, ...], str], ...] = (
    (("steps",),
     f"import it by {_IMPORT}, or write its steps one after the other, with the arrays that each of them holds "
     "(model[0], model[1], ...)"),
    (("tree_",), f'a tree compares: import it by {_IMPORT}, with trees="sign" or "exact"'),
    (("estimators_",),
     f"import it by {_IMPORT}, of trees with trees=, or write what its parts compute (model.estimators_), and combine "
     "that with public weights"),
)  # fmt: skip
_FINISHES = {
    "predict": "classes are found by comparing: return this and take its sign, or np.argmax, after decryption, or "
    f"import the model by {_IMPORT}, which does so",
    "predict_proba": "lw.sigmoid of this is the probability of one of two classes, lw.softmax that of each of more; or "
    "return this, and do it after decryption",
    "predict_log_proba": "take the logarithm of probabilities after decryption",
}
TORCH = (
    "import the module by lw.from_torch(module, example), or write it in NumPy, with the weights as arrays "
    "(w = layer.weight.detach().numpy()); Linear, Conv2d, AvgPool2d, Flatten, ReLU, Sigmoid, Tanh, GELU, SiLU, Mish, "
    "Softmax, functions such as torch.sin, and operators work as they are"
)
_OF_PACKAGE = {
    "torch": TORCH,
    "scipy": "write it with NumPy's functions and lw.exp, lw.sigmoid, lw.polynomial; what takes a single number is "
    "lw.approximate(function)(x)",
    "pandas": "take the public numbers out of the frame, frame.to_numpy(), and compute with NumPy: w @ x, x * w",
    "sklearn": f"import the model by {_IMPORT}, or write it in NumPy, with the arrays that the fitted estimator holds: "
    "those whose names end with _",
}
_OF_FUNCTION = {
    "scipy.softmax": "write lw.softmax(x, axis); or return the scores, and do it after decryption",
    "scipy.log_softmax": "return the scores, and do the softmax after decryption: it keeps their order",
    "scipy.logsumexp": REMEDIES["value"].outside,
    "scipy.zscore": "write (x - mean) / deviation with public numbers from training data, or return np.mean(x) and "
    "np.var(x) beside x and divide after decryption",
}
Asked = tuple[str, str, Any]  # package, function, and what it is a method of, or None


def library_call(called: Sequence[FrameType]) -> Asked | None:
    """The function of an installed package other than NumPy that the user's line called; None if it called none.

    called  frames below the user's, outermost first
    """
    for number, frame in enumerate(called):
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package in ("numpy", "latticework"):
            return None
        if is_installed(frame):
            inner = _layer(called[number:]) if package == "torch" else None
            owner = _owner(frame) if inner is None else inner
            name = _name(called[number:]) if inner is None else "forward"
            return package, _write_call(owner, name), owner if name != "__init__" else None
    return None


def refusal(asked: Asked, why: str = "") -> str:
    """The message of a call of another package that cannot be compiled.

    why  what in it is not supported, where that is not just the numbers of a secret
    """
    package, function, owner = asked
    function = function.removesuffix(".forward")  # of a layer
    of = _DISTRIBUTIONS.get(package, package)
    method = function.rpartition(".")[2]
    advice = (
        _of_estimator(owner, method)
        or _OF_FUNCTION.get(f"{package}.{function}")
        or known_remedy(method)
        or _OF_PACKAGE.get(package, "write it with NumPy's functions, on the arrays that it holds")
    )
    because = f" ({why})" if why else ""
    return (
        f"{function} of {of} cannot compute on a secret, which has no numbers while the program is compiled{because}; "
        f"{advice}"
    )


def touches_secrets(frame: FrameType) -> bool:
    """Whether a frame has a secret among its variables: what it was called with, or parts of that."""
    found = list(frame.f_locals.values())
    found += [x for value in found if isinstance(value, list | tuple) for x in value]
    return any(type(x).__module__.startswith("latticework.frontend") for x in found)


def _of_estimator(owner: Any, method: str) -> str:
    """Return what to write instead of a method of a fitted estimator; "" for other things."""
    if owner is None:
        return ""
    if _holds(owner, "toarray"):
        return "take the public numbers out of it: w.toarray() @ x, x * w.toarray()"
    for held, formula in _HOLDING:
        if all(_holds(owner, name) for name in held):
            is_class = method != "predict" or hasattr(owner, "classes_")
            finish = _FINISHES.get(method, "") if is_class and "cluster_centers_" not in held else ""
            return f"write {formula}" + (f"; {finish}" if finish else "")
    for held, advice in _NO_FORMULA:
        if all(_holds(owner, name) for name in held):
            return advice
    arrays = [name for name, value in getattr(owner, "__dict__", {}).items() if _is_fitted(name, value)]
    return (
        f"write what it computes in NumPy, with the arrays that it holds ({', '.join(sorted(arrays))})"
        if arrays
        else ""
    )


def _holds(owner: Any, name: str) -> bool:
    try:
        return getattr(owner, name, None) is not None
    except Exception:  # a property may compute, and refuse; this is only about a hint
        return False


def _is_fitted(name: str, value: Any) -> bool:
    return name.endswith("_") and not name.startswith("_") and isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _layer(called: Sequence[FrameType]) -> Any:
    """The innermost layer of PyTorch that was at work, of those that contain one another; None outside of layers."""
    owners = (_owner(frame) for frame in reversed(called) if frame.f_code.co_name == "forward")
    return next((owner for owner in owners if owner is not None), None)


def _owner(frame: FrameType) -> Any:
    """Return the object that a method was called on; None for functions."""
    code = frame.f_code
    first = code.co_varnames[0] if code.co_argcount else ""
    owner = frame.f_locals.get(first) if first == "self" else None
    if owner is None and code.co_flags & 0x04:  # *args of a wrapper: of a method where the first one has it
        packed = frame.f_locals.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
        first_given = packed[0] if packed else None
        owner = first_given if hasattr(type(first_given), "fit") else None
    return owner


def _write_call(owner: Any, name: str) -> str:
    """A call as it stands in a program: x.method, x * for an operator, the class for its constructor."""
    kind = type(owner).__name__
    if owner is None or name == "__init__":
        return name if owner is None else kind
    symbol = _SYMBOLS.get(name.strip("_").removeprefix("r"), _SYMBOLS.get(name.strip("_")))
    return f"{symbol} of {kind}" if symbol and name.startswith("__") else f"{kind}.{name}"


def _name(called: Sequence[FrameType]) -> str:
    """The name that users write: wrappers have names of their own, and call the function that is meant."""
    names = [frame.f_code.co_name for frame in called]
    return next((name for name in names if name not in _WRAPPERS and not name.startswith("<")), names[0])


_SYMBOLS = {"matmul": "@", "mul": "*", "add": "+", "sub": "-", "truediv": "/", "pow": "**"}
_WRAPPERS = {"wrapper", "wrapped", "inner", "decorator", "_wrapped_call_impl", "_call_impl", "func", "fn", "__call__"}
