"""HEIR's text of a plan, read line by line and computed with in NumPy."""

import re

import numpy as np
import pytest

import latticework as lw
from bench.export.programs import CASES
from bench.keymemrt.on_openfhe import modes
from bench.keymemrt.on_openfhe.dialect_text import DialectLines
from latticework.errors import UnsupportedError
from latticework.frontend.heir.keys import place_keys
from latticework.frontend.heir.parse import parse
from latticework.model import check_inputs
from latticework.plan.analysis.simulate import simulate
from latticework.plan.export import export_plan
from latticework.plan.export.lift_plan import lift_plan
from latticework.values.packing.slot_arrays import as_vectors

REAL = lw.Techniques(complex_packing=False)
NAMES = ("several-inputs-and-outputs", "short-vectors", "transposed", "many-vectors", "convolution", "polynomial")
LINE = re.compile(r"(%\w+) = (\w+)\.(\w+) (.*) : (.*)")
ARITHMETIC = {"add": np.add, "sub": np.subtract, "mul": np.multiply}


def model_of(name):
    case = CASES[name]()
    model = lw.compile(case.program, techniques=REAL, **case.options)
    values, _ = check_inputs(model.plan.client, (), dict(case.inputs))
    slots = lift_plan(model.plan).slots
    inputs = zip(model.plan.client.secret_inputs, values, strict=True)
    vectors = [np.tile(v, slots // len(v)) for i, value in inputs for v in as_vectors(i.pack_values(value))]
    return model, vectors, values


def computed(text, vectors):
    """The results of the function `main`, for slot vectors."""
    found = {f"%arg{number}": vector for number, vector in enumerate(vectors)}
    slots = len(vectors[0])
    for name, dialect, op, rest, kind in LINE.findall(text):
        words = rest.split(", ")
        if op == "constant" and kind == "index":
            found[name] = int(rest)
        elif op == "constant":
            found[name] = np.broadcast_to(np.array(eval(rest.removeprefix("dense<").removesuffix(">"))), (slots,))
        elif dialect == "tensor_ext":
            assert op == "rotate"
            found[name] = np.roll(found[words[0]], -found[words[1]])
        else:
            found[name] = ARITHMETIC[op[:3]](found[words[0]], found[words[1]])
    return [found[name] for name in re.search(r"return (.*) :", text)[1].split(", ")]


def unpacked(model, places, results):
    """Results as they are packed in vectors, by output."""
    for output in model.plan.client.outputs:
        yield np.concatenate([results.pop(0) for _ in range(output.pack.count)])[
            places[f"places of {output.name}, first"]
        ]


@pytest.mark.parametrize("name", NAMES)
def test_text_computes_what_the_plan_does(name, tmp_path):
    model, vectors, values = model_of(name)
    export_plan(model.plan, "heir", tmp_path)
    results = computed((tmp_path / "program.mlir").read_text(), vectors)
    with np.load(tmp_path / "packing.npz") as places:
        for found, wanted in zip(unpacked(model, places, results), simulate(model.plan, values), strict=True):
            assert np.max(np.abs(found - wanted.reshape(-1))) <= 1e-6


def test_integers_at_run_time_and_imaginary_parts_are_refused(tmp_path):
    for name, why in (("loop-of-sums", "public integers"), ("transposed", "complex_packing=False")):
        case = CASES[name]()
        with pytest.raises(UnsupportedError, match=why):
            lw.compile(case.program, **case.options).export("heir", tmp_path / "new")
    assert not (tmp_path / "new").exists()


class Library:
    """Operations of OpenFHE that programs with keys call, on slots; a key is its number of steps."""

    def __init__(self):
        self.held, self.asked = {}, []

    EvalAdd, EvalSub, EvalMult, EvalNegate = map(staticmethod, (np.add, np.subtract, np.multiply, np.negative))

    def FindAutomorphismIndex(self, steps):
        return steps

    def EvalAutomorphism(self, x, steps, key):
        assert key == steps
        return np.roll(x, -steps)

    def ask(self, steps):
        assert steps not in self.asked and steps not in self.held
        self.asked.append(steps)

    def load(self, steps):
        assert steps not in self.held
        self.asked = [each for each in self.asked if each != steps]
        self.held[steps] = steps

    def clear(self, steps):
        del self.held[steps]

    def get(self, steps):
        return self.held[steps]


@pytest.mark.parametrize("name", ["transposed", "convolution"])
def test_programs_with_keys_find_them_and_compute_the_same(name, tmp_path):
    model, vectors, _ = model_of(name)
    text = DialectLines(lift_plan(model.plan))
    (tmp_path / "program.mlir").write_text(text.write())
    first = None
    for budget in (None, 1, 3):
        keyed = place_keys(tmp_path / "program.mlir", budget=budget, function="main")
        lines, ends = modes.lines_of(parse(keyed.text, "program.mlir"), len(vectors))
        rules = [lines] if budget else [lines, modes.low_memory(lines), modes.balanced(lines, 4)]
        for placed in rules:
            cc, space = Library(), {}
            exec(modes.source_of(placed, ends), space)
            found = space["evaluate"](cc, cc, vectors, lambda number: text.plaintexts[number])
            first = found if first is None else first
            assert all(np.array_equal(a, b) for a, b in zip(found, first, strict=True))
            assert not cc.held and not cc.asked
            assert budget is None or modes.count_loads(placed)[1] <= budget
