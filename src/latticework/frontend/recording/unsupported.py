"""NumPy functions that have no encrypted counterpart here, and what to write instead, in programs and in circuits."""

from __future__ import annotations

from latticework.errors.remedies import REMEDIES, name_remedies

NAMES: dict[str, str] = {  # concepts, and what NumPy and SciPy call what belongs to each
    "comparison": "heaviside signbit copysign greater greater_equal less less_equal equal not_equal sign all any "
    "logical_and logical_or logical_not logical_xor count_nonzero",
    "branch": "select choose piecewise place",
    "order": "sort argsort lexsort partition argpartition sort_complex",
    "median": "median nanmedian",
    "percentile": "percentile quantile nanpercentile nanquantile",
    "place": "argmax argmin nanargmax nanargmin",
    "largest": "max min amax amin nanmax nanmin ptp",
    "count": "histogram histogram2d histogramdd histogram_bin_edges bincount",
    "threshold": "digitize searchsorted",
    "value": "allclose isclose array_equal array_equiv isin array2string array_repr array_str save savetxt savez "
    "savez_compressed item tolist tobytes tofile dump dumps",
    "selection": "nonzero flatnonzero argwhere extract trim_zeros",
    "set": "unique intersect1d setdiff1d setxor1d union1d unique_all unique_counts unique_inverse unique_values",
    "missing": "isnan isfinite isinf isneginf isposinf isnat nan_to_num",
    "new array": "empty_like full_like",
    "public result": "diag_indices_from tril_indices_from triu_indices_from ravel_multi_index unravel_index can_cast "
    "common_type min_scalar_type result_type einsum_path indices ix_ iscomplex iscomplexobj isreal isrealobj "
    "may_share_memory shares_memory busday_count busday_offset is_busday datetime_as_string",
    "mutation": "put put_along_axis putmask fill_diagonal copyto resize fill",
    "complex": "real imag real_if_close angle conj",
    "dtype": "astype",
    "rounding": "floor ceil rint round around trunc fix mod remainder floor_divide fmod divmod modf frexp spacing "
    "nextafter unwrap",
    "bits": "bitwise_and bitwise_or bitwise_xor bitwise_invert bitwise_left_shift bitwise_right_shift bitwise_count "
    "bitwise_not invert left_shift right_shift gcd lcm packbits unpackbits",
    "function": "i0",
    "inverse": "inv pinv solve lstsq tensorinv tensorsolve cholesky qr cond",
    "determinant": "det slogdet",
    "eigenvalue": "eig eigh eigvals eigvalsh svd svdvals matrix_rank roots",
    "fourier": "fft fft2 fftn rfft rfft2 rfftn hfft ihfft",
    "inverse fourier": "ifft ifft2 ifftn irfft irfft2 irfftn",
}
_CONCEPTS = name_remedies(NAMES)


def _each(names: str, formula: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), formula)


FORMULAS: dict[str, str] = {  # what other functions of NumPy compute the same
    **_each("block insert bmat", "np.concatenate or np.stack of the parts"),
    **_each("logaddexp logaddexp2", "np.log(np.exp(a) + np.exp(b))"),
    **_each("hypot", "np.sqrt(a * a + b * b)"),
    **_each("arctan2 atan2", "np.arctan(y / x) for positive x"),
    **_each("ldexp", "x * 2.0**n with a public n"),
    **_each("atleast_1d atleast_2d atleast_3d", "x[None], or x.reshape(...)"),
    **_each("cross", "np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])"),
    **_each("cumprod nancumprod cumulative_prod", "np.stack([np.prod(x[:i + 1]) for i in range(n)])"),
    **_each("cumulative_sum nancumsum", "np.cumsum(x)"),
    **_each("diagflat", "np.diag(x.ravel())"),
    **_each("dsplit", "np.split(x, parts, axis=2)"),
    **_each("ediff1d", "np.diff(x.ravel())"),
    **_each("gradient",
            "np.concatenate of slices: x[1:] - x[:-1] are the steps, (x[2:] - x[:-2]) / 2 the slopes inside"),
    **_each("trapezoid trapz", "dx * np.sum(y[1:] + y[:-1]) / 2"),
    **_each("interp", "lw.approximate(lambda x: np.interp(x, xp, fp))(x)"),
    **_each("meshgrid", "x[None, :] * np.ones((n, 1)) and y[:, None] * np.ones((1, m))"),
    **_each("linspace logspace geomspace", "start + (stop - start) * np.linspace(0, 1, n)"),
    **_each("vander", "np.stack([x**i for i in range(n)], axis=1)"),
    **_each("poly polyadd polyder polydiv polyfit polyint polymul polysub",
            "it with the coefficients: + and -, np.convolve by public ones; np.linalg.pinv(np.vander(points, n)) @ y "
            "fits values at public points"),
    **_each("polyval polyval2d polygrid2d", "lw.polynomial(x, coefficients), lowest power first"),
    **_each("rollaxis", "np.moveaxis(x, axis, start)"),
    **_each("take_along_axis", "np.take(x, numbers, axis) with public numbers"),
    **_each("sliding_window_view", "np.stack([x[i:i + k] for i in range(n - k + 1)])"),
    **_each("apply_along_axis apply_over_axes", "the function with axis=, or on slices, and np.stack"),
    **_each("diagonal trace", "np.diagonal(x, axis1=-2, axis2=-1) or np.trace"),
    **_each("fftshift ifftshift", "np.roll(x, n // 2), or np.roll(x, -(n // 2)) for its inverse"),
    **_each("xlogy", "x * np.log(y)"),
    **_each("xlog1py", "x * np.log1p(y)"),
    **_each("fmin", "np.minimum(a, b)"),
    **_each("fmax", "np.maximum(a, b)"),
    **_each("clip", "clip(x, 0, 1) as lw.relu(x) - lw.relu(x - 1)"),
}  # fmt: skip

SUPPORTED = (
    "+ - * / by public numbers, ** by whole numbers, @, np.dot, np.einsum, np.sum, np.mean, np.var, np.prod, "
    "np.square, reshape, transpose, indexing by public numbers, np.concatenate, np.stack, np.split, np.pad, np.roll, "
    "np.where by a public mask, lw.conv2d, lw.avg_pool2d, lw.relu, lw.exp, "
    "lw.approximate for any function, lw.polynomial; docs/programs.md lists them all"
)


def known_remedy(name: str) -> str:
    """Advice on what to write instead of the function or method `name`; "" if nothing of its own is known."""
    if name in FORMULAS:
        return f"write {FORMULAS[name]}"
    return _CONCEPTS[name].for_programs if name in _CONCEPTS else ""


def remedy(name: str) -> str:
    """Return what to write instead of the NumPy function or method `name`."""
    return known_remedy(name) or f"supported are {SUPPORTED}"


def circuit_remedy(name: str) -> str:
    """Return what to write in a circuit instead of the NumPy function `name`."""
    return _CONCEPTS[name].for_circuits if name in _CONCEPTS else REMEDIES["function"].circuit
