"""Bootstraps: of vectors, before there are levels, and of ciphertexts, one symbolic op until it is expanded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latticework.errors import IrError, LevelError
from latticework.ir import Array, Attrs, Context, Op, Region, Type, Value, attribute, define, register_attribute
from latticework.ir.dialects.rlwe_types import CipherType, Level, take
from latticework.ir.dialects.vec_dialect import VecType
from latticework.lazy_dataclass import dataclass
from latticework.plan.instructions.reason import LoopStrategy, RefreshReason


@register_attribute("bootstrap_kind")
@dataclass(frozen=True, slots=True)
class BootstrapKind:
    """Facts of a bootstrap procedure that its types do not say.

    real  imaginary parts are dropped;  iterations  2: the error of the first is bootstrapped too
    """

    real: bool
    iterations: int


register_attribute("loop_way")(LoopStrategy)
register_attribute("refresh_reason")(RefreshReason)

MAX_TARGET = 128
MAX_EXPONENT = 24  # of values over what a bootstrap takes: its matrices lose so many bits together


def _infer_bootstrap(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    """A settled value of the main track, slots in [-1, 1], at `level` of the main track with scale `scale`.

    Attributes: level, scale; real (imaginary parts are dropped, for half the work); iterations (2: the error of the
    first is bootstrapped too); why (`RefreshReason`), if it is known.
    """
    name = "ckks.bootstrap"
    (a,) = take(name, operands, CipherType)
    level = attribute(name, attrs, "level", Level)
    attribute(name, attrs, "real", bool)
    if a.degree != 1 or a.basis != "Q" or a.scheme != "ckks":
        raise IrError(f"{name}: needs a ckks ciphertext of degree 1 over Q, got {a}; relinearize first")
    if a.level.track != 0 or level.track != 0 or level.index < 1:
        raise LevelError(f"{name}: goes from the main track to the main track, not from {a.level} to {level}")
    if attribute(name, attrs, "iterations", int) not in (1, 2):
        raise IrError(f"{name}: iterations must be 1 or 2, got {attrs['iterations']}")
    return [a.replace(level=level, scale=attribute(name, attrs, "scale", float))]


def _bootstrap(op: Op, inputs: list[Array], _context: Context) -> list[Array]:
    return [np.real(inputs[0]).astype(np.complex128) if op.attrs["real"] else inputs[0]]


BOOTSTRAP = define("ckks.bootstrap", infer=_infer_bootstrap, semantics=_bootstrap)


def _infer_refresh(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    """One secret vector, or two real ones of one count and width that share bootstraps; arrays of them too.

    Attributes: target (levels above the chain's floor that the results have); exponent (elements lie within
    [-2^exponent, 2^exponent]); iterations (1, or 2: the error of the first is bootstrapped too); if those of the second
    of two vectors lie closer to 0, second_exponent, so that its errors are no larger than by itself. Of reports
    alone: every (iterations of a loop from one to the next) and ways (`LoopStrategy`), then why (`RefreshReason`).
    """
    name = "vec.bootstrap"
    types = [value.type for value in operands]
    if len(types) not in (1, 2) or any(not isinstance(t, VecType) or not t.secret for t in types):
        raise IrError(f"{name}: takes one secret vector or two, got ({', '.join(map(str, types))})")
    if len(types) == 2 and (types[0] != types[1] or types[0].elem != "real"):  # type: ignore[attr-defined]
        raise IrError(
            f"{name}: two vectors share a bootstrap if they are real and alike, not {types[0]} and {types[1]}"
        )
    for key, least, most in (("target", 1, MAX_TARGET), ("exponent", 0, MAX_EXPONENT), ("iterations", 1, 2)):
        if not least <= attribute(name, attrs, key, int) <= most:
            raise IrError(f"{name}: {key} must be {least} to {most}, got {attrs[key]}")
    second = attrs.get("second_exponent", attrs["exponent"])
    if type(second) is not int or not 0 <= second <= attrs["exponent"]:
        raise IrError(f"{name}: second_exponent must be 0 to the exponent, {attrs['exponent']}, got {second}")
    if len(types) == 1 and "second_exponent" in attrs:
        raise IrError(f"{name}: second_exponent is of the second of two vectors, and there is one")
    return types


# The slots as they are, at another level.
REFRESH = define("vec.bootstrap", infer=_infer_refresh, semantics=lambda _op, inputs, _context: list(inputs))
