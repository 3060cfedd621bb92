"""Functions of one number: what their records say is so, and each is taken, or refused by name, in every importer."""

import math

import numpy as np
import pytest

import latticework as lw
from latticework.errors import UserError
from latticework.frontend.functions import array_functions as public
from latticework.frontend.programs.array_program import trace
from latticework.frontend.recording.tracing import NUMPY
from latticework.frontend.recording.unsupported import known_remedy
from latticework.functions.function_record import EVERYWHERE
from latticework.functions.table import BY_NAME, RECORDS
from latticework.ir.interpret import interpret
from latticework.models.onnx.operators.table import CONVERTERS as ONNX
from latticework.models.pytorch.operators import CONVERTERS as TORCH
from latticework.models.pytorch.operators.aten_refused import REMEDIES as TORCH_REMEDIES
from latticework.models.sklearn.estimator_semantics import CONVERTERS as SKLEARN
from latticework.plan.client_steps import Elementary
from latticework.plan.client_steps.step import Bounded, UnfitValueError

NAMES = [record.name for record in RECORDS]
IN_NUMPY = [record.name for record in RECORDS if record.numpy]
IN_TORCH = [(record.name, name) for record in RECORDS for name in record.aten_names]
OWNED = [record.name for record in RECORDS if record.owner_computes]
NEWEST_OPSET = 25
IN_FLOAT32 = ("erf", "gelu", "hardswish")  # constants of the evaluator of ONNX


def arguments_of(record, count=400):
    return np.linspace(*record.arguments, count)


def test_names_are_used_once():
    for names in (
        NAMES,
        IN_NUMPY,
        [name for _, name in IN_TORCH],
        [record.onnx for record in RECORDS if record.onnx],
        [record.lw for record in RECORDS if record.lw],
    ):
        assert len(set(names)) == len(names)


def aliases_of(record):
    """Names that the function may have elsewhere: its own, and all that NumPy has for it (acos and arccos)."""
    function = getattr(np, record.numpy, None)
    return {record.name} | {name for name in dir(np) if function is not None and getattr(np, name) is function}


@pytest.mark.parametrize("name", NAMES)
def test_no_name_is_forgotten(name):
    """A record has each name that another package has for its function, and no remedy says that it is refused."""
    record = BY_NAME[name]
    names = aliases_of(record)
    function = getattr(np, name, None)
    assert record.numpy or not isinstance(function, np.ufunc)
    assert not any(known_remedy(each) for each in {*names, *record.aten_names})
    torch = pytest.importorskip("torch")
    in_torch = {made for each in names for made in (each, f"special_{each}") if hasattr(torch.ops.aten, made)}
    assert in_torch <= set(record.aten_names)
    assert not {f"aten.{each}.default" for each in record.aten_names} & set(TORCH_REMEDIES)
    onnx = pytest.importorskip("onnx")
    in_onnx = {schema.name for schema in onnx.defs.get_all_schemas() if schema.name.lower() in names}
    assert in_onnx <= {record.onnx}


@pytest.mark.parametrize("name", NAMES)
def test_records_are_right(name):
    record = BY_NAME[name]
    assert all(record.contains(np.array(record.arguments)))
    x, wide = arguments_of(record), np.linspace(-30.0, 30.0, 60_001)
    wide = wide[record.contains(wide)]
    with np.errstate(all="ignore"):
        values, slopes = record.meaning(x), np.diff(record.meaning(wide)) / np.diff(wide)
    assert values.shape == x.shape and values.dtype == np.float64 and np.isfinite(values).all()
    if record.slope < math.inf:  # and no more than is needed
        assert 0.99 * record.slope <= np.abs(slopes).max() <= record.slope * (1 + 1e-10)
    else:
        assert record.domains != EVERYWHERE or np.abs(slopes).max() > 10, "a bound of its slope is forgotten"
    assert (record.values[0] <= record.meaning(wide)).all() and (record.meaning(wide) <= record.values[1]).all()
    if len(record.domains) == 1:
        assert record.monotone == bool((slopes >= 0).all()) - bool((slopes <= 0).all())
    if record.monotone:
        assert (record.monotone * np.diff(values) >= 0).all()
    if record.inverse is not None:
        assert record.monotone
        np.testing.assert_allclose(record.inverse(values), x, rtol=1e-9, atol=1e-9)
    if record.least_at is not None:
        assert not record.monotone
        assert (np.diff(record.meaning(wide[wide <= record.least_at])) <= 0).all()
        assert (np.diff(record.meaning(wide[wide >= record.least_at])) >= 0).all()
    if record.bend is not None:
        np.testing.assert_allclose(values, np.where(x < 0, record.bend[0], record.bend[1]) * x)
    if record.in_clear is not None:
        np.testing.assert_allclose(record.in_clear(x), values, rtol=1e-14)
    with np.errstate(all="ignore"):
        for low, high in record.domains:
            beyond = np.array([end + side for end, side in ((low, -1e-3), (high, 1e-3)) if math.isfinite(end)])
            beyond = beyond[~record.contains(beyond)]
            assert name == "tan" or not np.isfinite(record.meaning(beyond)).any()


@pytest.mark.parametrize("name", IN_NUMPY)
def test_numpy_functions_in_programs(name):
    function, x = getattr(np, BY_NAME[name].numpy), arguments_of(BY_NAME[name], 8)

    @lw.program
    def called(x: lw.Secret[8]):
        return function(x), lw.approximate(function)(x)

    for found in interpret(trace(called), [x]):
        np.testing.assert_allclose(found, function(x), rtol=1e-14)


def test_functions_of_one_number_of_numpy_are_known_or_refused_by_name():
    """Also those that nobody thought of, and are no records."""
    for name in dir(np):
        function = getattr(np, name)
        if isinstance(function, np.ufunc) and function.nin == 1:
            assert function in NUMPY or known_remedy(function.__name__), name


def test_functions_of_the_package_are_those_of_records():
    for record in RECORDS:
        if record.lw:
            x = arguments_of(record, 8)
            np.testing.assert_array_equal(getattr(public, record.lw)(x), record.meaning(x))
            assert getattr(lw, record.lw) is getattr(public, record.lw)
    with_range = {
        name for name, function in vars(public).items()
        if getattr(function, "__module__", "") == public.__name__ and name[0] != "_" and hasattr(function, "__code__")
        and function.__code__.co_varnames[: function.__code__.co_argcount] == ("x",)
        and "degree" in function.__code__.co_varnames
    }  # fmt: skip
    assert with_range == {record.lw for record in RECORDS if record.lw}


@pytest.mark.parametrize(("name", "aten"), IN_TORCH)
def test_pytorch(name, aten):
    """As an operator of exported modules, and called in a program."""
    torch = pytest.importorskip("torch")
    x = arguments_of(BY_NAME[name], 8)
    wanted = getattr(torch.ops.aten, aten).default(torch.from_numpy(x)).numpy()
    converter = TORCH.find(f"aten.{aten}.default")
    assert converter is not None
    np.testing.assert_allclose(converter.meaning(x), wanted, rtol=1e-13, atol=1e-15)
    function = getattr(torch, aten.removeprefix("special_"), None)
    if aten.startswith("special_"):
        function = getattr(torch.special, aten.removeprefix("special_"))
    function = function or getattr(torch.nn.functional, aten, None) or torch.nn.functional.logsigmoid

    @lw.program
    def called(x: lw.Secret[8]):
        return function(x)

    if function is not torch.nn.functional.logsigmoid:  # which asks no argument what it is to do
        np.testing.assert_allclose(interpret(trace(called), [x])[0], wanted, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", [record.name for record in RECORDS if record.onnx])
def test_onnx(name):
    onnx, oracle = pytest.importorskip("onnx"), pytest.importorskip("onnx.reference")
    record = BY_NAME[name]
    since = max(onnx.defs.get_schema(record.onnx).since_version, record.onnx_since)
    converter = ONNX.find(record.onnx, NEWEST_OPSET)
    assert converter is not None and converter.since <= since
    x = arguments_of(record, 8)
    node = onnx.helper.make_node(record.onnx, ["x"], ["y"])
    spec = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.DOUBLE, [8]) for n in "xy"]
    graph = onnx.helper.make_graph([node], "net", spec[:1], spec[1:])
    file = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", NEWEST_OPSET)])
    wanted = oracle.ReferenceEvaluator(file).run(None, {"x": x})[0]
    np.testing.assert_allclose(converter.meaning(x), wanted, rtol=1e-6 if name in IN_FLOAT32 else 1e-12, atol=1e-15)
    np.testing.assert_allclose(lw.from_onnx(file.SerializeToString())(x), record.meaning(x), rtol=1e-14)


@pytest.mark.parametrize("name", IN_NUMPY)
def test_function_transformers(name):
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    x = arguments_of(BY_NAME[name], 8).reshape(4, 2)
    fitted = preprocessing.FunctionTransformer(getattr(np, BY_NAME[name].numpy)).fit(x)
    np.testing.assert_allclose(lw.from_sklearn(fitted, "transform")(x), fitted.transform(x), rtol=1e-14)


@pytest.mark.parametrize("name", ["floor", "sign", "hypot", "i0"])
def test_other_function_transformers_are_refused_by_name(name):
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    fitted = preprocessing.FunctionTransformer(getattr(np, name)).fit(np.ones((4, 2)))
    with pytest.raises(UserError, match=f"its function {name} is not one of NumPy's square, tanh, exp, "):
        lw.from_sklearn(fitted, "transform")


@pytest.mark.parametrize("name", [record.name for record in RECORDS if record.numpy and record.owner_computes])
def test_targets_are_transformed_back(name):
    compose, linear_model = pytest.importorskip("sklearn.compose"), pytest.importorskip("sklearn.linear_model")
    record = BY_NAME[name]
    x = np.linspace(*record.arguments, 20)[:, None]
    regressor = linear_model.LinearRegression()
    back = getattr(np, record.numpy)
    fitted = compose.TransformedTargetRegressor(regressor, func=np.positive, inverse_func=back, check_inverse=False)
    fitted.fit(x, x[:, 0])
    program = lw.from_sklearn(fitted, "predict")
    assert Elementary(name) in program.owner.after[0].steps
    np.testing.assert_allclose(program(x[1:-1]), fitted.predict(x[1:-1]), rtol=1e-9, atol=1e-12)


def test_functions_of_targets_that_other_steps_go_on_with():
    """The owner's last step is computed encrypted where it is not the last one of a model."""
    compose, linear_model = pytest.importorskip("sklearn.compose"), pytest.importorskip("sklearn.linear_model")
    multioutput = pytest.importorskip("sklearn.multioutput")
    x = np.random.default_rng(0).uniform(0.5, 2.0, (20, 3))
    inner = compose.TransformedTargetRegressor(linear_model.Ridge(), func=np.log1p, inverse_func=np.expm1)
    fitted = multioutput.MultiOutputRegressor(inner).fit(x, x[:, :2])
    program = lw.from_sklearn(fitted, "predict")
    assert [node.operator for node in program.graph.nodes].count("expm1") == 2
    np.testing.assert_allclose(program(x), fitted.predict(x), rtol=1e-9)


def test_networks_of_scikit_learn():
    names = {record.sklearn for record in RECORDS if record.sklearn}
    assert names == {"relu", "tanh", "logistic"} and all(SKLEARN.find(name) is not None for name in names)


@pytest.mark.parametrize("name", OWNED)
def test_steps_of_the_owner(name):
    record, step = BY_NAME[name], Elementary(name)
    x = arguments_of(record)
    values = step.apply(x)
    np.testing.assert_allclose(values, record.meaning(x), rtol=1e-14)
    error = 0.05 * (record.arguments[1] - record.arguments[0])
    found = step.bounded(Bounded.within(x, error))
    for moved in (-error, -error / 3, error / 3, error):
        inside = record.contains(x + moved)
        exact = (record.in_clear or record.meaning)((x + moved)[inside])
        assert ((found.low[inside] <= exact) & (exact <= found.high[inside])).all()
    if record.inverse is not None:
        low, high = np.quantile(values, [0.25, 0.75])
        first, last = step.preimage(np.array(low), np.array(high))
        clear = (np.abs(values - low) > 1e-9) & (np.abs(values - high) > 1e-9)
        assert (((low < values) & (values < high)) == ((first < x) & (x < last)))[clear].all()
        nothing = step.preimage(np.array(np.inf), np.array(np.inf))
        assert not ((nothing[0] <= x) & (x <= nothing[1])).any()
    outside = np.array([end for end in (record.arguments[0] - 10.0, record.arguments[1] + 10.0)])
    outside = outside[~record.contains(outside)]
    for number in outside:
        with pytest.raises(UnfitValueError, match=f"is not (above|at least|between|from) .*, which its {name} takes"):
            step.apply(np.array([number]))


def test_functions_that_owners_do_not_compute_are_refused_by_name():
    for name in [*(set(NAMES) - set(OWNED)), "eval"]:
        with pytest.raises(ValueError, match=f"no function is called '{name}'; there are relu, "):
            Elementary(name)
