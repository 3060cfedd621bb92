"""ONNX's own cases: what is supported agrees with the stored results, all else is refused, and nothing crashes.

    python tests/cases/onnx_backend_cases.py [PART OF A NAME]

prints the table of counts.
"""

import random
import re
from pathlib import Path

import numpy as np
import onnx
import onnx.backend.test
import onnx_backend_cases as backend
import pytest
from onnx import numpy_helper

import latticework as lw
from latticework.errors import UserError
from latticework.models.onnx.operators.table import CONVERTERS

LIGHT = Path(onnx.backend.test.__file__).parent / "data" / "light"
# Why cases of operators that are supported are refused all the same.
REASONS = re.compile(
    r"known are 6 to|does not say which version|no output depends|depends on no input|known when the program is compiled"
    r"|becomes no other type|to type \d+ of ONNX|becomes no |spatial axes|is not supported|are not supported|both secret"
    r"|no polynomial follows|of string|of bool|of data type|of u?int\d+|training mode|no shape of|added in one place"
    r"|is empty|extents are at least 1|unexpected keyword|not finite|regular blocks|antialias|align_corners|tf_crop"
    r"|4 bits|dilations=|activations=|sequences that end|reduction=|half-open|within a branch|where runtimes differ"
    r"|elements of a plain|spans|before encryption|are both|is infinite|no finite|more than half of the kernel|must be one number"
    r"|no element in|two ways to|holds NaN|no operator here takes|2 are wanted|only a softmax takes"
)


def outcomes(cases):
    return {name: backend.carried_out(case) for name, case in cases}


def check(found, cases) -> None:
    """None crashes, none disagrees, and what is refused has one of the reasons that are known."""
    told = {name: f"{o.what}: {o.told}" for name, o in found.items() if o.what in ("crashed", "disagrees")}
    assert told == {}
    known = {"Constant", *(converter.operator.rpartition(".")[2] for converter in CONVERTERS)}
    for name, outcome in found.items():
        if outcome.what == "refused" and known.issuperset(backend.operators_of(cases[name])):
            assert REASONS.search(outcome.told), f"{name}: {outcome.told}"


@pytest.mark.filterwarnings("ignore")
def test_some_cases_agree_or_are_refused() -> None:
    cases = backend.all_cases(("pytorch-operator", "pytorch-converted"))
    found = outcomes(list(cases.items())[::4])
    check(found, cases)
    assert sum(outcome.what == "agree" for outcome in found.values()) > 18


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_all_cases_agree_or_are_refused() -> None:
    found = outcomes(backend.all_cases().items())
    check(found, backend.all_cases())
    assert len(found) > 2000 and sum(outcome.what == "agree" for outcome in found.values()) > 850


def small(limit, seed):
    """Cases that agree, of few numbers each, in an order by chance in which operators take turns."""
    cases = list(backend.all_cases().items())
    random.Random(seed).shuffle(cases)
    turns: dict[tuple[str, ...], int] = {}
    for name, case in cases:
        operators = tuple(backend.operators_of(case))
        turns[operators] = turns.get(operators, 0) + 1
        if sum(np.size(array) for array in case.inputs if isinstance(array, np.ndarray)) <= limit:
            yield turns[operators], name, case


def compiled(outcome):
    """The plan of a case for its inputs and others close by; None where precision or levels do not do."""
    samples = [np.stack([array, 0.97 * array]) for array in outcome.arrays]
    try:
        return lw.compile(
            outcome.program, calibrate=samples[0] if len(samples) == 1 else tuple(samples), ring_degree=2048,
            insecure=True, precision_bits=8, progress=False,
        )  # fmt: skip
    except UserError:
        return None


def planned(count, limit, seed):
    """As many cases with their plans, and the number of those that have none."""
    without = 0
    for _, _, case in sorted(small(limit, seed), key=lambda entry: entry[0]):
        outcome = backend.carried_out(case)
        if outcome.what != "agree":
            continue
        model = compiled(outcome)
        if model is None:
            without += 1
            continue
        yield case.name, outcome, model
        count -= 1
        if not count:
            assert without < 100
            return


def far(found, outcome):
    """The largest error, over the largest result."""
    pairs = zip(found, outcome.found, strict=True)
    return max(np.abs(np.reshape(a, np.shape(b)) - b).max() / max(1.0, np.abs(b).max()) for a, b in pairs)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_plans_of_300_cases_are_simulated() -> None:
    errors = {name: far(model.simulate(*outcome.arrays), outcome) for name, outcome, model in planned(300, 64, 1)}
    assert len(errors) == 300 and {name: e for name, e in errors.items() if e > 0.02} == {}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_40_cases_are_computed_encrypted() -> None:
    errors = {}
    for name, outcome, model in planned(40, 32, 2):
        client = model.client()
        found = client.decrypt(model.server(client.keygen().public())(client.encrypt(*outcome.arrays)))
        parts = found if isinstance(found, tuple) else (found,)
        errors[name] = far([part.reveal() for part in parts], outcome)
    assert len(errors) == 40 and {name: e for name, e in errors.items() if e > 0.02} == {}


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(LIGHT.glob("*.onnx")), ids=lambda path: path.stem)
def test_known_networks_reproduce_their_stored_results(path) -> None:
    given = onnx.load(path)
    weights = {array.name for array in given.graph.initializer}
    (x,) = [value for value in given.graph.input if value.name not in weights]
    shape = [extent.dim_value for extent in x.type.tensor_type.shape.dim]
    ramp = (np.arange(np.prod(shape)).reshape(shape) / np.prod(shape)).astype(np.float32)
    stored = onnx.TensorProto.FromString((path.parent / f"{path.stem}_output_0.pb").read_bytes())
    program = lw.from_onnx(path, memory_bytes=8 << 30)
    np.testing.assert_allclose(program(ramp), numpy_helper.to_array(stored), rtol=1e-3, atol=1e-7)
