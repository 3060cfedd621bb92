"""Estimators compiled without data: a warning where ranges are guesses, none where the owner's steps bound them."""

import warnings

import numpy as np
import pytest

import latticework as lw
from latticework.errors import RangeError, RangeWarning

pd = pytest.importorskip("pandas")
pytest.importorskip("sklearn")
from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler  # noqa: E402

SMALL = {"ring_degree": 2048, "insecure": True, "progress": False, "precision_bits": 8}
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"income": RNG.normal(3000, 900, 80), "job": RNG.choice(["nurse", "driver", "pilot"], 80)})
LABELS = np.where((FRAME.job == "nurse") ^ (FRAME.income > 3000), "pays", "fails")
GUESSED = {
    "scaler": (StandardScaler(), FRAME[["income"]]),
    "mixed": (ColumnTransformer([("a", StandardScaler(), ["income"]), ("b", OneHotEncoder(), ["job"])]), FRAME),
    "codes": (ColumnTransformer([("a", OneHotEncoder(), ["job"]), ("b", OrdinalEncoder(), ["job"])]), FRAME),
    "counts": (CountVectorizer(), FRAME.job),
}
BOUNDED = {
    "one-hot": (ColumnTransformer([("a", OneHotEncoder(), ["job"])]), FRAME),
    "tf-idf": (TfidfVectorizer(), FRAME.job),
}


def program(first, data):
    return lw.from_sklearn(make_pipeline(first, LogisticRegression()).fit(data, LABELS))


@pytest.mark.parametrize("name", GUESSED)
def test_guesses_are_said(name):
    first, data = GUESSED[name]
    with pytest.warns(RangeWarning, match=r"without calibrate= .* between -1 and 1.*beyond 1\.2\); give calibrate="):
        lw.compile(program(first, data), **SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.compile(program(first, data), calibrate=data, **SMALL)


@pytest.mark.parametrize("name", BOUNDED)
def test_what_the_estimator_bounds_needs_no_data(name):
    first, data = BOUNDED[name]
    made = program(first, data)
    model = lw.compile(made, **SMALL)  # a warning would be an error
    assert model.client(allow_insecure=True).check(data).fits
    assert np.array_equal(model.simulate(data)[0], made(data))


def test_a_row_far_outside_is_refused_and_never_computed():
    made = program(*GUESSED["scaler"])
    with pytest.warns(RangeWarning):
        client = lw.compile(made, **SMALL).client(allow_insecure=True)
    client.keygen()
    for far in (3000.0, -1e9, 1.3):
        with pytest.raises(RangeError, match=r"is outside -1\.2 to 1\.2"):
            client.encrypt(pd.DataFrame({"income": [far]}))
    client.encrypt(pd.DataFrame({"income": [1.1]}))


def test_programs_and_quotes_say_what_they_said_before():
    @lw.program
    def double(x: lw.Secret[4]):
        return 2 * x

    lw.compile(double, **SMALL)
    assert lw.quote(program(*GUESSED["scaler"]), seconds=60, **SMALL).prices
