"""NumPy functions that have no encrypted counterpart here, and what to write instead, in programs and in circuits."""

from __future__ import annotations

_COMPARE = (
    "secrets cannot be compared without a gap: lw.sign(x, gap=...), lw.greater(a, b, gap=...), or a soft step, "
    "lw.sigmoid(k * x)"
)
_SELECT = "blend with a mask: lw.where(lw.greater(x, y, gap=...), a, b)"
COUNTED = (
    "np.sum(lw.greater(x, edge, gap=...)) is how many are above a public edge, and the difference of two such sums how "
    "many lie between edges"
)
ORDERED = (
    "ordering secrets is not supported as such: np.minimum(a, b) and np.maximum(a, b) put two in order, in rounds one "
    f"after another more of them, and {COUNTED}; or return the values and order them after decryption"
)
_MEDIAN = (
    "the median of three is np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c)); of more return the values "
    f"and take it after decryption, or count by edges: {COUNTED}"
)
_BINS = (
    "with public edges it is np.sum(lw.greater(x[..., None], edges, gap=...), axis=-1), each of the comparisons right "
    "for what keeps the gap from its edge"
)
_PLACE = "lw.argmax(x, gap=...) is the place of the largest, of -x that of the smallest, if it is ahead by the gap"
_MOST = (
    "np.maximum(a, b) is the larger of two, np.minimum(a, b) the smaller: apply it to halves, over and over; whether "
    "any is above a public edge is 1 - np.prod(1 - lw.greater(x, edge, gap=...))"
)
_FUNCTION = "approximate it on its range with lw.approximate(function)(x)"
_VALUES = "return the values and do it after decryption"
_SOLVE = (
    "it divides by what is secret, step by step: return the matrix and do it after decryption, or iterate a known "
    "number of times, for an inverse y = y @ (2 * np.eye(n) - x @ y)"
)
_EIGEN = (
    "it iterates until secrets agree, which nobody can see: return x.T @ x (or np.cov(x)) and do it after decryption"
)
_FOURIER = (
    "programs compute on real numbers: with a = 2 * np.pi * np.outer(np.arange(n), np.arange(n // 2 + 1)) / n write "
    "x @ np.cos(a) for the real part of rfft(x), -(x @ np.sin(a)) for the imaginary part"
)
_INVERSE_FOURIER = (
    "programs compute on real numbers: multiply real and imaginary parts by public matrices, "
    "(re @ np.cos(a) - im @ np.sin(a)) / n with a = 2 * np.pi * np.outer(np.arange(n), np.arange(n)) / n"
)
_SETS = "which values are equal is secret: return the values and do it after decryption"
_BITS = "bits of a secret are not known in programs on arrays; write a circuit on integers (docs/circuits.md)"
_IN_PLACE = "values are immutable here; build a new one, with np.where by a public mask, np.pad or np.concatenate"
_SHAPE = "the shape of a secret is public: np.zeros(x.shape), np.full(x.shape, value)"
_PUBLIC = "its results are public numbers or settings: call it on a public array of the same shape, np.zeros(x.shape)"
_REAL = "secrets are real: leave it out"
_COUNTS = (
    f"how often values occur needs comparisons: {COUNTED}. With above = np.stack([np.sum(lw.greater(x, edge, gap=...)) "
    "for edge in edges]) a histogram is above[:-1] - above[1:]"
)
_STEPS = "np.concatenate of slices: x[1:] - x[:-1] are the steps, (x[2:] - x[:-2]) / 2 the slopes inside"
_LOG_SUM = "write np.log(np.exp(a) + np.exp(b))"
_JOIN = "join the parts with np.concatenate or np.stack"


def _each(names: str, advice: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), advice)


REMEDIES: dict[str, str] = {
    **_each("block insert bmat", _JOIN),
    **_each("select choose piecewise extract place", _SELECT),
    **_each("heaviside signbit copysign", _COMPARE),
    **_each("sort argsort lexsort partition argpartition sort_complex", ORDERED),
    **_each("median nanmedian", _MEDIAN),
    **_each("digitize searchsorted", _BINS),
    "unique": _SETS,
    "ptp": f"it is the largest less the smallest: {_MOST}",
    **_each("argmax argmin", _PLACE),
    **_each("max min amax amin nanmax nanmin", _MOST),
    **_each("nanargmax nanargmin", _PLACE),
    "fmin": "write np.minimum(a, b)",
    **_each("percentile quantile nanpercentile nanquantile",
            "percentiles order secrets, which is not supported: return the values and take it after decryption, or "
            f"np.mean(x) and np.std(x), of which percentiles of normal data follow, or count by edges: {COUNTED}"),
    **_each("greater greater_equal less less_equal equal not_equal sign", _COMPARE),
    **_each("all any logical_and logical_or logical_not logical_xor", _COMPARE),
    **_each("nonzero flatnonzero argwhere count_nonzero", _COMPARE),
    **_each("isneginf isposinf isnat isin trim_zeros nan_to_num array_equiv", _VALUES),
    **_each("allclose isclose array_equal isnan isfinite isinf", _VALUES),
    **_each("floor ceil rint round around trunc fix mod remainder floor_divide fmod divmod modf frexp", _FUNCTION),
    **_each("unwrap i0 spacing nextafter", _FUNCTION),
    **_each("intersect1d setdiff1d setxor1d union1d unique_all unique_counts unique_inverse unique_values", _SETS),
    **_each("histogram histogram2d histogramdd histogram_bin_edges bincount", _COUNTS),
    **_each("inv pinv solve lstsq tensorinv tensorsolve", _SOLVE),
    **_each("det slogdet cholesky qr cond",
            "it divides by what is secret, step by step: return the matrix and do it after decryption; a determinant "
            "of 2 x 2 is x[0, 0] * x[1, 1] - x[0, 1] * x[1, 0]"),
    **_each("eig eigh eigvals eigvalsh svd svdvals matrix_rank roots", _EIGEN),
    **_each("fft fft2 fftn rfft rfft2 rfftn hfft ihfft", _FOURIER),
    **_each("ifft ifft2 ifftn irfft irfft2 irfftn", _INVERSE_FOURIER),
    **_each("fftshift ifftshift", "write np.roll(x, n // 2), or np.roll(x, -(n // 2)) for its inverse"),
    **_each("bitwise_and bitwise_or bitwise_xor bitwise_invert bitwise_left_shift bitwise_right_shift bitwise_count "
            "bitwise_not invert left_shift right_shift gcd lcm packbits unpackbits", _BITS),
    **_each("put put_along_axis putmask fill_diagonal copyto resize fill", _IN_PLACE),
    **_each("empty_like full_like", _SHAPE),
    **_each("diag_indices_from tril_indices_from triu_indices_from ravel_multi_index unravel_index", _PUBLIC),
    **_each("can_cast common_type min_scalar_type result_type einsum_path indices ix_", _PUBLIC),
    **_each("iscomplex iscomplexobj isreal isrealobj", _PUBLIC),
    **_each("may_share_memory shares_memory busday_count busday_offset is_busday datetime_as_string", _PUBLIC),
    **_each("real imag real_if_close angle conj", _REAL),
    **_each("array2string array_repr array_str save savetxt savez savez_compressed", _VALUES),
    **_each("item tolist tobytes tofile dump dumps", _VALUES),
    **_each("logaddexp logaddexp2", _LOG_SUM),
    **_each("hypot", "write np.sqrt(a * a + b * b)"),
    **_each("arctan2 atan2", "write np.arctan(y / x) for positive x"),
    **_each("ldexp", "write x * 2.0**n with a public n"),
    **_each("atleast_1d atleast_2d atleast_3d", "write x[None], or x.reshape(...)"),
    **_each("cross",
            "write np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])"),
    **_each("cumprod nancumprod cumulative_prod", "write np.stack([np.prod(x[:i + 1]) for i in range(n)])"),
    **_each("cumulative_sum nancumsum", "write np.cumsum(x)"),
    **_each("diagflat", "write np.diag(x.ravel())"),
    **_each("dsplit", "write np.split(x, parts, axis=2)"),
    **_each("ediff1d", "write np.diff(x.ravel())"),
    **_each("gradient", _STEPS),
    **_each("trapezoid trapz", "write dx * np.sum(y[1:] + y[:-1]) / 2"),
    **_each("interp", "write lw.approximate(lambda x: np.interp(x, xp, fp))(x)"),
    **_each("meshgrid", "write x[None, :] * np.ones((n, 1)) and y[:, None] * np.ones((1, m))"),
    **_each("linspace logspace geomspace", "write start + (stop - start) * np.linspace(0, 1, n)"),
    **_each("vander", "write np.stack([x**i for i in range(n)], axis=1)"),
    **_each("poly polyadd polyder polydiv polyfit polyint polymul polysub", "compute with the coefficients: + and -, "
            "np.convolve by public ones; np.linalg.pinv(np.vander(points, n)) @ y fits values at public points"),
    **_each("polyval polyval2d polygrid2d", "write lw.polynomial(x, coefficients), lowest power first"),
    **_each("rollaxis", "write np.moveaxis(x, axis, start)"),
    **_each("take_along_axis", "write np.take(x, numbers, axis) with public numbers"),
    **_each("sliding_window_view", "write np.stack([x[i:i + k] for i in range(n - k + 1)])"),
    **_each("apply_along_axis apply_over_axes", "call the function with axis=, or on slices, and use np.stack"),
    **_each("diagonal trace", "write np.diagonal(x, axis1=-2, axis2=-1) or np.trace"),
    **_each("astype", "leave it out: secrets are real numbers"),
    **_each("xlogy xlog1py", "write x * np.log(y)"),
    "fmax": "write np.maximum(a, b)",
    "clip": "write clip(x, 0, 1) as lw.relu(x) - lw.relu(x - 1)",
}  # fmt: skip

SUPPORTED = (
    "+ - * / by public numbers, ** by whole numbers, @, np.dot, np.einsum, np.sum, np.mean, np.var, np.prod, "
    "np.square, reshape, transpose, indexing by public numbers, np.concatenate, np.stack, np.split, np.pad, np.roll, "
    "np.where by a public mask, lw.conv2d, lw.avg_pool2d, lw.relu, lw.exp, "
    "lw.approximate for any function, lw.polynomial; docs/programs.md lists them all"
)


def remedy(name: str) -> str:
    """What to write instead of the NumPy function or method `name`."""
    return REMEDIES.get(name, f"supported are {SUPPORTED}")


_CHOICE = "encrypt the bit of the comparison as an input of its own, and choose with lw.select(bit, if_one, if_zero)"
_POLYNOMIAL = (
    "write it as a polynomial: circuits have + - *, ** by small whole numbers, and / by public numbers in CKKS"
)
_OF_CIRCUITS = {
    **dict.fromkeys((_COMPARE, _SELECT, ORDERED, _MEDIAN, _BINS, _PLACE, _MOST), _CHOICE),
    _VALUES: _VALUES,
}


def circuit_remedy(name: str) -> str:
    """What to write in a circuit instead of the NumPy function `name`."""
    return _OF_CIRCUITS.get(REMEDIES.get(name, ""), _POLYNOMIAL)
