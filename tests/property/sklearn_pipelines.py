"""Random small pipelines of scikit-learn: a scaler, a reducer and an estimator, on data by chance."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC


@dataclass(frozen=True)
class FittedPipeline:
    """A pipeline, and rows like those that it was fitted on."""

    pipeline: Pipeline
    rows: npt.NDArray[np.float64]

    def __repr__(self) -> str:
        return f"FittedPipeline({[step for _, step in self.pipeline.steps]}, {self.rows.shape})"


SCALERS = (None, StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler(), StandardScaler(with_mean=False))
ESTIMATORS = (
    Ridge(), SVR(), LogisticRegression(), RidgeClassifier(), LinearSVC(dual=False), LinearDiscriminantAnalysis(),
    GaussianNB(), NearestCentroid(), SVC(), SVC(kernel="poly", degree=2), SVC(kernel="linear"),
    MLPClassifier((4,), activation="tanh", max_iter=40, random_state=0), KMeans(3, n_init=1, random_state=0),
    GaussianMixture(2, random_state=0, reg_covar=1e-2),
)  # fmt: skip


@st.composite
def pipelines(draw: st.DrawFn) -> FittedPipeline:
    """Data of 2 to 6 columns whose scales differ by up to 10^3, and a pipeline that is fitted on them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    width, classes = draw(st.integers(2, 6)), draw(st.integers(2, 4))
    y = rng.permutation(np.arange(60) % classes)
    spread = 10.0 ** rng.uniform(-1, 2, width)
    x = (rng.normal(size=(60, width)) + rng.normal(size=(classes, width))[y] * 2) * spread + spread * rng.normal()
    reducers: list[Any] = [
        None,
        PCA(draw(st.integers(1, width))),
        SelectKBest(f_classif, k=draw(st.integers(1, width))),
    ]
    reducers += [PolynomialFeatures(2, include_bias=False), TruncatedSVD(max(1, width - 1), random_state=0)]
    scaler, reducer = draw(st.sampled_from(SCALERS)), draw(st.sampled_from(reducers))
    estimator = draw(st.sampled_from(ESTIMATORS))
    named = [("scale", scaler), ("reduce", reducer), ("estimate", estimator)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = Pipeline([(n, step if step is not None else "passthrough") for n, step in named]).fit(x, y)
    return FittedPipeline(fitted, x)


def methods_of(fitted: FittedPipeline) -> list[str]:
    """Those that both sides have."""
    names = ("predict", "decision_function", "predict_proba")
    return [name for name in names if hasattr(fitted.pipeline, name)]
