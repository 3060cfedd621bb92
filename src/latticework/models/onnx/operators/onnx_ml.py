"""Operators of ai.onnx.ml: linear models, support vector machines and what prepares their features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb
from typing import Any

import numpy as np

from latticework.errors import FormatError, ShapeError, UnsupportedError
from latticework.errors.remedies import REMEDIES
from latticework.lazy_dataclass import dataclass
from latticework.models.client_rules.categories import CategoryMap, category_map, label_map
from latticework.models.client_rules.classes import SPREAD_BY, ClassRule, class_count, class_rule
from latticework.models.converters import Converter
from latticework.models.onnx.read_onnx import ML
from latticework.models.onnx.refused_operators import (
    APPLY_AFTER,
    CUT_BEHIND,
    LEAVE_CLASS_OUT,
    cut_before,
)
from latticework.models.onnx.size_limits import check_size
from latticework.models.semantics import activations, reductions
from latticework.models.semantics.grouped_parameters import group_parameters
from latticework.models.semantics.operand_checks import is_secret, public, select_elements, values
from latticework.models.semantics.unary import MEANINGS
from latticework.models.trees.signs import SignedTrees, sum_of_trees
from latticework.plan.client_steps.step_arrays import MAX_LABELS

Floats = Sequence[float]
_LABELS = f"the class is a step, which no polynomial follows: {LEAVE_CLASS_OUT}"
_NO_LABELS = (
    "runtimes compute different classes of what has one class, or two and no support vectors: leave the class out with "
    "outputs=[...], naming the scores"
)
_POSTS: dict[str, Callable[[Any], Any]] = {
    "NONE": lambda s: s, "LOGISTIC": MEANINGS["sigmoid"], "SOFTMAX": lambda s: activations.softmax(s, 1),
}  # fmt: skip


def _rows(name: str, x: Any) -> Any:
    """One row of features, or many."""
    x = x if is_secret(x) else np.asarray(x, np.float64)
    if np.ndim(x) == 1:
        return np.reshape(x, (1, -1))
    if np.ndim(x) != 2:
        raise ShapeError(f"{name}: x of shape {np.shape(x)}; it has to be rows of features")
    return x


def _matrix(name: str, numbers: Floats, rows: int, columns: int) -> Any:
    if len(numbers) != rows * columns:
        raise ShapeError(f"{name}: {len(numbers)} coefficients, and {rows} x {columns} are needed")
    return np.array(numbers, np.float64).reshape(rows, columns)


def _post(name: str, scores: Any, transform: str, known: Sequence[str] = tuple(_POSTS)) -> Any:
    if transform not in known:
        raise UnsupportedError(
            f"{name}: post_transform={transform}; {', '.join(known)} can be taken here: leave the scores out with "
            f"outputs=[...], or {APPLY_AFTER}"
        )
    return _POSTS[transform](scores)


@dataclass(frozen=True, kw_only=True)
class ClassifierOptions:
    """The attributes that classifiers have in common.

    wanted  which of the results are asked for: the class, the scores
    raw     return the scores that a runtime makes its scores and the class of
    """

    coefficients: Floats
    classlabels_ints: Sequence[int] = ()
    classlabels_strings: Sequence[str] = ()
    post_transform: str = "NONE"
    wanted: Sequence[bool] = ()
    raw: bool = False

    @property
    def labels(self) -> dict[str, Sequence[Any]]:
        """The labels of the classes, by attribute."""
        return {"classlabels_ints": self.classlabels_ints, "classlabels_strings": self.classlabels_strings}


@dataclass(frozen=True, kw_only=True)
class LinearClassifierOptions(ClassifierOptions):
    """The attributes of LinearClassifier."""

    intercepts: Floats | None = None
    multi_class: int = 0


@dataclass(frozen=True, kw_only=True)
class KernelOptions:
    """The attributes that say which kernel a support vector machine has, and its vectors."""

    kernel_params: Floats = ()
    kernel_type: str = "LINEAR"
    support_vectors: Floats = ()


@dataclass(frozen=True, kw_only=True)
class SvmClassifierOptions(ClassifierOptions):
    """The attributes of SVMClassifier besides its kernel."""

    rho: Floats
    prob_a: Floats = ()
    prob_b: Floats = ()
    vectors_per_class: Sequence[int] = ()


def _finish_scores(name: str, scores: Any, rule: ClassRule, options: ClassifierOptions) -> Any:
    """Return the scores of a classifier, or with `raw` those that they and its class are made of."""
    raw, transform = options.raw, options.post_transform
    result = scores if raw else _post(name, scores, transform, rule.posts)
    if options.wanted and options.wanted[0]:
        raise UnsupportedError(f"{name}: {_LABELS if rule.label else _NO_LABELS}")
    return result + np.array(SPREAD_BY) if rule.spread and not raw and transform == "NONE" else result


@group_parameters
def _linear_classifier(x: Any, *, options: LinearClassifierOptions) -> tuple[Any, Any]:
    x, labels = _rows("LinearClassifier", x), options.labels
    coefficients, intercepts = options.coefficients, options.intercepts
    rule = class_rule("LinearClassifier", {**labels, "intercepts": intercepts})
    features, classes = np.shape(x)[1], class_count(labels)
    rows = len(intercepts or ()) or classes or len(coefficients) // features
    if rows and len(coefficients) == rows * (len(coefficients) // rows) != rows * features:
        raise ShapeError(
            f"LinearClassifier: {len(coefficients)} coefficients for {rows} scores are of {len(coefficients) // rows} "
            f"features, and the input has {features}; give the model that many by shapes="
        )
    scores = np.matmul(x, _matrix("LinearClassifier", coefficients, rows, features).T)
    if intercepts:
        scores = scores + _matrix("LinearClassifier", intercepts, 1, rows)
    if rows == 1 and classes == 2:
        scores = np.concatenate([-scores, scores], 1)
    return None, _finish_scores("LinearClassifier", scores, rule, options)


def _linear_regressor(
    x: Any, *, coefficients: Floats, intercepts: Floats | None = None, targets: int = 1, post_transform: str = "NONE"
) -> Any:
    x = _rows("LinearRegressor", x)
    found = np.matmul(x, _matrix("LinearRegressor", coefficients, targets, np.shape(x)[1]).T)
    if intercepts:
        found = found + _matrix("LinearRegressor", intercepts, 1, targets)
    return _post("LinearRegressor", found, post_transform)


def _apply_kernel(name: str, x: Any, count: int, options: KernelOptions) -> Any:
    """Return the kernel of every row of x and each of `count` support vectors."""
    vectors = _matrix(name, options.support_vectors, count, np.shape(x)[1])
    kind, parameters = options.kernel_type, options.kernel_params
    gamma, coef0, degree = (*parameters, 0.0, 0.0, 0.0)[:3] if parameters else (0.0, 0.0, 0.0)
    products = np.matmul(x, vectors.T)
    if kind == "LINEAR":
        return products
    if kind == "POLY":
        return np.power(products * gamma + coef0, int(degree))
    if kind == "SIGMOID":
        return np.tanh(products * gamma + coef0)
    if kind == "RBF":
        check_size((*np.shape(x)[:1], *vectors.shape), secret=is_secret(x))
        squares = np.sum(np.square(x), 1, keepdims=True) + np.sum(np.square(vectors), 1) - 2.0 * products
        return np.exp(-gamma * squares)
    raise UnsupportedError(f"{name}: kernel_type={kind}; there are LINEAR, POLY, RBF and SIGMOID")


@group_parameters
def _svm_regressor(
    x: Any, *, coefficients: Floats, rho: Floats, n_supports: int = 0, one_class: int = 0,
    post_transform: str = "NONE", kernel: KernelOptions,
) -> Any:  # fmt: skip
    if one_class:
        raise UnsupportedError(f"SVMRegressor: one_class is a sign; {REMEDIES['comparison'].for_models}")
    x = _rows("SVMRegressor", x)
    kernels = _apply_kernel("SVMRegressor", x, n_supports, kernel) if n_supports else x
    weights = _matrix("SVMRegressor", coefficients, n_supports or np.shape(x)[1], 1)
    return _post("SVMRegressor", np.matmul(kernels, weights) + float(rho[0]), post_transform)


@group_parameters
def _svm_classifier(x: Any, *, options: SvmClassifierOptions, kernel: KernelOptions) -> tuple[Any, Any]:
    x, labels = _rows("SVMClassifier", x), options.labels
    coefficients, rho, vectors_per_class = options.coefficients, options.rho, options.vectors_per_class
    rule = class_rule("SVMClassifier", {**labels, "vectors_per_class": vectors_per_class})
    features, classes = np.shape(x)[1], max(class_count(labels), 1)
    if options.prob_a:
        raise UnsupportedError(
            "SVMClassifier: probabilities iterate until they agree; leave them out with outputs=[...], naming the "
            "class, or train without"
        )
    count = sum(vectors_per_class)
    if not count:
        weights = _matrix("SVMClassifier", coefficients, classes, features)
        scores = np.matmul(x, weights.T) + float(rho[0])
        return None, _finish_scores("SVMClassifier", scores, rule, options)
    if len(vectors_per_class) != classes or min(vectors_per_class) < 0 or len(rho) < comb(classes, 2):
        raise ShapeError(
            f"SVMClassifier: vectors_per_class={list(vectors_per_class)} and {len(rho)} numbers in rho for {classes} "
            f"classes; there are to be {classes} and {comb(classes, 2)}: export it again"
        )
    kernels = _apply_kernel("SVMClassifier", x, count, kernel)
    duals, ends = _matrix("SVMClassifier", coefficients, classes - 1, count), np.cumsum(vectors_per_class)
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    weights = np.zeros((count, len(pairs)))
    for pair, (i, j) in enumerate(pairs):
        of_i, of_j = (np.s_[ends[k] - vectors_per_class[k] : ends[k]] for k in (i, j))
        weights[of_i, pair], weights[of_j, pair] = duals[j - 1, of_i], duals[i, of_j]
    scores = np.matmul(kernels, weights) + np.array(rho[: len(pairs)])
    if classes == 2:
        scores = np.concatenate([-scores, scores], 1)
    return None, _finish_scores("SVMClassifier", scores, rule, options)


def _scaler(x: Any, *, offset: Floats = (), scale: Floats = ()) -> Any:
    x = x if is_secret(x) else np.asarray(x, np.float64)
    shifted = x - np.array(offset) if any(offset) else x
    return shifted * np.array(scale) if scale else shifted


def _normalizer(x: Any, *, norm: str = "MAX") -> Any:
    x = _rows("Normalizer", x)
    if norm not in ("MAX", "L1", "L2"):
        raise UnsupportedError(f"Normalizer: norm={norm}; there are MAX, L1, L2")
    if norm == "MAX":
        size = reductions.amax(np.absolute(x), 1, True)
    else:
        size = reductions.norm(x, int(norm[1]), 1, True)
    return x / size if is_secret(x) else x / np.maximum(size, 1e-30)


def _feature_extractor(x: Any, places: Any) -> Any:
    numbers = public("ArrayFeatureExtractor", "the places", places).reshape(-1)
    n = (np.shape(x) or (0,))[-1]
    if numbers.dtype.kind not in "iu" or not numbers.size or numbers.min() < 0 or numbers.max() >= n:
        raise ShapeError(f"ArrayFeatureExtractor: places of {n} features that are not there")
    found = select_elements(values(x), numbers, np.ndim(x) - 1)
    return np.reshape(found, (1, -1)) if np.ndim(x) == 1 else found


def _imputer(
    x: Any, *, imputed_value_floats: Floats = (), imputed_value_int64s: Sequence[int] = (),
    replaced_value_float: float = 0.0, replaced_value_int64: int = 0,
) -> Any:  # fmt: skip
    filled = imputed_value_floats or imputed_value_int64s
    if len(filled) not in (1, np.shape(x)[-1]) or (imputed_value_floats and imputed_value_int64s):
        raise FormatError(f"Imputer: {len(filled)} values to fill in for {np.shape(x)[-1]} columns; export it again")
    if is_secret(x):
        raise UnsupportedError(f"Imputer: {REMEDIES['missing'].add(CUT_BEHIND).for_models}")
    x = np.array(x)
    old = replaced_value_float if imputed_value_floats else replaced_value_int64
    return np.where(np.isnan(x) if np.isnan(old) else x == old, np.array(filled), x)


def _binarizer(x: Any, *, threshold: float = 0.0) -> Any:
    if is_secret(x):
        raise UnsupportedError(f"Binarizer: {REMEDIES['threshold'].add(CUT_BEHIND).for_models}")
    return (np.asarray(x) > threshold).astype(np.float64)


def _one_hot_encoder(
    x: Any, *, cats_int64s: Sequence[int] = (), cats_strings: Sequence[str] = (), zeros: int = 1
) -> Any:
    if bool(cats_int64s) == bool(cats_strings) or len({*cats_int64s, *cats_strings}) < max(
        len(cats_int64s), len(cats_strings)
    ):
        raise FormatError("OneHotEncoder: it has no categories, two lists of them, or one that stands twice")
    if max(len(cats_int64s), len(cats_strings)) > MAX_LABELS:
        raise FormatError(f"OneHotEncoder: it has more than {MAX_LABELS} categories")
    found = public("OneHotEncoder", "the category", x, REMEDIES["category"].add(CUT_BEHIND).instead)
    categories = np.array(cats_int64s or cats_strings)
    check_size((*found.shape, len(categories)))
    return (found[..., None] == categories).astype(np.float64)


def _feature_vectorizer(*parts: Any, inputdimensions: Sequence[int]) -> Any:
    if len(parts) != len(inputdimensions):
        raise ShapeError(f"FeatureVectorizer: {len(inputdimensions)} sizes for {len(parts)} inputs")
    cut = []
    for part, count in zip(parts, inputdimensions, strict=True):
        rows = np.reshape(values(part), (-1, 1)) if np.ndim(part) == 1 else _rows("FeatureVectorizer", part)
        n = np.shape(rows)[1]
        check_size((np.shape(rows)[0], max(count, 0)), secret=is_secret(rows))
        cut.append(rows[:, :count] if count <= n else np.pad(rows, ((0, 0), (0, count - n))))
    return np.concatenate(cut, 1)


def _refuse_on_secrets(name: str) -> Callable[..., Any]:
    """A function that refuses an operator which belongs after decryption."""

    def refuse(x: Any, *, of: str = "", **options: Any) -> Any:
        raise UnsupportedError(f"{name}: {cut_before(of)}, and do it after decryption")

    return refuse


def _look_up(name: str, read: Callable[..., CategoryMap]) -> Callable[..., Any]:
    """A function that looks public values up in a table, and refuses encrypted ones."""

    def look_up(x: Any, *, of: str = "", **options: Any) -> Any:
        try:
            table = read(options, of_texts=not is_secret(x) and np.asarray(x).dtype.kind in "USO")
        except (ValueError, KeyError) as error:
            raise FormatError(f"{name}: {error}; export the model again") from None
        if is_secret(x):
            raise UnsupportedError(f"{name}: {cut_before(of)}, and do it after decryption")
        return table.of(x)

    return look_up


def _trees(x: Any, *, gap: float = 0.0, **options: Any) -> tuple[Any, Any]:
    """A sum of trees, with what is undecided; as the file has it there is no gap."""
    if not gap:
        raise UnsupportedError("trees within branches and loops of a file are not supported")
    return sum_of_trees(_rows("trees", x), trees=SignedTrees(gap=gap, **options))


_BY_WAY = 'with trees="sign" or "exact"; post_transform NONE, LOGISTIC or SOFTMAX'
_BEFORE_ENCRYPTION = "the owner's: before encryption"
_AT_EITHER_END = "the owner's: before encryption, or after decryption"
_LABEL = "the class is the owner's; post_transform NONE, LOGISTIC or, of more than one score, SOFTMAX"
CONVERTERS = tuple(
    Converter(f"{ML}.{name}", meaning, since=1, note=note)
    for name, meaning, note in (
        ("LinearClassifier", _linear_classifier, _LABEL),
        ("LinearRegressor", _linear_regressor, "post_transform NONE, LOGISTIC or SOFTMAX"),
        ("SVMClassifier", _svm_classifier, f"{_LABEL}; without probabilities"),
        ("SVMRegressor", _svm_regressor, "not one_class"),
        ("Scaler", _scaler, ""),
        ("Normalizer", _normalizer, "of what is not 0"),
        ("ArrayFeatureExtractor", _feature_extractor, "the places are public"),
        ("Imputer", _imputer, _BEFORE_ENCRYPTION),
        ("Binarizer", _binarizer, _BEFORE_ENCRYPTION),
        ("OneHotEncoder", _one_hot_encoder, _BEFORE_ENCRYPTION),
        ("FeatureVectorizer", _feature_vectorizer, ""),
        ("TreeEnsemble", _trees, _BY_WAY),
        ("TreeEnsembleClassifier", _trees, _BY_WAY),
        ("TreeEnsembleRegressor", _trees, _BY_WAY),
        ("ZipMap", _refuse_on_secrets("ZipMap"), "the owner's: after decryption"),
        ("LabelEncoder", _look_up("LabelEncoder", label_map), _AT_EITHER_END),
        ("CategoryMapper", _look_up("CategoryMapper", category_map), _AT_EITHER_END),
    )
)
