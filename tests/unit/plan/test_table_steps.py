"""Steps on cells of raw tables: what they make is scikit-learn's, cells are told apart as there, files are checked."""

import random

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder

from latticework.errors import FormatError
from latticework.plan.client_steps import (
    Affine,
    Beside,
    Bins,
    Columns,
    Fill,
    HashedTerms,
    IsMissing,
    Labels,
    LogCounts,
    LookUp,
    Missing,
    Numbers,
    OneHot,
    OwnerArray,
    Softmax,
    Terms,
    TextAnalysis,
)
from latticework.plan.client_steps.step import OwnerStep, UnfitValueError
from latticework.plan.client_steps.text_analysis import PATTERNS
from latticework.plan.files.codec import from_data, to_data

CODES = OwnerArray.of([0.0, 1.0])
NAN = float("nan")


def cells(*values):
    array = np.empty((len(values), 1), dtype=object)
    array[:, 0] = values
    return array


@pytest.mark.parametrize(
    ("fitted", "asked", "refused"),
    [
        (["1", "2"], ["1", "2", NAN, None, "nan", "None", "1.0", np.str_("2")], [1, 1.0, True]),
        ([1, 2], [1, 1.0, True, np.int32(2), NAN, 1.5, None], ["1", "one"]),
        ([True, False], [1, 0, np.bool_(True), 2], ["yes"]),
        ([0.5, 1e15], [0.5, np.float32(0.5), 10**15], ["0.5"]),
        (["a", NAN, None], ["a", NAN, None, "b", ""], [0, np.datetime64("2026-01-01")]),
        ([1.0, NAN], [1, NAN, 2], ["nan"]),
    ],
)
def test_cells_are_told_apart_as_by_an_encoder(fitted, asked, refused):
    """What has another type than all categories is refused: an encoder takes that for unknown, or fails, by its dtype."""
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    encoder.fit(cells(*fitted))
    places = dict(enumerate(encoder.categories_[0].tolist()))
    known = {float(i): c for i, c in places.items() if c is not None and c == c}
    none = [float(i) for i, c in places.items() if c is None]
    nan = -2.0 if any(c != c for c in fitted) else None
    step = LookUp(Labels.of(list(known.values())), OwnerArray.of(list(known)), -1.0, nan, *none)
    np.testing.assert_array_equal(step.apply(cells(*asked)), encoder.transform(cells(*asked)))
    if not any(isinstance(value, str) or value is None for value in [*fitted, *asked]):
        one, other = (np.array(values, dtype=np.float64)[:, None] for values in (fitted, asked))  # arrays of numbers
        np.testing.assert_array_equal(step.apply(other), encoder.fit(one).transform(other))
    for value in refused:
        with pytest.raises(UnfitValueError, match="of another type than the categories") as caught:
            step.apply(cells(asked[0], value))
        assert caught.value.unfit.tolist() == [[False], [True]]


def test_what_is_unknown_is_refused_at_its_place():
    step = LookUp(Labels.of(["a", "b"]), CODES)
    with pytest.raises(UnfitValueError, match="none of the categories a, b") as caught:
        step.apply(cells("a", "c", NAN))
    assert caught.value.unfit.tolist() == [[False], [True], [True]]
    blank = LookUp(Labels.of(["a", "b"]), CODES, blank=("unknown", "nan"))
    np.testing.assert_array_equal(blank.apply(cells("b", "c", NAN)), [[1], [NAN], [NAN]])
    with pytest.raises(UnfitValueError, match="another type"):
        step.apply(cells("a", {}))
    with pytest.raises(UnfitValueError, match="another type"):  # numbers that look like the texts
        OneHot(Labels.of(["1", "2"])).apply(np.array([1.0, 2.0]))


def test_missing_cells_are_filled_in_and_marked():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 3))
    x[rng.uniform(size=x.shape) < 0.3] = NAN
    imputer = SimpleImputer(strategy="median").fit(x)
    fill = Fill(OwnerArray.of(imputer.statistics_))
    np.testing.assert_array_equal(fill.apply(x), imputer.transform(x))
    mixed = np.where(np.isnan(x), None, x.astype(object))
    np.testing.assert_array_equal(fill.apply(mixed), imputer.transform(x))
    np.testing.assert_array_equal(IsMissing().apply(x), MissingIndicator(features="all").fit_transform(x))
    with pytest.raises(UnfitValueError, match="where nothing was"):
        IsMissing(never=(1,)).apply(x)
    marked = np.where(np.isnan(x), -1.0, x)
    np.testing.assert_array_equal(Fill(fill.numbers, (), Missing((), Labels.of([-1]))).apply(marked), fill.apply(x))
    with pytest.raises(UnfitValueError, match="no finite number"):
        Fill(fill.numbers, (), Missing((), Labels.of([-1]))).apply(x)
    with pytest.raises(UnfitValueError, match="is missing, and no step"):
        Numbers().apply(x)
    with pytest.raises(UnfitValueError, match="is no number"):
        Numbers().apply(cells("1.5"))
    assert np.isnan(Affine(OwnerArray.of(2.0), OwnerArray.of(1.0), True).apply(x)).sum() == np.isnan(x).sum()
    texts = Fill(None, ("S",), Missing(("nan",)))
    assert texts.apply(cells("a", NAN, None)).tolist() == [["a"], ["S"], [None]]


def test_bins_are_a_discretizers_at_their_edges_too():
    x = np.round(np.random.default_rng(1).normal(size=(200, 1)), 1)
    binner = KBinsDiscretizer(5, encode="ordinal", strategy="quantile", quantile_method="linear").fit(x)
    edges = binner.bin_edges_[0]
    asked = np.concatenate([x, edges[:, None], np.nextafter(edges, -9)[:, None], [[-9], [9]]])
    np.testing.assert_array_equal(Bins(OwnerArray.of(edges[1:-1])).apply(asked), binner.transform(asked))


def documents(count):
    random.seed(0)
    letters = "ab cde é ñ\t\nÅ 1_'-. AB"
    return ["".join(random.choice(letters) for _ in range(random.randint(0, 40))) for _ in range(count)]


@pytest.mark.parametrize("kind", ["word", "char", "char_wb"])
@pytest.mark.parametrize("lengths", [(1, 1), (1, 2), (2, 5), (7, 9)])
@pytest.mark.parametrize("accents", [None, "ascii", "unicode"])
def test_terms_are_those_of_vectorizers(kind, lengths, accents):
    texts = documents(40)
    options = {"analyzer": kind, "ngram_range": lengths, "strip_accents": accents}
    stop = ("ab", "cde") if kind == "word" else ()
    analysis = TextAnalysis(kind, PATTERNS[0], *lengths, True, accents or "", stop)
    if stop:
        options["stop_words"] = list(stop)
    counted = CountVectorizer(**options).fit([*texts, "aa bb cc dd ee ff gg hh ii"])
    terms = Terms(Labels.of(counted.get_feature_names_out()), analysis)
    np.testing.assert_array_equal(terms.apply(cells(*texts)), counted.transform(texts).toarray())
    for signed, binary in ((True, False), (False, True)):
        hashed = HashingVectorizer(n_features=37, norm=None, alternate_sign=signed, binary=binary, **options)
        step = HashedTerms(37, analysis, signed, binary)
        np.testing.assert_array_equal(step.apply(cells(*texts)), hashed.transform(texts).toarray())


def test_counts_by_their_logarithm():
    counts = np.random.default_rng(0).integers(0, 4, (20, 6)).astype(float)
    weighed = TfidfTransformer(sublinear_tf=True, use_idf=False, norm=None).fit_transform(counts).toarray()
    np.testing.assert_allclose(LogCounts().apply(counts), weighed, rtol=1e-15)


def test_texts_are_texts_and_not_too_many():
    step = Terms(Labels.of(["a"]), TextAnalysis())
    with pytest.raises(UnfitValueError, match="is no text"):
        step.apply(cells("a", 1))
    with pytest.raises(UnfitValueError, match="one text too many"):
        HashedTerms(1 << 20, TextAnalysis()).apply(cells(*["a"] * 200))


def test_chains_beside_each_other_tell_the_column():
    step = Beside(
        3,
        (
            (Columns(-1, 3, (2,)), LookUp(Labels.of(["a", "b"]), CODES), OneHot(Labels.of([0, 1]))),
            (Columns(-1, 3, (1, 0)), Numbers()),
        ),
    )
    flat = Beside(
        3, ((Columns(-1, 3, (2,)), LookUp(Labels.of(["a", "b"]), CODES)), (Columns(-1, 3, (1, 0)), Numbers()))
    )
    rows = np.array([[1, 2.5, "b"], [3, 4, "a"]], dtype=object)
    assert flat.apply(rows).tolist() == [[1, 2.5, 1], [0, 4, 3]]
    assert flat.columns_of((5, 6, 7)) == (7, 6, 5)
    for column, value in ((0, None), (1, "x"), (2, "c")):
        wrong = rows.copy()
        wrong[1, column] = value
        for each in (flat, step):
            with pytest.raises(UnfitValueError) as caught:
                each.apply(wrong)
            assert np.argwhere(caught.value.unfit).tolist() == [[1, column]] and caught.value.by
    low, high = flat.preimage(np.full((2, 3), -1.0), np.full((2, 3), 1.0))
    assert low[0].tolist() == [-1, -1, -np.inf] and high[0].tolist() == [1, 1, np.inf]


def nested(depth):
    return Beside(1, ((nested(depth - 1),),)) if depth else Numbers()


def test_hostile_steps_are_refused_when_they_are_read():
    for make in (
        lambda: LookUp(Labels.of(["a"]), CODES),
        lambda: LookUp(Labels.of(["a", "b"]), CODES, blank=("all",)),
        lambda: Fill(None),
        lambda: Fill(CODES, ("a",)),
        lambda: Fill(CODES, (), Missing(("missing",))),
        lambda: Missing(()),
        lambda: IsMissing(never=(-1,)),
        lambda: IsMissing(never=(3,)).result_shape((1, 3)),
        lambda: Bins(OwnerArray.of([1.0, 0.0])),
        lambda: Terms(Labels.of([1, 2]), TextAnalysis()),
        lambda: TextAnalysis(pattern=r"(a+)+$"),
        lambda: TextAnalysis(least=3, most=2),
        lambda: TextAnalysis(most=1 << 20),
        lambda: TextAnalysis("code"),
        lambda: HashedTerms(1 << 40, TextAnalysis()),
        lambda: Beside(0, ((),)),
        lambda: Beside(2, ()),
        lambda: Beside(2, ((Softmax(),),)),
        lambda: nested(20),
        lambda: Beside(2, ((Columns(-1, 3, (0,)),),)).result_shape((1, 2)),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            make()
    for data in (
        ["terms", [["a"], None, False], ["word", "(a+)+$", 1, 1, True, ""], False],
        ["look_up", [["a"], None, False], [[1], bytes(4)], float("nan")],
        ["beside", 2, [[["softmax", -1, False]]]],
        ["numbers", 1],
    ):
        with pytest.raises(FormatError):
            from_data(OwnerStep, data, "step")
    step = LookUp(Labels.of(["a", "b"]), CODES)
    assert len(to_data(step)) == 3  # what is usual takes no room
