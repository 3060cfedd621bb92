"""Operators of ATen that are refused, and what to do instead."""

from __future__ import annotations

from latticework.frontend.unsupported import COUNTED, ORDERED

_COMPARE = (
    "secrets cannot be compared without a gap: return the numbers and compare after decryption, or write "
    "lw.greater(a, b, gap=...) in a program"
)
_PLACE = "return the scores and take the place after decryption, or write lw.argmax(x, gap=...) in a program"
_ORDER = f"{ORDERED}; in a program"
_COUNT = f"{COUNTED}, in a program; or return the numbers and count after decryption"
_ROUND = "rounding is a step at every whole number: round after decryption"
_VALUE = "its value is secret: compute with tensors, or decide before encryption"
_BATCH = "it takes the statistics of the batch: call module.eval() before exporting, and keep track_running_stats=True"
_APART = "it is a part of attention or of an activation that was taken apart: export it without run_decompositions()"
_SHAPE = "the shape of its result depends on secret values: multiply by a mask, or choose after decryption"
_INVERT = "it divides by what is secret, step by step: do it after decryption"


def _each(names: str, advice: str) -> dict[str, str]:
    return {f"aten.{name}": advice for name in names.split()}


REMEDIES = {
    "cond": "compute both results and choose by arithmetic: lw.where(lw.greater(a, b, gap=...), x, y) in a program",
    **_each("argmax.default argmin.default", _PLACE),
    **_each("sort.default sort.stable argsort.default topk.default kthvalue.default median.default median.dim", _ORDER),
    **_each("histc.default bincount.default bucketize.Tensor searchsorted.Tensor", _COUNT),
    **_each("round.default round.decimals floor.default ceil.default trunc.default frac.default", _ROUND),
    **_each("fmod.Scalar fmod.Tensor remainder.Scalar remainder.Tensor floor_divide.default", _ROUND),
    **_each("item.default _local_scalar_dense.default", _VALUE),
    **_each("sign.default sgn.default isnan.default isinf.default all.default any.default heaviside.default", _COMPARE),
    **_each("any.dim any.dims all.dim logical_xor.default", _APART),
    **_each("hardshrink.default", _COMPARE),
    **_each("_native_batch_norm_legit.no_stats _native_batch_norm_legit.default", _BATCH),
    **_each("_native_batch_norm_legit_functional.default native_batch_norm.default batch_norm.default", _BATCH),
    **_each("nonzero.default masked_select.default unique_consecutive.default _unique2.default", _SHAPE),
    **_each("linalg_inv_ex.default linalg_solve_ex.default linalg_cholesky_ex.default _linalg_svd.default", _INVERT),
    **_each("max_pool3d.default conv3d.default adaptive_avg_pool3d.default",
            "convolutions and pools slide along one axis or two: fold the third into channels"),
}  # fmt: skip
