"""Functions of one number, a record each.

Importers, steps of the owner's, NumPy's functions in programs, tests and pages follow from the records. To add one: its
record here, its formula in `definitions.py` where NumPy has none, and `python tools/write_model_docs.py` for the page.
Functions with parameters, such as softplus and elu, are in `models/semantics/activations.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import inf

import numpy as np

from latticework.functions import definitions
from latticework.functions.function_record import FunctionRecord, Moved

_POSITIVE = ((0.0, inf),)
_APART_FROM_0 = ((-inf, 0.0), (0.0, inf))
_UNIT = ((-1.0, 1.0),)
_QUARTERS = ((-math.pi / 2, math.pi / 2),)
_BOTH, _AFTER = Moved.BEFORE_AND_AFTER, Moved.AFTER

RECORDS: tuple[FunctionRecord, ...] = (
    # activations
    FunctionRecord("relu", definitions.relu, aten="relu", onnx="Relu", sklearn="relu", lw="relu", smooth=False,
                   bend=(0.0, 1.0), slope=1.0, monotone=1),
    FunctionRecord("gelu", definitions.gelu, aten="gelu", onnx="Gelu", onnx_since=20, lw="gelu", slope=1.13),
    FunctionRecord("sigmoid", definitions.sigmoid, aten="sigmoid special_expit", onnx="Sigmoid", sklearn="logistic",
                   scipy="expit", lw="sigmoid", slope=0.25, values=(0.0, 1.0), monotone=1,
                   inverse=definitions.logit, moved=_AFTER, in_clear=definitions.sigmoid_in_full),
    FunctionRecord("tanh", np.tanh, numpy="tanh", aten="tanh", onnx="Tanh", sklearn="tanh", lw="tanh", slope=1.0,
                   values=(-1.0, 1.0), monotone=1, inverse=np.arctanh, moved=_AFTER),
    FunctionRecord("silu", definitions.silu, aten="silu", onnx="Swish", onnx_since=24, slope=1.1),
    FunctionRecord("mish", definitions.mish, aten="mish", onnx="Mish", slope=1.09),
    FunctionRecord("hardswish", definitions.hardswish, (-4.0, 4.0), aten="hardswish", onnx="HardSwish", smooth=False,
                   slope=1.5),
    FunctionRecord("softsign", definitions.softsign, onnx="Softsign", smooth=False, slope=1.0, values=(-1.0, 1.0),
                   monotone=1),
    FunctionRecord("log_sigmoid", definitions.log_sigmoid, (-6.0, 2.0), aten="log_sigmoid", slope=1.0, monotone=1),
    FunctionRecord("tanhshrink", definitions.tanhshrink, (-4.0, 4.0), slope=1.0, monotone=1),
    # powers, exponentials and logarithms
    FunctionRecord("exp", np.exp, numpy="exp", aten="exp", onnx="Exp", lw="exp", monotone=1, inverse=np.log,
                   moved=_BOTH),
    FunctionRecord("exp2", np.exp2, numpy="exp2", aten="exp2 special_exp2", monotone=1, inverse=np.log2),
    FunctionRecord("expm1", np.expm1, numpy="expm1", aten="expm1 special_expm1", monotone=1, inverse=np.log1p,
                   moved=_BOTH),
    FunctionRecord("reciprocal", definitions.reciprocal, (0.5, 4.0), numpy="reciprocal", aten="reciprocal",
                   onnx="Reciprocal", lw="reciprocal", domains=_APART_FROM_0),
    FunctionRecord("sqrt", np.sqrt, (0.25, 4.0), numpy="sqrt", aten="sqrt", onnx="Sqrt", lw="sqrt", domains=_POSITIVE,
                   closed=True, monotone=1, inverse=np.square, moved=_BOTH),
    FunctionRecord("rsqrt", definitions.rsqrt, (0.5, 4.0), aten="rsqrt", lw="rsqrt", domains=_POSITIVE, monotone=-1,
                   inverse=definitions.inverse_square),
    FunctionRecord("cbrt", np.cbrt, numpy="cbrt", smooth=False, monotone=1, inverse=definitions.cube),
    FunctionRecord("log", np.log, (0.25, 4.0), numpy="log", aten="log", onnx="Log", lw="log", domains=_POSITIVE,
                   monotone=1, inverse=np.exp, moved=_BOTH),
    FunctionRecord("log2", np.log2, (0.25, 4.0), numpy="log2", aten="log2", domains=_POSITIVE, monotone=1,
                   inverse=np.exp2),
    FunctionRecord("log10", np.log10, (0.25, 4.0), numpy="log10", aten="log10", domains=_POSITIVE, monotone=1,
                   inverse=definitions.power_of_ten),
    FunctionRecord("log1p", np.log1p, (-0.75, 3.0), numpy="log1p", aten="log1p special_log1p",
                   domains=((-1.0, inf),), monotone=1, inverse=np.expm1, moved=_BOTH),
    FunctionRecord("absolute", np.absolute, numpy="absolute", aten="abs absolute", onnx="Abs", lw="abs", smooth=False,
                   bend=(-1.0, 1.0), slope=1.0, least_at=0.0, moved=_BOTH),
    # of angles
    FunctionRecord("sin", np.sin, numpy="sin", aten="sin", onnx="Sin", slope=1.0, values=(-1.0, 1.0)),
    FunctionRecord("cos", np.cos, numpy="cos", aten="cos", onnx="Cos", slope=1.0, values=(-1.0, 1.0)),
    FunctionRecord("tan", np.tan, (-1.25, 1.25), numpy="tan", aten="tan", onnx="Tan", domains=_QUARTERS, monotone=1,
                   inverse=np.arctan),
    FunctionRecord("arcsin", np.arcsin, (-0.9, 0.9), numpy="arcsin", aten="asin arcsin", onnx="Asin", smooth=False,
                   domains=_UNIT, closed=True, monotone=1, inverse=np.sin),
    FunctionRecord("arccos", np.arccos, (-0.9, 0.9), numpy="arccos", aten="acos arccos", onnx="Acos", smooth=False,
                   domains=_UNIT, closed=True, monotone=-1, inverse=np.cos),
    FunctionRecord("arctan", np.arctan, numpy="arctan", aten="atan arctan", onnx="Atan", slope=1.0, monotone=1,
                   inverse=np.tan),
    FunctionRecord("sinh", np.sinh, numpy="sinh", aten="sinh", onnx="Sinh", monotone=1, inverse=np.arcsinh),
    FunctionRecord("cosh", np.cosh, numpy="cosh", aten="cosh", onnx="Cosh", least_at=0.0),
    FunctionRecord("arcsinh", np.arcsinh, numpy="arcsinh", aten="asinh arcsinh", onnx="Asinh", slope=1.0, monotone=1,
                   inverse=np.sinh),
    FunctionRecord("arccosh", np.arccosh, (1.25, 4.0), numpy="arccosh", aten="acosh arccosh", onnx="Acosh",
                   onnx_since=9, domains=((1.0, inf),), closed=True, monotone=1, inverse=np.cosh),
    FunctionRecord("arctanh", np.arctanh, (-0.9, 0.9), numpy="arctanh", aten="atanh arctanh", onnx="Atanh",
                   domains=_UNIT, monotone=1, inverse=np.tanh),
    FunctionRecord("sinc", np.sinc, numpy="sinc", aten="sinc special_sinc", slope=1.371),
    FunctionRecord("erfc", definitions.complementary_error_function, aten="erfc special_erfc", slope=1.1284,
                   values=(0.0, 2.0), monotone=-1),
    FunctionRecord("erf", definitions.error_function, aten="erf special_erf", onnx="Erf", onnx_since=9, slope=1.1284,
                   values=(-1.0, 1.0), monotone=1),
)  # fmt: skip

BY_NAME: dict[str, FunctionRecord] = {record.name: record for record in RECORDS}


def record_of_numpy(function: Callable[..., object]) -> FunctionRecord | None:
    """The record of a NumPy function; None of any other function."""
    return next((record for record in RECORDS if record.numpy and getattr(np, record.numpy) is function), None)
