"""The bootstrap of ckks: one symbolic op until it is expanded into primitives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latticework.dialects.rlwe_types import CipherType, Level, take
from latticework.errors import IrError, LevelError
from latticework.ir import Array, Attrs, Context, Op, Region, Type, Value, attribute, define


def _infer_bootstrap(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    """A settled value of the main track, slots in [-1, 1], at `level` of the main track with scale `scale`.

    Attributes: level, scale; real (imaginary parts are dropped, for half the work); iterations (2: the error of the
    first is bootstrapped too).
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


BOOTSTRAP = define("ckks.bootstrap", infer=_infer_bootstrap, meaning=_bootstrap)
