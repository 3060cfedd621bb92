"""Overloads of ATen's operators that are refused, by the concept whose remedy they share."""

from __future__ import annotations

from latticework.errors.remedies import name_remedies

NAMES: dict[str, str] = {
    "comparison": "sign.default sgn.default all.default any.default heaviside.default hardshrink.default "
    "copysign.Tensor signbit.default",
    "taken apart": "any.dim any.dims all.dim logical_xor.default",
    "place": "argmax.default argmin.default",
    "order": "sort.default sort.stable argsort.default argsort.stable topk.default kthvalue.default",
    "median": "median.default median.dim nanmedian.default nanmedian.dim",
    "percentile": "quantile.default quantile.scalar nanquantile.default nanquantile.scalar",
    "count": "histc.default bincount.default",
    "threshold": "bucketize.Tensor searchsorted.Tensor",
    "complex": "complex.default view_as_real.default view_as_complex.default",
    "rounding": "round.default round.decimals floor.default ceil.default trunc.default frac.default fmod.Scalar "
    "fmod.Tensor remainder.Scalar remainder.Tensor floor_divide.default",
    "value": "item.default _local_scalar_dense.default",
    "missing": "isnan.default isinf.default nan_to_num.default",
    "batch statistics": "_native_batch_norm_legit.no_stats _native_batch_norm_legit.default native_batch_norm.default "
    "_native_batch_norm_legit_functional.default batch_norm.default",
    "selection": "nonzero.default masked_select.default",
    "set": "unique_consecutive.default _unique2.default",
    "inverse": "linalg_inv_ex.default linalg_solve_ex.default linalg_cholesky_ex.default linalg_qr.default",
    "determinant": "det.default linalg_det.default _linalg_det.default _linalg_slogdet.default",
    "eigenvalue": "_linalg_svd.default linalg_eig.default linalg_eigvals.default _linalg_eigh.default",
    "fourier": "fft_fft.default fft_rfft.default fft_fft2.default fft_rfft2.default _fft_r2c.default",
    "inverse fourier": "fft_ifft.default fft_irfft.default fft_ifft2.default fft_irfft2.default _fft_c2r.default",
    "bits": "bitwise_and.Tensor bitwise_and.Scalar bitwise_or.Tensor bitwise_or.Scalar bitwise_xor.Tensor "
    "bitwise_xor.Scalar bitwise_not.default bitwise_left_shift.Tensor bitwise_right_shift.Tensor "
    "__and__.Tensor __and__.Scalar __or__.Tensor __or__.Scalar __xor__.Tensor __xor__.Scalar",
    "three axes": "max_pool3d.default conv3d.default adaptive_avg_pool3d.default",
}
REMEDIES = {**name_remedies({"branch": "cond"}), **name_remedies(NAMES, "aten.")}
