"""Twenty pipelines as people have them, each with the table that it is fitted on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import LinearSVC

from bench.pipelines import frames

SEED, TRAINED, ASKED = 7, 1000, 500


@dataclass(frozen=True)
class Case:
    """A pipeline and its data.

    table    rows and labels, of a generator and a count
    make     the pipeline, unfitted
    method   that is imported
    options  of the import;  compiled  of the compilation
    """

    table: Callable[[np.random.Generator, int], frames.Table]
    make: Callable[[], Any]
    method: str = "predict"
    options: dict[str, Any] = field(default_factory=dict)
    compiled: dict[str, Any] = field(default_factory=dict)

    @property
    def has_trees(self) -> bool:
        """Whether it compares by signs."""
        return "trees" in self.options


def _filled(strategy: str = "median", **more: Any) -> Any:
    return make_pipeline(SimpleImputer(strategy=strategy, **more), StandardScaler())


def _named(most: str = "ignore", **more: Any) -> Any:
    return make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown=most, **more))


def _titanic(last: Any) -> Any:
    parts = [("num", _filled(), ["Age", "Fare", "SibSp", "Parch"]), ("cat", _named(), ["Sex", "Embarked", "Pclass"])]
    return Pipeline([("prepare", ColumnTransformer(parts)), ("classify", last)])


def _titanic_ordinal(last: Any) -> Any:
    coded = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1)
    parts = [("cat", coded, ["Sex", "Embarked"]), ("num", SimpleImputer(), ["Age", "Fare", "SibSp", "Pclass"])]
    return Pipeline([("prepare", ColumnTransformer(parts)), ("classify", last)])


def _credit() -> Any:
    kept = make_column_selector(dtype_exclude="number")
    numbers = make_column_selector(dtype_include="number")
    return make_pipeline(
        make_column_transformer(
            (OneHotEncoder(drop="first", handle_unknown="ignore"), kept), (StandardScaler(), numbers)
        ),
        LogisticRegression(max_iter=2000),
    )


def _churn() -> Any:
    names = ["gender", "Partner", "InternetService", "Contract", "PaymentMethod"]
    prepare = ColumnTransformer(
        [
            ("cat", OneHotEncoder(handle_unknown="ignore"), names),
            ("gaps", SimpleImputer(add_indicator=True), ["TotalCharges"]),
            ("drop", "drop", ["customerID"]),
        ],
        remainder="passthrough",
    )
    return make_pipeline(prepare, StandardScaler(), LinearSVC(random_state=SEED))


def _churn_searched() -> Any:
    prepare = ColumnTransformer(
        [
            ("cat", _named(drop="if_binary"), ["gender", "Contract", "PaymentMethod"]),
            ("num", _filled("mean"), ["tenure", "TotalCharges"]),
        ]
    )
    steps = Pipeline([("prepare", prepare), ("classify", SGDClassifier(loss="log_loss", random_state=SEED))])
    return GridSearchCV(steps, {"classify__alpha": [1e-3, 1e-2]}, cv=2)


def _houses() -> Any:
    log = make_pipeline(FunctionTransformer(np.log1p), StandardScaler())
    prepare = ColumnTransformer(
        [
            ("log", log, ["GrLivArea"]),
            ("num", _filled(), ["OverallQual", "YearBuilt", "LotFrontage", "Fireplaces"]),
            (
                "cat",
                make_pipeline(
                    SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder(handle_unknown="ignore")
                ),
                ["Neighborhood", "GarageType", "CentralAir"],
            ),
            ("kitchen", OrdinalEncoder(categories=[["Fa", "TA", "Gd", "Ex"]]), ["KitchenQual"]),
        ]
    )
    return make_pipeline(prepare, Ridge())


def _rides() -> Any:
    months = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ]
    prepare = ColumnTransformer(
        [
            ("days", OneHotEncoder(handle_unknown="ignore"), ["season", "weekday", "hour", "weather", "holiday"]),
            ("month", OrdinalEncoder(categories=[months]), ["month"]),
            ("num", _filled("mean"), ["temp", "humidity"]),
        ]
    )
    return make_pipeline(prepare, Ridge(alpha=0.1))


def _claims() -> Any:
    log = make_pipeline(FunctionTransformer(np.log), StandardScaler())
    binned = KBinsDiscretizer(n_bins=8, quantile_method="linear", subsample=None, random_state=SEED)
    prepare = ColumnTransformer(
        [
            ("binned", binned, ["VehAge", "DrivAge"]),
            ("log", log, ["Density"]),
            ("cat", OneHotEncoder(), ["VehBrand", "VehPower", "VehGas", "Area"]),
            ("num", StandardScaler(), ["BonusMalus"]),
        ]
    )
    return make_pipeline(prepare, PoissonRegressor(alpha=1e-2, max_iter=500))


def _visitors(last: Any) -> Any:
    prepare = ColumnTransformer(
        [
            ("zip", TargetEncoder(), ["zip", "page"]),
            ("device", OneHotEncoder(), ["device"]),
            ("num", StandardScaler(), ["seconds", "visits"]),
        ]
    )
    return make_pipeline(prepare, last)


def _rare() -> Any:
    rare = OneHotEncoder(min_frequency=15, max_categories=20, handle_unknown="infrequent_if_exist")
    return make_pipeline(ColumnTransformer([("cat", rare, ["zip", "page", "device"])]), LogisticRegression())


def _chosen() -> Any:
    prepare = ColumnTransformer(
        [("cat", _named(), ["checking_status", "purpose", "employment", "housing"])], remainder="drop"
    )
    return make_pipeline(prepare, SelectKBest(chi2, k=10), StandardScaler(with_mean=False), RidgeClassifier())


def _binned() -> Any:
    both = FeatureUnion([("pca", PCA(2, random_state=SEED)), ("best", SelectKBest(k=3))])
    numbers = make_pipeline(SimpleImputer(), StandardScaler(), both)
    bins = make_pipeline(SimpleImputer(), KBinsDiscretizer(5, encode="onehot-dense", quantile_method="linear"))
    prepare = ColumnTransformer(
        [
            ("num", numbers, ["Age", "Fare", "SibSp", "Parch", "Pclass"]),
            ("bins", bins, ["Age", "Fare"]),
            ("sex", OneHotEncoder(drop="if_binary"), ["Sex"]),
        ]
    )
    return make_pipeline(prepare, LogisticRegression(max_iter=2000))


def _tickets() -> Any:
    beside = ColumnTransformer(
        [("cat", _named(), ["channel", "plan"]), ("num", _filled(add_indicator=True), ["age_days"])]
    )
    prepare = ColumnTransformer(
        [
            ("text", TfidfVectorizer(max_features=200, sublinear_tf=True), "subject"),
            ("rest", beside, ["channel", "plan", "age_days"]),
        ]
    )
    return make_pipeline(prepare, LogisticRegression(max_iter=2000))


def _signs(gap: float = 2.0**-7) -> dict[str, Any]:
    return {"trees": "sign", "gap": gap}


CASES: dict[str, Case] = {
    "titanic, logistic regression": Case(frames.passengers, lambda: _titanic(LogisticRegression()), "predict_proba"),
    "titanic, network": Case(
        frames.passengers,
        lambda: _titanic(MLPClassifier((16,), activation="tanh", alpha=0.1, max_iter=500, random_state=SEED)),
    ),
    "titanic, bins and a union": Case(frames.passengers, _binned),
    "titanic, gradient boosting": Case(
        frames.passengers,
        lambda: _titanic_ordinal(GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=SEED)),
        options=_signs(),
    ),
    "titanic, random forest": Case(
        frames.passengers,
        lambda: _titanic_ordinal(RandomForestClassifier(8, max_depth=3, random_state=SEED)),
        options=_signs(2.0**-11),
    ),
    "churn, histogram boosting": Case(
        frames.subscribers,
        lambda: make_pipeline(
            make_column_transformer(
                (OrdinalEncoder(), ["Contract", "InternetService"]), (SimpleImputer(), ["tenure", "MonthlyCharges"])
            ),
            HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=6, random_state=SEED),
        ),
        options=_signs(),
    ),
    "credit, dropped categories": Case(frames.borrowers, _credit, "predict_proba"),
    "credit, chosen categories": Case(frames.borrowers, _chosen),
    "churn, support vectors": Case(frames.subscribers, _churn),
    "churn, searched": Case(frames.subscribers, _churn_searched, "predict_proba"),
    "houses, ridge": Case(frames.houses, _houses),
    "rides by calendar, ridge": Case(frames.rides, _rides),
    "claims, Poisson": Case(frames.claims, _claims),
    "visitors, target encoding": Case(frames.visitors, lambda: _visitors(LogisticRegression()), "predict_proba"),
    "visitors, rare categories": Case(frames.visitors, _rare),
    "reviews, tf-idf": Case(
        frames.reviews, lambda: make_pipeline(TfidfVectorizer(max_features=300), LogisticRegression()), "predict_proba"
    ),
    "reviews, pairs of words": Case(
        frames.reviews,
        lambda: make_pipeline(
            CountVectorizer(ngram_range=(1, 2), min_df=5, max_features=400, stop_words="english"),
            TfidfTransformer(),
            LinearSVC(),
        ),
    ),
    "news, hashes": Case(frames.news, lambda: make_pipeline(HashingVectorizer(n_features=256), RidgeClassifier())),
    "news, components": Case(
        frames.news,
        lambda: make_pipeline(
            TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), max_features=300),
            TruncatedSVD(20, random_state=SEED),
            LogisticRegression(),
        ),
    ),
    "tickets, text and columns": Case(frames.tickets, _tickets, "predict_proba"),
}


def fitted(case: Case) -> tuple[Any, Any, Any]:
    """The pipeline, fitted; the rows that it was fitted on, and others to ask about."""
    rng = np.random.default_rng(SEED)
    rows, labels = case.table(rng, TRAINED + ASKED)
    order = rng.permutation(TRAINED + ASKED)
    known, asked = (_take(rows, part) for part in (order[:TRAINED], order[TRAINED:]))
    return case.make().fit(known, np.asarray(labels)[order[:TRAINED]]), known, asked


def _take(rows: Any, places: Any) -> Any:
    return [rows[i] for i in places] if isinstance(rows, list) else rows.iloc[places]


def import_case(case: Case, pipeline: Any, known: Any) -> Any:
    """The pipeline's method as a program."""
    import latticework as lw

    return lw.from_sklearn(pipeline, case.method, **case.options, **({"samples": known} if case.has_trees else {}))
