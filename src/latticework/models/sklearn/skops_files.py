"""lw.load_skops: fitted estimators from files of skops, which hold no code."""

from __future__ import annotations

from typing import Any

from latticework.errors import FormatError, UnsupportedError, UserError
from latticework.errors.escaping import plain_text
from latticework.values.inputs.archives import check_archive
from latticework.values.inputs.reading_budget import DEFAULTS, ReadingLimits, read_bytes

# Parts of scikit-learn's own estimators that skops does not trust by itself: containers of numbers, and settings.
_PARTS = frozenset(
    {
        "numpy.dtype",
        "sklearn._loss.loss.HalfTweedieLoss",
        "sklearn._loss.loss.HalfTweedieLossIdentity",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.feature_selection._univariate_selection.f_classif",
        "sklearn.feature_selection._univariate_selection.f_regression",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.model_selection._split.KFold",
        "sklearn.model_selection._split.StratifiedKFold",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.tree._tree.Tree",
        "sklearn.utils._bunch.Bunch",
    }
)
_ZIP = b"PK"  # archives begin with it
_SHOWN = 10


def load_skops(path: Any, *, limits: ReadingLimits = DEFAULTS) -> Any:
    """A fitted estimator from a file of skops (`skops.io.dump`), for `from_sklearn`.

    Types that skops trusts, which are scikit-learn's public estimators, NumPy's arrays and Python's containers, and the
    parts that these estimators are made of are loaded; a file that names any other is refused before anything of it is
    made. Pickles and joblib files, which are programs, are never read.
    path    of the file; or its bytes, or an open file
    limits  of what a file may have us do, which is not trusted: archives are unpacked up to `memory_bytes` beyond twice
            the file
    raises  UnsupportedError that lists the types that are not trusted; UserError for what is no such file, or without
            skops
    """
    try:
        from skops import io
    except ImportError:
        raise UserError("load_skops needs the package skops: pip install skops scikit-learn") from None
    file = read_bytes(path, "load_skops", "file of skops", limits, "the file")
    name = plain_text(file.name)
    if not file.data.startswith(_ZIP):
        raise FormatError(
            f"load_skops: {name} is no file of skops; write one with skops.io.dump(fitted, path). Pickles and joblib "
            "files are programs and never loaded"
        )
    check_archive(file.data, f"load_skops: {name}", limits, len(file.data))
    try:
        others = sorted(set(io.get_untrusted_types(data=file.data)) - _PARTS)
    except Exception as error:  # of any kind: skops reads a file that anybody may have made
        raise UserError(f"load_skops: {name} cannot be read: {type(error).__name__}: {error}") from None
    if others:
        more = f" and {len(others) - _SHOWN} others" if len(others) > _SHOWN else ""
        raise UnsupportedError(
            f"load_skops: {name} holds types that are not scikit-learn's own: {', '.join(others[:_SHOWN])}{more}; load "
            "it yourself with skops.io.load(path, trusted=[...]) if you know who made it, and import what that returns"
        )
    try:
        return io.loads(file.data, trusted=sorted(_PARTS))
    except Exception as error:  # as above
        raise UserError(f"load_skops: {name} cannot be loaded: {type(error).__name__}: {error}") from None
