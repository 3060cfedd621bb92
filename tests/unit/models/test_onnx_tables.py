"""ONNX files that begin with a raw table, an input a column: texts and gaps stay with the owner, decisions are the same."""

import warnings

import numpy as np
import onnx_graphs
import pytest
from onnx import TensorProto, helper
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC

import latticework as lw
from latticework.commands.array_files import read_values
from latticework.commands.table_files import type_cells
from latticework.errors import ColumnsError, FormatError, RangeError, UnsupportedError

onnxruntime = pytest.importorskip("onnxruntime")
pandas = pytest.importorskip("pandas")

SMALL = {"ring_degree": 2048, "insecure": True}
NUMBERS, TEXTS = ["age", "income"], ["city", "plan"]


def frame(count, seed):
    """A table with gaps, and classes."""
    rng = np.random.default_rng(seed)
    table = pandas.DataFrame({
        "age": rng.integers(18, 80, count).astype(np.float32),
        "income": np.round(rng.lognormal(10, 0.5, count), 2).astype(np.float32),
        "city": rng.choice(["Rome", "Oslo", "Kyiv"], count), "plan": rng.choice(["basic", "plus", "pro"], count),
        "children": rng.integers(0, 4, count), "rate": rng.choice(np.array([0.1, 0.2, 0.7], np.float32), count),
    })  # fmt: skip
    classes = ((table.age > 45).astype(int) + (table.city == "Oslo") + (table["plan"] == "pro") > 1).astype(int)
    gaps = table.copy()
    gaps.loc[rng.random(count) < 0.15, "income"] = np.nan
    gaps.loc[rng.random(count) < 0.1, "age"] = np.nan
    return table, gaps, classes.to_numpy()


WHOLE, GAPS, CLASSES = frame(80, 0)
_, ROWS, _ = frame(20, 1)
FULL_ROWS, _, _ = frame(20, 1)
STRANGE = ROWS.assign(city=np.where(np.arange(20) % 4, ROWS.city, "Paris"))


def columns(*parts, remainder="drop"):
    return ColumnTransformer([(f"part{number}", *part) for number, part in enumerate(parts)], remainder=remainder)


def filled():
    return make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), NUMBERS


def unknown_too():
    return OneHotEncoder(handle_unknown="ignore"), TEXTS


# An estimator, the table that it is fitted on, and rows.
PIPELINES = {
    "logistic": (lambda: (columns(filled(), unknown_too(), ("passthrough", ["children"])), LogisticRegression()), GAPS, STRANGE),
    "texts first": (lambda: (columns(unknown_too(), filled()), LogisticRegression()), GAPS, STRANGE),
    "network": (lambda: (columns(filled(), unknown_too()), MLPClassifier((3,), "tanh", max_iter=20, random_state=0)), GAPS, STRANGE),
    "machine": (lambda: (columns((MinMaxScaler(clip=True), NUMBERS), (OneHotEncoder(drop="first"), ["city"]), (OrdinalEncoder(), ["plan"])), SVC()), WHOLE, FULL_ROWS),
    "codes": (lambda: (columns(filled(), (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), TEXTS)), LogisticRegression()), GAPS, STRANGE),
    "whole numbers and texts": (lambda: (columns((OneHotEncoder(handle_unknown="ignore"), ["children", "city"]), filled()), LogisticRegression()), GAPS, STRANGE),
    "categories that are fractions": (lambda: (columns((OrdinalEncoder(), ["rate"]), filled()), LogisticRegression()), GAPS, ROWS),
    "scaled, then filled": (lambda: (columns((make_pipeline(StandardScaler(), SimpleImputer()), NUMBERS), (OneHotEncoder(), ["city"])), LogisticRegression()), GAPS, ROWS),
    "above a threshold": (lambda: (columns((Binarizer(threshold=40), ["age"]), (OneHotEncoder(drop="if_binary"), TEXTS)), LogisticRegression()), WHOLE, FULL_ROWS),
    "no texts": (lambda: (columns(filled(), ("passthrough", ["children"])), LogisticRegression()), GAPS, ROWS),
    "a number": (lambda: (columns(filled(), unknown_too()), Ridge()), GAPS, STRANGE),
}  # fmt: skip


def exported(steps, table):
    """A fitted pipeline as a file, with an input for each column of the table."""
    kinds = {
        "O": StringTensorType,
        "U": StringTensorType,
        "T": StringTensorType,
        "i": Int64TensorType,
        "f": FloatTensorType,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = make_pipeline(*steps).fit(table, CLASSES)
        types = [(name, kinds[dtype.kind]([None, 1])) for name, dtype in table.dtypes.items()]
        options = {id(fitted): {"zipmap": False}} if hasattr(fitted, "classes_") else None
        return to_onnx(fitted, initial_types=types, options=options, target_opset={"": 17, "ai.onnx.ml": 3})


def of_onnxruntime(file, rows):
    session = onnxruntime.InferenceSession(file.SerializeToString())
    given = {i.name: rows[[i.name]].to_numpy(object if "string" in i.type else None) for i in session.get_inputs()}
    return session.run(None, given)


@pytest.fixture(scope="module")
def logistic():
    make, table, _ = PIPELINES["logistic"]
    return exported(make(), table)


@pytest.fixture(scope="module")
def model(logistic):
    return lw.compile(lw.from_onnx(logistic), calibrate=GAPS, **SMALL)


@pytest.mark.parametrize("name", PIPELINES)
def test_decisions_are_those_of_onnxruntime(name):
    make, table, rows = PIPELINES[name]
    file = exported(make(), table)
    program, wanted = lw.from_onnx(file), of_onnxruntime(file, rows)
    found = program(rows) if len(wanted) > 1 else (program(rows),)
    for value, exact in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.reshape(value, np.shape(exact)), exact, atol=1e-5)
    shuffled = rows[rows.columns[::-1]].assign(unread="x")
    np.testing.assert_array_equal((program(shuffled) if len(wanted) > 1 else [program(shuffled)])[0], found[0])


def test_a_forest_takes_samples_from_the_table():
    steps = (columns((SimpleImputer(), NUMBERS), unknown_too()), RandomForestClassifier(2, max_depth=2, random_state=0))
    file = exported(steps, GAPS)
    program = lw.from_onnx(file, trees="sign", samples=GAPS, gap=2.0**-9)
    kept = program.keeps_apart(STRANGE, everywhere=False)
    assert kept.sum() > 10
    np.testing.assert_array_equal(program(STRANGE[kept])[0].ravel(), of_onnxruntime(file, STRANGE)[0][kept])


def test_encrypted_from_a_frame_from_columns_and_from_files(model, logistic, tmp_path):
    wanted = of_onnxruntime(logistic, STRANGE)
    model.client().save(tmp_path / "model.lwclient")
    client = lw.Client.load(tmp_path / "model.lwclient", allow_insecure=True)
    server = model.server(client.keygen().public())
    label, chances = client.decrypt(server(client.encrypt(STRANGE)))
    sure = label.is_certain.ravel()
    assert sure.mean() > 0.9
    np.testing.assert_array_equal(label.reveal().ravel()[sure], wanted[0][sure])
    np.testing.assert_allclose(chances.reveal(), wanted[1], atol=1e-3)
    by_name = {name: STRANGE[name].tolist() for name in STRANGE.columns}
    for given in ((STRANGE,), (by_name,), (STRANGE.to_records(index=False),)):
        np.testing.assert_array_equal(client.checked(given, {}).values["transformed_column"],
                                      client.checked((), {n: by_name[n] for n in client.spec.given_names}).values["transformed_column"])  # fmt: skip
    np.testing.assert_array_equal(model.plaintext(STRANGE)[0].ravel(), wanted[0])


def test_a_file_of_the_table_is_read_column_by_column(model, tmp_path):
    STRANGE[[*STRANGE.columns[::-1]]].to_csv(tmp_path / "rows.csv", index=False)
    client = model.client()
    typed = type_cells(read_values(tmp_path / "rows.csv"), client.spec.owner, client.spec.given_names[0])
    found = client.checked((typed,), {}).values["transformed_column"]
    np.testing.assert_allclose(found, client.checked((STRANGE,), {}).values["transformed_column"], rtol=1e-6)
    (tmp_path / "rows.csv").write_text("age,income,city,plan,children\n30,much,Oslo,pro,1\n")
    with pytest.raises(FormatError, match=r"rows.csv:2, row 0, column income: it is no number"):
        type_cells(read_values(tmp_path / "rows.csv"), client.spec.owner, client.spec.given_names[0])


def test_columns_are_taken_by_names_as_files_write_them():
    table = GAPS.rename(columns={"city": "home city"})
    file = exported((columns(filled(), (OneHotEncoder(), ["home city"])), LogisticRegression()), table)
    program = lw.from_onnx(file)
    assert "home_city" in program.given_names
    renamed = ROWS.rename(columns={"city": "home_city"})
    np.testing.assert_array_equal(program(ROWS.rename(columns={"city": "home city"}))[0], program(renamed)[0])
    with pytest.raises(ColumnsError, match="given twice: home_city"):
        program(ROWS.assign(**{"home city": "Rome", "home.city": "Oslo"}))


@pytest.mark.parametrize(("change", "words"), [
    (lambda t: t.drop(columns="plan"), "missing: plan"),
    (lambda t: t.assign(city=7), "input city, row 0, column 0 .city. is .*of another type than the categories"),
    (lambda t: t.assign(age="old"), "input age, row 0, column 0 .age. is no number"),
    (lambda t: t.assign(children=np.nan), "input children, row 0, column 0 .children. is missing, and no step of the model fills it in"),
    (lambda t: t.assign(income=np.inf), "input income, row 0, column 0 .income. is no finite number"),
])  # fmt: skip
def test_other_columns_and_cells_are_refused_and_named(model, change, words):
    with pytest.raises((ColumnsError, RangeError), match=words):
        model.client().checked((change(ROWS),), {})


def test_a_category_that_was_not_fitted_is_refused_where_the_encoder_fails():
    make, table, _ = PIPELINES["machine"]
    program = lw.from_onnx(exported(make(), table))
    with pytest.raises(RangeError, match="input city, .* is none of the categories Kyiv, Oslo, Rome"):
        program(FULL_ROWS.assign(city="Paris"))


def test_numbers_that_are_categories_are_found_as_decimals_and_as_the_file_has_them():
    make, table, _ = PIPELINES["categories that are fractions"]
    program = lw.from_onnx(exported(make(), table))
    decimals = ROWS.assign(rate=ROWS.rate.astype(str).astype(float))
    assert decimals.rate.dtype == np.float64 and 0.1 in decimals.rate.to_numpy()
    np.testing.assert_array_equal(program(decimals)[1], program(ROWS)[1])


def encoder(inputs, nodes, types):
    return onnx_graphs.model(
        [*nodes, helper.make_node("MatMul", ["z", "w"], ["y"])], inputs, ["y"],
        [helper.make_tensor("w", TensorProto.FLOAT, [1, 1], [2.0])], ml=4, types=types,
    )  # fmt: skip


def mapper(kind, operator="LabelEncoder", **options):
    node = helper.make_node(operator, ["x"], ["z"], domain="ai.onnx.ml", **options)
    cast = [helper.make_node("Cast", ["z0"], ["z"], to=1)]
    if "values_floats" not in options:
        node.output[0] = "z0"
    return encoder({"x": ["N", 1]}, [node, *([] if "values_floats" in options else cast)], {"x": kind})


@pytest.mark.parametrize(("file", "cells", "wanted"), [
    (mapper(8, keys_strings=["a", "b"], values_floats=[0.5, 2.0], default_float=-3.0), ["b", "a", "c"], [2, 0.5, -3]),
    (mapper(8, keys_strings=["a", "b"], values_int64s=[5, 2], default_int64=9), ["b", "a", ""], [2, 5, 9]),
    (mapper(7, keys_int64s=[4, 7], values_floats=[0.5, 2.0], default_float=1.0), [7, 4, 5], [2, 0.5, 1]),
    (mapper(7, keys_int64s=[4, 7], values_int64s=[8, 3], default_int64=0), [7, 4, 5], [3, 8, 0]),
    (mapper(1, keys_floats=[0.1, 7.0], values_floats=[0.5, 2.0], default_float=1.0), [0.1, 7, 7.5], [0.5, 2, 1]),
    (mapper(1, keys_floats=[0.5, float("nan")], values_floats=[0.5, 2.0], default_float=1.0), [float("nan"), 0.5, 3], [2, 0.5, 1]),
    (mapper(1, keys_floats=[0.5, 2.0], values_int64s=[4, 6], default_int64=1), [2, 0.5, 3], [6, 4, 1]),
    (mapper(8, "CategoryMapper", cats_strings=["a", "b"], cats_int64s=[5, 9]), ["b", "a"], [9, 5]),
])  # fmt: skip
def test_encoders_of_all_kinds_of_keys_and_values(file, cells, wanted):
    column = np.array(cells, object if isinstance(cells[0], str) else None)[:, None]
    program = lw.from_onnx(file)
    np.testing.assert_allclose(program(column).ravel(), 2 * np.array(wanted), rtol=1e-6)
    kind = {8: object, 7: np.int64, 1: np.float32}[file.graph.input[0].type.tensor_type.elem_type]
    session = onnxruntime.InferenceSession(file.SerializeToString())
    np.testing.assert_allclose(session.run(None, {"x": column.astype(kind)})[0], program(column), rtol=1e-6)


@pytest.mark.parametrize(("file", "words"), [
    (mapper(8, keys_strings=["a", "b"], values_int64s=[1]), "2 keys and 1 values"),
    (mapper(8, keys_strings=["a", "a"], values_int64s=[1, 2]), "a key of it stands twice"),
    (mapper(8, keys_strings=["a"], values_int64s=[1], values_floats=[2.0]), "values of several kinds"),
    (mapper(8, "CategoryMapper", cats_strings=["a"], cats_int64s=[1, 2]), "1 keys and 2 values|2 keys and 1 values"),
    (encoder({"x": ["N", 1]}, [helper.make_node("Imputer", ["x"], ["z"], domain="ai.onnx.ml", imputed_value_floats=[1.0, 2.0])], {}), "2 values to fill in for 1 columns"),
    (encoder({"x": ["N", 1]}, [helper.make_node("OneHotEncoder", ["x"], ["z"], domain="ai.onnx.ml", cats_strings=["a", "a"])], {"x": 8}), "one that stands twice"),
    (encoder({"x": ["N", 1]}, [helper.make_node("OneHotEncoder", ["x"], ["z"], domain="ai.onnx.ml")], {"x": 8}), "no categories"),
], ids=range(7))  # fmt: skip
def test_tables_of_a_file_that_do_not_fit_are_refused_by_name(file, words):
    with pytest.raises(FormatError, match=words):
        lw.from_onnx(file)


def named(classes, **table):
    """A classifier whose classes get other names."""
    names = {"classlabels_strings" if isinstance(classes[0], str) else "classlabels_ints": classes}
    nodes = [
        helper.make_node("LinearClassifier", ["x"], ["c", ""], domain="ai.onnx.ml", coefficients=np.eye(3).ravel().tolist(), intercepts=[0.0] * 3, **names),
        helper.make_node("LabelEncoder", ["c"], ["y"], domain="ai.onnx.ml", **table),
    ]  # fmt: skip
    kind = TensorProto.STRING if "values_strings" in table else TensorProto.INT64
    return onnx_graphs.model(nodes, {"x": ["N", 3]}, ["y"], ml=4, types={"y": kind})


def test_classes_get_the_names_of_an_encoder_after_them():
    rows = np.eye(3)
    for file, wanted in (
        (named([3, 7, 9], keys_int64s=[9, 7, 3], values_strings=["a", "b", "c"]), ["c", "b", "a"]),
        (named(["u", "v", "w"], keys_strings=["u", "v", "w"], values_int64s=[4, 8, 2]), [4, 8, 2]),
        (named([3, 7, 9], keys_int64s=[3, 7], values_strings=["a", "b"], default_string="other"), ["a", "b", "other"]),
    ):
        assert lw.from_onnx(file, {"x": (1, 3)})(rows).tolist() == wanted
    twice = named([3, 7, 9], keys_int64s=[3, 7, 9], values_strings=["a", "a", "b"])
    with pytest.raises(
        UnsupportedError, match="what is made of it cannot be its owner.s; leave it out with outputs="
    ):  # of two classes of one name it is not told which
        lw.from_onnx(twice, {"x": (1, 3)})


def test_columns_joined_again_and_again_are_refused():
    nodes = [helper.make_node("Imputer", ["x"], ["z0"], domain="ai.onnx.ml", imputed_value_floats=[1.0])]
    nodes += [helper.make_node("Concat", [f"z{n}", f"z{n}"], [f"z{n + 1}"], axis=1) for n in range(24)]
    file = onnx_graphs.model(
        [*nodes, helper.make_node("ReduceSum", ["z24"], ["y"])], {"x": ["N", 1]}, ["y"], ml=3,
    )  # fmt: skip
    with pytest.raises(lw.UserError):
        lw.from_onnx(file, {"x": (1, 1)})


def test_operators_on_texts_are_refused_by_name_with_what_to_do():
    table = WHOLE.assign(note=np.array(["good day", "bad day", "awful thing"], object)[np.arange(80) % 3])
    file = exported((columns((TfidfVectorizer(), "note"), (OneHotEncoder(), ["city"])), LogisticRegression()), table)
    with pytest.raises(UnsupportedError, match="give the fitted pipeline to lw.from_sklearn") as caught:
        lw.from_onnx(file)
    assert all(name in str(caught.value) for name in ("StringNormalizer", "Tokenizer", "TfIdfVectorizer"))
    odd = encoder({"x": ["N", 1]}, [helper.make_node("Unique", ["x"], ["z"], axis=0)], {"x": 8})
    with pytest.raises(UnsupportedError, match="Unique"):
        lw.from_onnx(odd)
    size = encoder(
        {"x": ["N", 1]},
        [helper.make_node("Equal", ["x", "x"], ["q"]), helper.make_node("Cast", ["q"], ["z"], to=1)],
        {"x": 8},
    )
    with pytest.raises(UnsupportedError, match="input x is of texts, and its owner cannot compute Equal of them"):
        lw.from_onnx(size)
