"""Arithmetic of ATen, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import UnsupportedError
from latticework.errors.remedies import REMEDIES
from latticework.models.converters import Meaning
from latticework.models.pytorch.operators.table import each
from latticework.models.semantics import elementwise_arithmetic as meant
from latticework.models.semantics.operand_checks import is_secret

_PUBLIC = "the condition is public"
_COMPARED = "of public numbers, as those of a loop"


def _rsub(x: Any, other: Any, alpha: float = 1) -> Any:
    return meant.sub(other, x, alpha)


def _addcmul(x: Any, a: Any, b: Any, *, value: float = 1) -> Any:
    return meant.add(x, np.multiply(a, b), value)


def _addcdiv(x: Any, a: Any, b: Any, *, value: float = 1) -> Any:
    return meant.add(x, meant.div(a, b), value)


def _public_comparison(compare: np.ufunc) -> Meaning:
    def compare_public(x: Any, other: Any) -> Any:
        if is_secret(x, other):
            raise UnsupportedError(
                f"{compare.__name__} of secrets: {REMEDIES['comparison'].for_models}; where "
                f"{REMEDIES['taken apart'].why}, {REMEDIES['taken apart'].outside}"
            )
        return compare(x, other)

    return compare_public


def _lerp(x: Any, end: Any, weight: Any) -> Any:
    return x + weight * (end - x)


CONVERTERS = [
    *each("add.Tensor add.Scalar", meant.add),
    *each("sub.Tensor sub.Scalar", meant.sub),
    *each("rsub.Tensor rsub.Scalar", _rsub),
    *each("mul.Tensor mul.Scalar", np.multiply),
    *each("div.Tensor div.Scalar", meant.div, "a secret divisor keeps apart from 0"),
    *each("div.Tensor_mode div.Scalar_mode", meant.div, "rounding_mode of public numbers only"),
    *each("neg.default negative.default", np.negative),
    *each("positive.default", np.positive),
    *each("deg2rad.default", np.radians),
    *each("rad2deg.default", np.degrees),
    *each("square.default", np.square),
    *each("pow.Tensor_Scalar pow.Tensor_Tensor pow.Scalar", meant.power, "base or exponent is public"),
    *each("addcmul.default", _addcmul),
    *each("addcdiv.default", _addcdiv),
    *each("lerp.Scalar lerp.Tensor", _lerp),
    *each("clamp.default clamp.Tensor", meant.clamp),
    *each("clamp_min.default clamp_min.Tensor", lambda x, min: meant.clamp(x, min=min)),
    *each("clamp_max.default clamp_max.Tensor", lambda x, max: meant.clamp(x, max=max)),
    *each("maximum.default max.other", meant.maximum),
    *each("minimum.default min.other", meant.minimum),
    *each("where.self where.ScalarSelf where.ScalarOther where.Scalar", meant.where, _PUBLIC),
    *each("masked_fill.Scalar masked_fill.Tensor", meant.masked_fill, f"{_PUBLIC}; -inf before a softmax too"),
    *each("eq.Scalar eq.Tensor", _public_comparison(np.equal), _COMPARED),
    *each("ne.Scalar ne.Tensor", _public_comparison(np.not_equal), _COMPARED),
    *each("lt.Scalar lt.Tensor", _public_comparison(np.less), _COMPARED),
    *each("le.Scalar le.Tensor", _public_comparison(np.less_equal), _COMPARED),
    *each("gt.Scalar gt.Tensor", _public_comparison(np.greater), _COMPARED),
    *each("ge.Scalar ge.Tensor", _public_comparison(np.greater_equal), _COMPARED),
    *each("logical_and.default", np.logical_and, _COMPARED),
    *each("logical_or.default", np.logical_or, _COMPARED),
    *each("logical_not.default", np.logical_not, _COMPARED),
]
