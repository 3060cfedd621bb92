"""Quotes: what is compiled on few rows, what is sketched, what is refused, and how they read."""

import json
import sys
import time
import weakref
from contextlib import suppress

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.array_programs import sample_program
from latticework.compiler.options.option_checks import check_options
from latticework.compiler.pass_order import TENSOR_PASSES
from latticework.compiler.quoting import quote_program, quote_stages
from latticework.compiler.quoting.layer_costs import LayerCost, name_dearest
from latticework.compiler.quoting.sketch import ProgramSketch, count_levels
from latticework.compiler.quoting.time_limit import OutOfTime, run_within
from latticework.ir import run_passes
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.report.quoted import COMPILED, SCALED, SKETCHED, Quote, QuotedPrice

RNG = np.random.default_rng(0)
W1, W2 = RNG.normal(size=(16, 8)) / 4, RNG.normal(size=(8, 4)) / 3
DATA = RNG.uniform(0, 1, (100, 16))
PLENTY = 60.0  # seconds: a busy machine makes no test fail


@lw.program
def network(x: lw.Secret[1, 16], w1, w2):
    hidden = x @ w1
    hidden = lw.tanh(hidden)
    return hidden @ w2


def sketch(**options):
    given = check_options(network, {"weights": (W1, W2), "calibrate": DATA, **options})
    return ProgramSketch(sample_program(network, given), given, CostModel.load())


def test_a_small_program_is_quoted_as_it_is_compiled():
    made = quote_program(network, {"weights": (W1, W2), "calibrate": DATA, "precision_bits": 5}, seconds=PLENTY)
    model = lw.compile(network, weights=(W1, W2), calibrate=DATA, precision_bits=5)
    cost, first = estimate(model.plan, CostModel.load()), made.prices[0]
    assert [price.precision_bits for price in made.prices] == [5, 3, 9]
    assert first.how == COMPILED
    assert abs(first.levels - model.plan.chain.main.top) <= 1
    for quoted, found in (
        (first.seconds, cost.warm_seconds), (first.memory_bytes, cost.memory.total),
        (first.key_bytes, model.plan.client.manifest.total_stored_bytes),
    ):  # fmt: skip
        assert found / 2 <= quoted <= 2 * found
    assert {"hidden = lw.tanh(hidden)", "hidden = x @ w1"} <= {layer.text for layer in made.layers}
    assert made.prices[2].seconds > made.prices[1].seconds
    text = made.text()
    assert "compiled on few rows" in text and max(map(len, text.splitlines())) <= 100
    assert json.loads(json.dumps(made.data()))["prices"][0]["levels"] == first.levels


def test_a_sketch_is_within_a_factor_of_what_compiling_finds():
    price, layers = sketch().price(5)
    model = lw.compile(network, weights=(W1, W2), calibrate=DATA, precision_bits=5)
    seconds = estimate(model.plan, CostModel.load()).warm_seconds
    assert price.how == SKETCHED and abs(price.levels - model.plan.chain.main.top) <= 2
    assert seconds / 3 <= price.seconds <= 3 * seconds
    keys = model.plan.client.manifest.total_stored_bytes
    assert keys / 2 <= price.key_bytes <= 2 * keys
    assert max(layers, key=lambda place: layers[place].seconds)[1] == "hidden = lw.tanh(hidden)"


def test_a_glance_tells_what_is_too_deep_before_anything_is_fitted():
    @lw.program
    def kinks(x: lw.Secret[1, 16], w1, w2):
        hidden = lw.relu(x @ w1)
        for _ in range(8):
            hidden = lw.relu(hidden - 0.1)
        return hidden @ w2

    given = check_options(kinks, {"weights": (W1, W2), "calibrate": DATA, "precision_bits": 14})
    price, layers = ProgramSketch(sample_program(kinks, given), given, CostModel.load()).glance(14)
    assert price.levels > 60 and price.bootstraps > 0
    assert f"at least {price.levels} levels" in price.problem and "bootstraps" in price.problem
    assert all(cost.has_kinks for cost in layers.values())


def test_levels_of_maps_that_follow_one_another_are_one():
    @lw.program
    def maps(x: lw.Secret[1, 16], w1, w2):
        hidden = x @ w1
        return (hidden @ w2) ** 2

    given = check_options(maps, {"weights": (W1, W2), "calibrate": DATA})
    module = run_passes(sample_program(maps, given).module, TENSOR_PASSES)
    levels, by_line = count_levels(module)
    assert levels == 2 and sum(by_line.values()) == levels
    assert {text for _, text in by_line} == {"hidden = x @ w1", "return (hidden @ w2) ** 2"}


def test_layers_are_told_what_takes_less():
    def told(text, **facts):
        cost = LayerCost(1.0, 11, ["relu"] if facts.pop("is_function", True) else [], **facts)
        (layer,) = name_dearest({("net.py:3", text): cost}, lambda place: "", has_pools_option=False, rows=8)
        return " ".join(layer.cheaper)

    assert "lw.avg_pool2d" in told("lw.max_pool2d(x, 2)", has_kinks=True)
    assert "x * x, trained on, takes 1 level for 11" in told("lw.relu(x)", has_kinks=True)
    assert "degree" in told("lw.tanh(x)")
    assert 'batch="fill" computes 8 rows' in told("x @ w", is_function=False)


def test_layers_of_modules_have_their_paths():
    """The oracle is the module: each path that is named finds a layer of the kind that is named with it."""
    nn = pytest.importorskip("torch").nn
    inner = nn.Sequential(nn.Linear(16, 8), nn.Tanh())
    module = nn.Sequential(inner, nn.Linear(8, 4)).eval()
    made = lw.quote(module, DATA.astype(np.float32), seconds=PLENTY, precision_bits=5)
    named = {layer.text for layer in made.layers}
    assert named <= {"module 0.0, linear", "module 0.1, tanh", "module 1, linear"} and "module 0.1, tanh" in named
    for path, kind in (each.removeprefix("module ").split(", ") for each in named):
        assert type(module.get_submodule(path)).__name__.lower() == kind
    assert "module 0.1, tanh" in made.text()


@pytest.mark.parametrize(("problem", "told"), [("too deep", "was not found: why stands below"), ("", "was not found")])
def test_numbers_that_are_not_known_are_said_to_be_so(problem, told):
    prices = (QuotedPrice(8, SKETCHED, 40, 0, None, problem=problem), QuotedPrice(5, COMPILED, 3, 0, 8192, 0.1, 1, 1))
    lines = Quote("net", prices, (), (), "here", 0.1).text().splitlines()
    assert next(line for line in lines if line.split()[:1] == ["8"]).split()[1:6] == ["40", "-", "-", "-", "-"]
    assert f"  - is a number that {told}" in lines
    assert "-" not in next(line for line in lines if line.split()[:1] == ["5"]).split()


def test_what_takes_too_long_is_sketched(monkeypatch):

    def endless(*_):
        raise OutOfTime

    monkeypatch.setattr("latticework.compiler.quoting.quote_stages.plan_lowered", endless)
    late = quote_program(network, {"weights": (W1, W2), "calibrate": DATA, "precision_bits": 5}, seconds=PLENTY)
    assert {price.how for price in late.prices} == {SKETCHED}
    assert "about" in late.text() and "factor of two" in late.text()
    assert SCALED not in late.text()


def test_levels_alone_say_why_there_is_no_time(monkeypatch):
    def endless(*_, **__):
        raise OutOfTime

    monkeypatch.setattr("latticework.compiler.quoting.quote_stages.plan_lowered", endless)
    monkeypatch.setattr("latticework.compiler.quoting.sketch.find_layouts", endless)
    made = quote_program(network, {"weights": (W1, W2), "calibrate": DATA, "precision_bits": 5}, seconds=PLENTY)
    assert [price.seconds for price in made.prices] == [None] * 3
    assert all("takes a longer look" in price.problem and price.levels for price in made.prices)


def test_a_circuit_that_takes_too_long_is_sketched_without_lanes(monkeypatch):
    """The oracle is what `lw.compile(algorithm="scalar")` finds."""

    @lw.circuit
    def products(x: lw.vector(4, low=0, high=9)):
        return [x[0] * x[1], x[2] * x[3] + x[0]]

    def planned(lowered, plan=quote_stages.plan_lowered):
        if lowered.task.options.expert.algorithm == "search":
            raise OutOfTime
        return plan(lowered)

    whole = quote_program(products, {"scheme": "bfv"}, seconds=PLENTY)
    monkeypatch.setattr(quote_stages, "plan_lowered", planned)
    late = quote_program(products, {"scheme": "bfv"}, seconds=PLENTY)
    model = lw.compile(products, scheme="bfv", algorithm="scalar", progress=False)
    assert whole.prices[0].how == COMPILED and "was stopped" not in whole.text()
    assert late.prices[0].how == SKETCHED and "Compiling the circuit was stopped" in late.text()
    assert late.prices[0].key_bytes == model.plan.client.manifest.total_stored_bytes


def test_work_is_ended_and_errors_pass():
    def forever():
        while True:
            with suppress(Exception):
                time.sleep(0.001)

    assert run_within(0.05, forever) is None
    assert run_within(5.0, lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        run_within(5.0, lambda: 1 // 0)


def test_work_is_ended_where_weak_references_swallow_errors():
    """Its time passes in a callback, where an error is told to nobody and lost; pytest fails if anything hears of it."""

    class Referent: ...

    def busy(seconds):
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            pass

    def dying():
        referent = Referent()
        kept = weakref.ref(referent, lambda _: busy(0.2))
        del referent  # calls it
        busy(10.0)
        return kept

    told = []
    hook, sys.unraisablehook = sys.unraisablehook, told.append
    try:
        assert run_within(0.05, dying) is None
        assert sys.unraisablehook == told.append and not told
    finally:
        sys.unraisablehook = hook


def test_models_of_other_kinds_are_taken_or_refused():
    from sklearn.linear_model import LogisticRegression

    labels = DATA[:, 0] > 0.5
    fitted = LogisticRegression().fit(DATA, labels)
    assert lw.quote(fitted, DATA, precision_bits=7, method="decision_function").prices[0].levels == 1
    with pytest.raises(lw.errors.DtypeError, match="quote: the model is a int"):
        lw.quote(3)


def test_what_cannot_be_compiled_is_refused_by_its_own_message():
    @lw.program
    def branch(x: lw.Secret[1, 4]):
        return x if x[0, 0] > 0 else -x

    with pytest.raises(lw.errors.TraceError, match="secrets cannot be compared"):
        lw.quote(branch, DATA[:, :4])
