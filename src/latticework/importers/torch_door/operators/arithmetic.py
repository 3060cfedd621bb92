"""Arithmetic of ATen, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.importers.meanings import arithmetic as meant
from latticework.importers.torch_door.operators.table import each

_PUBLIC = "the condition is public"


def _rsub(x: Any, other: Any, alpha: float = 1) -> Any:
    return meant.sub(other, x, alpha)


def _addcmul(x: Any, a: Any, b: Any, *, value: float = 1) -> Any:
    return meant.add(x, np.multiply(a, b), value)


def _addcdiv(x: Any, a: Any, b: Any, *, value: float = 1) -> Any:
    return meant.add(x, meant.div(a, b), value)


def _lerp(x: Any, end: Any, weight: Any) -> Any:
    return x + weight * (end - x)


CONVERTERS = [
    *each("add.Tensor add.Scalar", meant.add),
    *each("sub.Tensor sub.Scalar", meant.sub),
    *each("rsub.Tensor rsub.Scalar", _rsub),
    *each("mul.Tensor mul.Scalar", lambda x, other: np.multiply(x, other)),
    *each("div.Tensor div.Scalar", lambda x, other: meant.div(x, other), "a secret divisor keeps apart from 0"),
    *each("div.Tensor_mode div.Scalar_mode", meant.div, "rounding_mode of public numbers only"),
    *each("neg.default", lambda x: np.negative(x)),
    *each("square.default", lambda x: np.square(x)),
    *each("pow.Tensor_Scalar pow.Tensor_Tensor pow.Scalar", meant.power, "base or exponent is public"),
    *each("addcmul.default", _addcmul),
    *each("addcdiv.default", _addcdiv),
    *each("lerp.Scalar lerp.Tensor", _lerp),
    *each("abs.default", meant.absolute),
    *each("sqrt.default", meant.sqrt),
    *each("rsqrt.default", meant.rsqrt),
    *each("reciprocal.default", meant.reciprocal),
    *each("exp.default", meant.exp),
    *each("log.default", meant.log),
    *each("log2.default", lambda x: np.log2(x)),
    *each("log10.default", lambda x: np.log10(x)),
    *each("log1p.default", lambda x: np.log1p(x)),
    *each("expm1.default", lambda x: np.expm1(x)),
    *each("sin.default", lambda x: np.sin(x)),
    *each("cos.default", lambda x: np.cos(x)),
    *each("atan.default", lambda x: np.arctan(x)),
    *each("sinh.default", lambda x: np.sinh(x)),
    *each("cosh.default", lambda x: np.cosh(x)),
    *each("erf.default", meant.erf),
    *each("clamp.default clamp.Tensor", meant.clamp),
    *each("clamp_min.default clamp_min.Tensor", lambda x, min: meant.clamp(x, min=min)),
    *each("clamp_max.default clamp_max.Tensor", lambda x, max: meant.clamp(x, max=max)),
    *each("maximum.default max.other", meant.maximum),
    *each("minimum.default min.other", meant.minimum),
    *each("where.self where.ScalarSelf where.ScalarOther where.Scalar", meant.where, _PUBLIC),
    *each("masked_fill.Scalar masked_fill.Tensor", meant.masked_fill, _PUBLIC),
    *each("eq.Scalar eq.Tensor", lambda x, other: np.equal(x, other), "of public numbers, as those of a loop"),
    *each("ne.Scalar ne.Tensor", lambda x, other: np.not_equal(x, other), "of public numbers"),
    *each("lt.Scalar lt.Tensor", lambda x, other: np.less(x, other), "of public numbers"),
    *each("le.Scalar le.Tensor", lambda x, other: np.less_equal(x, other), "of public numbers"),
    *each("gt.Scalar gt.Tensor", lambda x, other: np.greater(x, other), "of public numbers"),
    *each("ge.Scalar ge.Tensor", lambda x, other: np.greater_equal(x, other), "of public numbers"),
    *each("logical_and.default", lambda x, other: np.logical_and(x, other), "of public numbers"),
    *each("logical_or.default", lambda x, other: np.logical_or(x, other), "of public numbers"),
    *each("logical_not.default", lambda x: np.logical_not(x), "of public numbers"),
]
