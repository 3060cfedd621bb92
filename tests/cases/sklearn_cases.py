"""Fitted estimators of scikit-learn on its own data, for tests of the importer."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import datasets
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA, FactorAnalysis, FastICA, IncrementalPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    Lars,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDOneClassSVM,
    SGDRegressor,
    TweedieRegressor,
)
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

Data = tuple[npt.NDArray[np.float64], npt.NDArray[Any]]


@cache
def data(name: str) -> Data:
    """Samples and targets of scikit-learn's: iris, wine, tumours, digits, diabetes; "named": classes are words."""
    if name == "named":
        x, y = data("iris")
        return x, np.array(["setosa", "versicolor", "virginica"])[y]
    if name == "bits":
        x, y = data("digits")
        return (x > 8).astype(float), y
    if name == "counts":
        x, y = data("diabetes")
        return x, np.round(y)
    loaders = {"iris": datasets.load_iris, "wine": datasets.load_wine, "tumours": datasets.load_breast_cancer,
               "digits": datasets.load_digits, "diabetes": datasets.load_diabetes}  # fmt: skip
    return loaders[name](return_X_y=True)  # type: ignore[no-any-return]


def scaled(*steps: Any) -> Any:
    """A pipeline that begins with a StandardScaler."""
    return make_pipeline(StandardScaler(), *steps)


# name -> estimator, data it is fitted on
CASES: dict[str, tuple[Any, str]] = {
    "linear": (LinearRegression(), "diabetes"),
    "linear-no-intercept": (LinearRegression(fit_intercept=False), "diabetes"),
    "ridge-scaled": (scaled(Ridge()), "diabetes"),
    "lasso-cv": (LassoCV(cv=3), "diabetes"),
    "elastic-net": (ElasticNet(alpha=0.01), "diabetes"),
    "lars": (Lars(), "diabetes"),
    "bayesian-ridge": (BayesianRidge(), "diabetes"),
    "ard": (ARDRegression(), "diabetes"),
    "huber": (scaled(HuberRegressor()), "diabetes"),
    "sgd-regressor": (scaled(SGDRegressor(random_state=0)), "diabetes"),
    "linear-svr": (scaled(LinearSVR(random_state=0)), "diabetes"),
    "poisson": (PoissonRegressor(), "counts"),
    "gamma": (GammaRegressor(), "counts"),
    "tweedie": (TweedieRegressor(power=0), "counts"),
    "tweedie-log": (TweedieRegressor(power=1.5), "counts"),
    "pls": (PLSRegression(n_components=3), "diabetes"),
    "logistic": (scaled(LogisticRegression()), "iris"),
    "logistic-two": (scaled(LogisticRegression()), "tumours"),
    "logistic-raw": (LogisticRegression(solver="newton-cholesky"), "tumours"),
    "logistic-named": (LogisticRegression(max_iter=1000), "named"),
    "logistic-cv": (scaled(LogisticRegressionCV(cv=3, Cs=3)), "wine"),
    "logistic-ovr": (scaled(OneVsRestClassifier(LogisticRegression(solver="liblinear"))), "wine"),
    "sgd": (scaled(SGDClassifier(loss="log_loss", random_state=0)), "wine"),
    "sgd-huber": (scaled(SGDClassifier(loss="modified_huber", random_state=0)), "tumours"),
    "sgd-one-class": (scaled(SGDOneClassSVM(random_state=0)), "wine"),
    "perceptron": (scaled(Perceptron()), "wine"),
    "passive": (scaled(SGDClassifier(penalty=None, learning_rate="pa1", eta0=1.0, random_state=0)), "iris"),
    "ridge-classifier": (scaled(RidgeClassifier()), "wine"),
    "ridge-two": (scaled(RidgeClassifier()), "tumours"),
    "linear-svc": (scaled(LinearSVC(random_state=0)), "digits"),
    "lda": (LinearDiscriminantAnalysis(), "wine"),
    "lda-two": (LinearDiscriminantAnalysis(), "tumours"),
    "lda-eigen": (LinearDiscriminantAnalysis(solver="eigen"), "iris"),
    "lda-reducer": (make_pipeline(LinearDiscriminantAnalysis(), LogisticRegression()), "wine"),
    "qda": (QuadraticDiscriminantAnalysis(), "wine"),
    "qda-two": (QuadraticDiscriminantAnalysis(reg_param=0.1), "tumours"),
    "gaussian-nb": (GaussianNB(), "wine"),
    "gaussian-nb-scaled": (scaled(GaussianNB()), "tumours"),
    "multinomial-nb": (MultinomialNB(), "digits"),
    "complement-nb": (ComplementNB(), "digits"),
    "bernoulli-nb": (BernoulliNB(binarize=None), "bits"),
    "svc-linear": (scaled(SVC(kernel="linear")), "iris"),
    "svc-rbf": (scaled(SVC()), "tumours"),
    "svc-rbf-ovo": (scaled(SVC(decision_function_shape="ovo")), "wine"),
    "svc-rbf-many": (scaled(SVC(break_ties=True)), "wine"),
    "svc-poly": (scaled(SVC(kernel="poly", degree=2, coef0=1)), "iris"),
    "svc-sigmoid": (scaled(SVC(kernel="sigmoid")), "wine"),
    "nu-svc": (scaled(NuSVC()), "iris"),
    "svr": (scaled(SVR(C=10)), "diabetes"),
    "nu-svr": (scaled(NuSVR(kernel="poly")), "diabetes"),
    "one-class": (scaled(OneClassSVM(nu=0.2)), "iris"),
    "mlp": (scaled(MLPClassifier((8,), max_iter=300, random_state=0)), "wine"),
    "mlp-two": (scaled(MLPClassifier((6, 5), activation="tanh", max_iter=300, random_state=0)), "tumours"),
    "mlp-regressor": (scaled(MLPRegressor(hidden_layer_sizes=(6,), activation="logistic", max_iter=100, random_state=0)), "diabetes"),
    "k-means": (scaled(KMeans(3, n_init=2, random_state=0)), "iris"),
    "mini-batch": (MiniBatchKMeans(4, n_init=2, random_state=0), "iris"),
    "nearest-centroid": (NearestCentroid(), "iris"),
    "nearest-centroid-priors": (NearestCentroid(priors=[0.2, 0.3, 0.5]), "iris"),
    "mixture-full": (GaussianMixture(3, random_state=0), "iris"),
    "mixture-tied": (GaussianMixture(3, covariance_type="tied", random_state=0), "iris"),
    "mixture-diag": (GaussianMixture(3, covariance_type="diag", random_state=0), "iris"),
    "mixture-spherical": (GaussianMixture(3, covariance_type="spherical", random_state=0), "iris"),
    "standard": (StandardScaler(), "tumours"),
    "standard-no-mean": (StandardScaler(with_mean=False), "wine"),
    "standard-no-deviation": (StandardScaler(with_std=False), "wine"),
    "min-max": (MinMaxScaler((-1, 1)), "digits"),
    "max-abs": (MaxAbsScaler(), "digits"),
    "robust": (RobustScaler(), "wine"),
    "normalizer": (Normalizer(), "wine"),
    "normalizer-l1": (Normalizer("l1"), "iris"),
    "select": (SelectKBest(k=5), "wine"),
    "variance": (VarianceThreshold(0.2), "iris"),
    "from-model": (SelectFromModel(Ridge()), "diabetes"),
    "rfe": (RFE(Ridge(), n_features_to_select=4), "diabetes"),
    "imputer": (make_pipeline(SimpleImputer(), PCA(2)), "iris"),
    "pca": (PCA(5), "digits"),
    "pca-whiten": (PCA(3, whiten=True), "iris"),
    "incremental": (IncrementalPCA(4), "wine"),
    "svd": (TruncatedSVD(4, random_state=0), "digits"),
    "ica": (FastICA(3, random_state=0), "iris"),
    "factors": (FactorAnalysis(2, random_state=0), "iris"),
    "polynomial": (PolynomialFeatures(3), "iris"),
    "interactions": (PolynomialFeatures(2, interaction_only=True, include_bias=False), "wine"),
    "polynomial-ridge": (scaled(PolynomialFeatures(2), Ridge()), "diabetes"),
    "nystroem": (scaled(Nystroem(n_components=20, random_state=0), LogisticRegression()), "wine"),
    "rbf-sampler": (scaled(RBFSampler(n_components=30, random_state=0), LogisticRegression()), "iris"),
    "cosines": (make_pipeline(FunctionTransformer(np.cos), Ridge()), "iris"),
    "identity": (make_pipeline(FunctionTransformer(), "passthrough", Ridge()), "iris"),
    "columns": (
        make_pipeline(
            ColumnTransformer([("a", StandardScaler(), [0, 2]), ("b", "drop", [1]), ("c", MinMaxScaler(), slice(3, 5))],
                              remainder="passthrough"),
            Ridge()), "diabetes",
    ),
    "union": (
        make_pipeline(FeatureUnion([("p", PCA(2)), ("s", SelectKBest(k=2)), ("all", "passthrough")],
                                   transformer_weights={"p": 3.0}), LogisticRegression(max_iter=1000)), "iris",
    ),
    "grid": (GridSearchCV(scaled(Ridge()), {"ridge__alpha": [0.1, 1]}, cv=2), "diabetes"),
    "target": (TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.exp), "diabetes"),
    "target-scaled": (TransformedTargetRegressor(Ridge(), transformer=StandardScaler()), "diabetes"),
    "voting": (
        VotingClassifier([("lr", scaled(LogisticRegression())), ("nb", GaussianNB())], voting="soft", weights=[2, 1]),
        "named",
    ),
    "voting-two": (VotingClassifier([("a", scaled(LogisticRegression())), ("b", scaled(LogisticRegression(C=0.1)))],
                                    voting="soft"), "tumours"),
    "voting-regressor": (VotingRegressor([("a", Ridge()), ("b", scaled(SVR()))], weights=[1, 3]), "diabetes"),
    "bagging": (BaggingClassifier(LogisticRegression(max_iter=1000), 3, max_features=3, random_state=0), "named"),
    "bagging-regressor": (BaggingRegressor(Ridge(), 4, max_features=6, random_state=0), "diabetes"),
    "one-vs-rest": (OneVsRestClassifier(scaled(SVC())), "named"),
    "one-vs-rest-nb": (OneVsRestClassifier(GaussianNB()), "iris"),
    "one-vs-rest-two": (OneVsRestClassifier(scaled(LogisticRegression())), "tumours"),
    "one-vs-one": (OneVsOneClassifier(scaled(LinearSVC(random_state=0))), "named"),
    "calibrated": (CalibratedClassifierCV(scaled(LinearSVC(random_state=0)), cv=3), "tumours"),
    "calibrated-many": (CalibratedClassifierCV(GaussianNB(), cv=2), "named"),
    "calibrated-svc": (CalibratedClassifierCV(scaled(SVC()), ensemble=False, cv=2), "wine"),
    "stacking": (StackingRegressor([("a", Ridge()), ("b", scaled(LinearSVR(random_state=0)))], Ridge(), cv=2),
                 "diabetes"),
    "stacking-classifier": (
        StackingClassifier([("a", scaled(LogisticRegression())), ("b", scaled(LinearSVC(random_state=0)))], cv=2,
                           passthrough=True), "named",
    ),
}  # fmt: skip


_SEED: dict[str, Any] = {"random_state": 0}
TREES: dict[str, tuple[Any, str]] = {
    "tree": (DecisionTreeClassifier(max_depth=3, **_SEED), "named"),
    "tree-scaled": (scaled(DecisionTreeClassifier(max_depth=4, **_SEED)), "wine"),
    "tree-regressor": (DecisionTreeRegressor(max_depth=4, **_SEED), "diabetes"),
    "extra-tree": (ExtraTreeClassifier(max_depth=5, **_SEED), "iris"),
    "forest": (RandomForestClassifier(8, max_depth=4, **_SEED), "tumours"),
    "forest-regressor": (RandomForestRegressor(5, max_depth=3, **_SEED), "diabetes"),
    "extra-trees": (ExtraTreesClassifier(6, max_depth=4, **_SEED), "named"),
    "extra-trees-regressor": (ExtraTreesRegressor(5, max_depth=4, **_SEED), "diabetes"),
    "boosting": (GradientBoostingClassifier(n_estimators=6, max_depth=2, **_SEED), "wine"),
    "boosting-two": (GradientBoostingClassifier(n_estimators=8, max_depth=2, **_SEED), "tumours"),
    "boosting-regressor": (GradientBoostingRegressor(n_estimators=10, max_depth=2, **_SEED), "diabetes"),
    "histogram": (HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=5), "iris"),
    "histogram-two": (HistGradientBoostingClassifier(max_iter=6, max_leaf_nodes=5), "tumours"),
    "histogram-regressor": (HistGradientBoostingRegressor(max_iter=8, max_leaf_nodes=6), "diabetes"),
    "histogram-poisson": (HistGradientBoostingRegressor(loss="poisson", max_iter=5, max_leaf_nodes=6), "counts"),
    "ada": (AdaBoostClassifier(n_estimators=6, **_SEED), "iris"),
    "ada-two": (AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=4, **_SEED), "tumours"),
    "isolation": (IsolationForest(n_estimators=4, max_samples=32, max_features=3, **_SEED), "iris"),
    "bagged-trees": (BaggingClassifier(DecisionTreeClassifier(max_depth=2), 3, max_features=3, **_SEED), "iris"),
}


@cache
def fitted(name: str) -> Any:
    """An estimator of CASES, fitted."""
    estimator, of = (CASES | TREES)[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(estimator).fit(*data(of))


def multi_output() -> Any:
    """A regressor of two targets."""
    x, y = data("diabetes")
    return MultiOutputRegressor(Ridge()).fit(x, np.stack([y, y**2], axis=1))
