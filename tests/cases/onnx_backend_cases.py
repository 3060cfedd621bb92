"""ONNX's own cases of its backend test: models with stored inputs and outputs, imported and carried out in NumPy.

Inputs of real numbers are encrypted; all others are given as public arrays.
"""

import warnings
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

import latticework as lw
from latticework.errors import UserError
from latticework.models.imported_program import identifier

KINDS = ("node", "pytorch-operator", "pytorch-converted", "simple")
QUANTISED = ("DequantizeLinear", "MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv")
REAL = {1, 10, 11, 16}
TOLERANCE = {10: (1e-2, 1e-2), 16: (2e-2, 2e-2)}  # by data type: of stored results; of others 1e-3 and 1e-5


@dataclass(frozen=True)
class BackendCase:
    """A model, and its stored values."""

    name: str
    model: onnx.ModelProto
    inputs: list
    outputs: list


@dataclass
class Outcome:
    """agree, refused, or what went wrong; program and its inputs where there are any."""

    what: str
    told: str = ""
    program: object = None
    arrays: list = field(default_factory=list)
    found: list = field(default_factory=list)


@lru_cache(maxsize=2)
def all_cases(kinds=KINDS):
    """All of them by name; those of kind node, which ONNX makes anew each time, take some seconds."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [(kind, case) for kind in kinds for case in load_model_tests(kind=kind)]
    return {f"{kind}/{case.name}": read_case(f"{kind}/{case.name}", case) for kind, case in found}


def read_case(name, case):
    """A case with its values as arrays; what is no array stays as it is."""
    if case.model is not None:
        inputs, outputs = (list(map(_plain, values)) for values in case.data_sets[0])
        return BackendCase(name, case.model, inputs, outputs)
    folder = Path(case.model_dir)
    model = onnx.load(folder / "model.onnx")
    values = [
        [_array(path) for path in sorted((folder / "test_data_set_0").glob(f"{what}_*.pb"), key=_number)]
        for what in ("input", "output")
    ]
    return BackendCase(name, model, *values)


def _plain(value):
    found = numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
    return found.astype(np.float32) if "bfloat16" in str(getattr(found, "dtype", "")) else found


def _number(path):
    return int(path.stem.split("_")[1])


def _array(path):
    tensor = onnx.TensorProto()
    try:
        tensor.ParseFromString(path.read_bytes())
        return numpy_helper.to_array(tensor)
    except Exception:
        return None


def operators_of(case):
    """Names of the operators of a case."""
    return sorted({node.op_type for node in case.model.graph.node})


# inputs that are of real numbers and no data: by operator, the places of those that have to be public
FIXED = {
    "QuantizeLinear": {1, 2}, "DequantizeLinear": {1, 2}, "QLinearConv": {1, 2, 4, 5, 6, 7}, "Range": {0, 1, 2},
    "QLinearMatMul": {1, 2, 4, 5, 6, 7}, "Resize": {1, 2, 3}, "Upsample": {1}, "Pad": {2}, "OneHot": {0, 1, 2},
    "Pow": {1}, "BatchNormalization": {1, 2, 3, 4}, "Clip": {1, 2}, "Dropout": {1}, "CastLike": {1}, "Conv": {1, 2},
    "CausalConvWithState": {1, 2}, "PRelu": {1}, "LSTM": {1, 2, 3, 7}, "GRU": {1, 2, 3}, "RNN": {1, 2, 3}, "Attention": {3},
}  # fmt: skip


def fixed(case, name):
    """Whether a node reads an input in such a place."""
    reads = ((n.op_type, i) for n in case.model.graph.node for i, read in enumerate(n.input) if read == name)
    return name == "attn_mask" or any(place in FIXED.get(operator, ()) for operator, place in reads)


def carried_out(case):
    """The outcome of one case."""
    given = [
        value for value in case.model.graph.input if value.name not in {a.name for a in case.model.graph.initializer}
    ]
    secret, public, shapes = [], {}, {}
    quantised = any(operator in QUANTISED for operator in operators_of(case))
    for value, array in zip(given, case.inputs, strict=False):
        kind = value.type.tensor_type.elem_type if value.type.HasField("tensor_type") else 0
        real = kind in REAL and not fixed(case, value.name)
        if (
            (real or (quantised and value is given[0]))
            and isinstance(array, np.ndarray | np.generic)
            and np.size(array)
            and np.isfinite(np.asarray(array, float)).all()
        ):
            secret.append((value.name, np.asarray(array)))
            shapes[value.name] = np.shape(array)
        elif isinstance(array, np.ndarray | np.generic) and np.asarray(array).dtype.kind in "biufUS":
            public[value.name] = np.asarray(array)
    try:
        program = lw.from_onnx(case.model.SerializeToString(), shapes, public=public)
        taken = [p.name for p in program.parameters]
        taken = taken if program.owner is None else program.owner.given_for(taken)
        arrays = [np.asarray(array, float) for name, array in secret if identifier(name) in taken]
        found = program(*arrays)
    except UserError as error:
        return Outcome("refused", str(error))
    except Exception as error:
        return Outcome("crashed", f"{type(error).__name__}: {error}")
    found = list(found) if isinstance(found, tuple) else [found]
    for value, have, want in zip(case.model.graph.output, found, case.outputs, strict=True):
        relative, absolute = TOLERANCE.get(value.type.tensor_type.elem_type, (1e-3, 1e-5))
        if np.asarray(want).dtype.kind in "iu" and (quantised or "QuantizeLinear" in operators_of(case)):
            ends = np.iinfo(np.asarray(want).dtype)
            have, absolute = np.clip(have, ends.min, ends.max), 1.0
        want = np.asarray(want, float)
        if np.shape(have) != want.shape:
            return Outcome("disagrees", f"{value.name}: shape {np.shape(have)}, not {want.shape}")
        if not np.allclose(have, want, relative, absolute, equal_nan=True):
            return Outcome("disagrees", f"{value.name}: {np.abs(have - want).max()}")
    return Outcome("agree", "", program, arrays, found)


if __name__ == "__main__":
    import sys

    warnings.simplefilter("ignore")
    counts, told = Counter(), {}
    for name, case in all_cases().items():
        if len(sys.argv) > 1 and sys.argv[1] not in name:
            continue
        outcome = carried_out(case)
        counts[outcome.what] += 1
        told.setdefault(outcome.what, []).append((name, operators_of(case), outcome.told))
    print(counts)
    for what in ("crashed", "disagrees"):
        for name, operators, text in told.get(what, []):
            print(what, name, operators, text[:300])
    by_operator = Counter(tuple(operators) for _, operators, _ in told.get("refused", []))
    shown = {}
    for _, operators, text in told.get("refused", []):
        shown.setdefault(tuple(operators), text)
    for operators, count in by_operator.most_common():
        print("refused", count, operators, shown[operators][:260])
