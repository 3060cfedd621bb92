"""Estimators on raw tables: texts, categories and missing cells stay with the owner; scikit-learn is the oracle."""

import numpy as np
import pytest

import latticework as lw
from latticework.errors import ColumnsError, DtypeError, RangeError, ShapeError, UnsupportedError
from latticework.models.sklearn.table import FAMILIES
from latticework.plan.files.serialise import read_client, write_client

pd = pytest.importorskip("pandas")
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer  # noqa: E402
from sklearn.decomposition import PCA, TruncatedSVD  # noqa: E402
from sklearn.ensemble import GradientBoostingClassifier  # noqa: E402
from sklearn.feature_extraction.text import (  # noqa: E402
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest, VarianceThreshold  # noqa: E402
from sklearn.impute import MissingIndicator, SimpleImputer  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union  # noqa: E402
from sklearn.preprocessing import (  # noqa: E402
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
    TargetEncoder,
)

RNG = np.random.default_rng(0)
COUNT = 120
WORDS = np.array(["good", "bad", "fine", "awful", "day", "thing", "very", "not", "you", "it", "was", "a", "the"])


def column_of_texts(count=COUNT):
    return [" ".join(RNG.choice(WORDS, RNG.integers(1, 8))) for _ in range(count)]


def with_gaps(values, gap=np.nan):
    made = np.asarray(values, dtype=object)
    made[RNG.uniform(size=len(made)) < 0.15] = gap
    return made


FRAME = pd.DataFrame(
    {
        "age": with_gaps(RNG.normal(40, 10, COUNT).round(1)).astype(float),
        "sex": RNG.choice(["m", "f"], COUNT),
        "port": with_gaps(RNG.choice(["S", "C", "Q"], COUNT), None),
        "fare": RNG.gamma(2, 15, COUNT).round(2),
        "rooms": RNG.integers(1, 5, COUNT),
        "paid": RNG.uniform(size=COUNT) < 0.5,
        "town": RNG.choice([f"t{i}" for i in range(12)], COUNT, p=np.arange(1, 13) / 78),
        "kind": pd.Categorical(with_gaps(RNG.choice(["p", "q"], COUNT))),
        "note": column_of_texts(),
    }
)
FRAME["port"] = FRAME["port"].astype(object)
CLASSES = (FRAME.fare + 20 * FRAME.paid + RNG.normal(0, 5, COUNT) > 40).astype(int)
NUMBERS = ["age", "fare", "rooms"]
SMALL = {"ring_degree": 2048, "insecure": True, "progress": False, "precision_bits": 8}


def columns(*pairs, **more):
    return ColumnTransformer([(f"t{i}", part, names) for i, (part, names) in enumerate(pairs)], **more)


def fronts():
    fill = SimpleImputer()
    yield (
        "titanic",
        columns(
            (make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler()), ["age", "fare"]),
            (
                make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")),
                ["sex", "kind"],
            ),
        ),
    )
    yield "missing as a category", columns((OneHotEncoder(), ["port", "kind", "paid", "rooms"]))
    yield (
        "infrequent",
        columns((OneHotEncoder(min_frequency=10, handle_unknown="infrequent_if_exist"), ["town", "sex"])),
    )
    yield "dropped", columns((OneHotEncoder(drop="first", max_categories=5, handle_unknown="ignore"), ["town", "sex"]))
    yield "if binary", columns((OneHotEncoder(drop="if_binary"), ["sex", "port", "paid"]))
    yield (
        "ordinal",
        columns(
            (
                OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
                ["port", "town"],
            ),
            (OrdinalEncoder(categories=[["f", "m"]]), ["sex"]),
            (OrdinalEncoder(min_frequency=10), ["town"]),
        ),
    )
    yield "ordinal, then filled in", columns((make_pipeline(OrdinalEncoder(), fill), ["kind", "sex"]))
    yield (
        "unknown, then filled in",
        columns(
            (
                make_pipeline(
                    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan), SimpleImputer()
                ),
                ["town"],
            )
        ),
    )
    yield "target", columns((TargetEncoder(), ["town", "port"]), remainder="drop")
    yield (
        "bins",
        columns(
            (KBinsDiscretizer(4, encode="onehot", quantile_method="linear"), ["fare"]),
            (KBinsDiscretizer(3, encode="ordinal", strategy="uniform"), ["fare"]),
            (make_pipeline(fill, Binarizer(threshold=40)), ["age"]),
        ),
    )
    yield "scaled, then filled in", columns((make_pipeline(StandardScaler(), SimpleImputer(), PCA(2)), NUMBERS))
    yield "marks alone", columns((MissingIndicator(), ["age", "kind"]), (fill, NUMBERS))
    yield "text", columns((TfidfVectorizer(ngram_range=(1, 2), stop_words=["the"], min_df=2), "note"), (fill, NUMBERS))
    yield "hashed text", columns((HashingVectorizer(n_features=32, analyzer="char_wb", ngram_range=(2, 3)), "note"))
    yield (
        "nested",
        columns(
            (
                columns(
                    (
                        make_pipeline(
                            fill, columns((StandardScaler(), [1]), (KBinsDiscretizer(3, quantile_method="linear"), [0]))
                        ),
                        ["age", "fare"],
                    ),
                    (OneHotEncoder(), ["sex"]),
                ),
                ["sex", "age", "fare"],
            ),
            (TargetEncoder(), ["town"]),
        ),
    )
    yield (
        "selectors",
        make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="float")),
            (OneHotEncoder(handle_unknown="ignore"), make_column_selector(pattern="sex|port")),
            ("passthrough", ["rooms"]),
        ),
    )
    yield (
        "remainder",
        make_pipeline(
            columns(
                (OneHotEncoder(), ["sex"]),
                ("drop", ["port", "kind", "note", "town"]),
                (fill, ["age"]),
                remainder="passthrough",
            ),
        ),
    )
    yield (
        "after one-hot",
        make_pipeline(
            columns((OneHotEncoder(), ["sex", "town"]), (fill, ["age"])),
            StandardScaler(with_mean=False),
            VarianceThreshold(),
            SelectKBest(k=6),
        ),
    )
    yield (
        "functions",
        columns(
            (make_pipeline(fill, FunctionTransformer(np.log1p)), ["age"]),
            (Normalizer(), ["fare", "rooms"]),
            (OneHotEncoder(), ["sex"]),
        ),
    )
    yield (
        "union",
        make_pipeline(
            columns((fill, NUMBERS)),
            FeatureUnion(
                [
                    ("bins", KBinsDiscretizer(3, quantile_method="linear")),
                    ("max", MaxAbsScaler()),
                    ("all", "passthrough"),
                ]
            ),
        ),
    )


FRONTS = dict(fronts())


@pytest.mark.parametrize("name", FRONTS)
def test_decisions_are_scikit_learns_in_the_clear(name):
    fitted = make_pipeline(FRONTS[name], LogisticRegression(max_iter=2000)).fit(FRAME, CLASSES)
    program = lw.from_sklearn(fitted, "predict_proba")
    np.testing.assert_allclose(program(FRAME), fitted.predict_proba(FRAME), atol=1e-12)
    some = FRAME[list(FRAME.columns[::-1])].iloc[3:7]  # columns in another order, which a bare encoder refuses
    np.testing.assert_allclose(program(some), fitted.predict_proba(FRAME.iloc[3:7]), atol=1e-12)
    assert program.owner.before and {node.operator for node in program.graph.nodes} <= {"linear", "columns", "scale"}


TEXTS = column_of_texts()


TEXT_FRONTS = {
    "counts": CountVectorizer(binary=True),
    "weights": make_pipeline(CountVectorizer(), TfidfTransformer(sublinear_tf=True)),
    "union": make_union(
        TfidfVectorizer(analyzer="char", ngram_range=(1, 2), max_features=40), HashingVectorizer(n_features=16)
    ),
    "svd": make_pipeline(TfidfVectorizer(), TruncatedSVD(4, random_state=0)),
}


def test_every_encoder_is_tried():
    tried = repr([*FRONTS.values(), *TEXT_FRONTS.values()])
    assert all(f"{name}(" in tried for entry in FAMILIES["encoders, imputers and vectorizers"] for name in entry.names)


@pytest.mark.parametrize("name", TEXT_FRONTS)
def test_texts_are_rows(name):
    fitted = make_pipeline(TEXT_FRONTS[name], LogisticRegression()).fit(TEXTS, CLASSES)
    program = lw.from_sklearn(fitted, "decision_function")
    for given in (TEXTS, pd.Series(TEXTS), np.array(TEXTS), np.array(TEXTS, dtype=object)[:, None]):
        np.testing.assert_allclose(program(given), fitted.decision_function(TEXTS), atol=1e-12)
    with pytest.raises(RangeError, match="row 1, column 0 is no text"):
        program(["good", None])


def test_a_client_takes_frames_and_dictionaries_and_names_what_it_refuses(tmp_path):
    front = columns(
        (SimpleImputer(), ["age"]), ("passthrough", ["fare"]), (OneHotEncoder(handle_unknown="ignore"), ["sex", "rooms"]),
        (OneHotEncoder(), ["town"]),
    )  # fmt: skip
    fitted = make_pipeline(front, LogisticRegression(max_iter=2000)).fit(FRAME, CLASSES)
    model = lw.compile(lw.from_sklearn(fitted, "predict"), calibrate=FRAME, **SMALL)
    model.client(allow_insecure=True).save(tmp_path / "a.lwclient")
    client = lw.Client.load(tmp_path / "a.lwclient", allow_insecure=True, threads=1)
    server = model.server(client.keygen().public(), threads=1)
    rows = FRAME.iloc[:9]
    wanted = fitted.predict(rows)
    used = ["age", "sex", "fare", "rooms", "town"]
    for given in (
        rows,
        rows[used[::-1]],
        rows.to_dict("records"),
        rows[used].to_numpy(dtype=object),
        rows.assign(more=1),
    ):
        np.testing.assert_array_equal(client.decrypt(server(client.encrypt(given))).reveal(), wanted)
    assert (model.plaintext(rows) == wanted).all()
    unknown = rows.assign(sex="x")
    np.testing.assert_array_equal(client.decrypt(server(client.encrypt(unknown))).reveal(), fitted.predict(unknown))
    with pytest.raises(ColumnsError, match="missing: sex, town"):
        client.encrypt(rows.drop(columns=["sex", "town"]))
    with pytest.raises(ColumnsError, match="row 1, has other columns.*missing: fare"):
        client.encrypt([rows.iloc[0].to_dict(), {k: 1 for k in used if k != "fare"}])
    with pytest.raises(ColumnsError, match="given twice: age"):
        client.encrypt(pd.concat([rows, rows[["age"]]], axis=1))
    for name, value, why in (
        ("town", "nowhere", "is none of the categories"),
        ("town", np.nan, "is none of the categories"),
        ("town", 3, "is of another type than the categories"),
        ("rooms", "3", "is of another type than the categories"),
        ("fare", np.nan, "is missing, and no step of the model fills it in"),
        ("fare", "12.5", "is no number"),
        ("age", "old", "is no number"),
        ("age", np.inf, "is no finite number"),
        ("fare", pd.Timestamp("2026-01-01"), "is no number"),
    ):
        wrong = rows.astype({name: object})
        wrong.loc[4, name] = value
        place = f"row 4, column {['age', 'sex', 'fare', 'rooms', 'town'].index(name)} \\({name}\\) {why}"
        with pytest.raises(RangeError, match=place):
            client.encrypt(wrong)
        checked = client.check(wrong)
        assert checked.rows == (4,)
    kept = client.decrypt(server(client.encrypt(checked.kept()))).reveal()
    np.testing.assert_array_equal(kept, np.delete(wanted, 4))
    with pytest.raises(ShapeError, match=r"\(9, 9\)"):
        client.encrypt(rows.to_numpy())


def test_trees_compare_what_the_owner_makes():
    front = columns((OrdinalEncoder(), ["town", "sex"]), (SimpleImputer(), ["age", "fare"]))
    fitted = make_pipeline(front, GradientBoostingClassifier(n_estimators=3, max_depth=2)).fit(FRAME, CLASSES)
    program = lw.from_sklearn(fitted, "predict", trees="sign", samples=FRAME, gap=2.0**-8)
    kept = program.keeps_apart(FRAME, everywhere=False)
    assert (program(FRAME) == fitted.predict(FRAME))[kept].all() and kept.mean() > 0.5
    with pytest.raises(lw.UserError, match="missing"):
        lw.from_sklearn(fitted, "predict", trees="sign", samples=FRAME.drop(columns="age"))


def test_what_the_owner_cannot_compute_is_refused():
    numbers = FRAME[["fare", "rooms"]]
    for fitted, why in (
        (
            make_pipeline(StandardScaler(), KBinsDiscretizer(3, quantile_method="linear"), Ridge()),
            "compares numbers that steps before it compute",
        ),
        (make_pipeline(PCA(2), OneHotEncoder(handle_unknown="ignore"), Ridge()), "compares numbers that steps before"),
    ):
        with pytest.raises(UnsupportedError, match=why):
            lw.from_sklearn(fitted.fit(numbers, CLASSES))
    texts = (
        (CountVectorizer(token_pattern=r"(a+)+"), "none of those that are known to end"),
        (CountVectorizer(analyzer=str.split), "analyzer=split is not supported"),
        (CountVectorizer(tokenizer=str.split, token_pattern=None), "tokenizer makes terms by a function"),
        (HashingVectorizer(), "makes 1048576 columns"),
    )
    for vectorizer, why in texts:
        with pytest.raises(UnsupportedError, match=why):
            lw.from_sklearn(make_pipeline(vectorizer, Ridge()).fit([*TEXTS[:9], "aaa"], range(10)))
    dates = pd.DataFrame({"day": pd.date_range("2026-01-01", periods=4)})
    with pytest.raises(UnsupportedError, match="no names or numbers that can be kept"):
        lw.from_sklearn(make_pipeline(OneHotEncoder(), Ridge()).fit(dates, range(4)))


def test_arrays_of_numbers_with_gaps():
    x = RNG.normal(size=(60, 3))
    x[RNG.uniform(size=x.shape) < 0.2] = np.nan
    fitted = make_pipeline(SimpleImputer(), StandardScaler(), Ridge()).fit(x, np.arange(60))
    program = lw.from_sklearn(fitted)
    np.testing.assert_allclose(program(x), fitted.predict(x), atol=1e-9)
    model = lw.compile(program, calibrate=x, **SMALL)
    assert read_client(write_client(model.plan.client)).owner == model.plan.client.owner
    assert np.abs(model.simulate(x[:4]) - fitted.predict(x[:4])).max() < 0.5
    marked = np.where(np.isnan(x), -1, x)
    fitted = make_pipeline(SimpleImputer(missing_values=-1), Ridge()).fit(marked, np.arange(60))
    np.testing.assert_allclose(lw.from_sklearn(fitted)(marked), fitted.predict(marked), atol=1e-9)
    with pytest.raises((RangeError, DtypeError), match="no finite number"):
        lw.from_sklearn(fitted)(x)


def test_what_steps_can_make_is_accepted_even_if_no_row_of_calibration_has_it():
    """A category, a term or a bin that is rare is in no sample, and is no reason to refuse a row."""
    front = columns(
        (OneHotEncoder(), ["town"]), (OrdinalEncoder(), ["town"]), (TfidfVectorizer(), "note"), ("passthrough", ["fare"]),
        (KBinsDiscretizer(4, encode="ordinal", quantile_method="linear"), ["fare"]), (MissingIndicator(), ["age"]),
    )  # fmt: skip
    fitted = make_pipeline(front, LogisticRegression(max_iter=5000)).fit(FRAME, CLASSES)
    program = lw.from_sklearn(fitted, "predict_proba")
    few = FRAME[~FRAME.town.isin(["t10", "t11"]) & FRAME.age.notna()]
    model = lw.compile(program, calibrate=few, **SMALL)
    asked = FRAME[FRAME.fare.between(few.fare.min(), few.fare.max())]
    assert asked.town.isin(["t10", "t11"]).any() and model.client(allow_insecure=True).check(asked).fits
    assert np.abs(model.simulate(asked) - fitted.predict_proba(asked)).max() < 0.05
    low, high = program.owner.image_of("x")
    made = program.owner.before[0].pieces[0].steps[0].apply(program.with_columns_in_order(FRAME).to_numpy(dtype=object))
    assert (made >= low).all() and (made <= high).all() and np.isfinite(low).sum() == made.shape[1] - 1
