"""The table of remedies: its concepts are used, names that importers map to them exist, and its code can be written."""

import ast
import inspect
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import latticework as lw
from latticework.errors import remedies
from latticework.errors.remedies import REMEDIES, Remedy
from latticework.frontend.recording import unsupported
from latticework.frontend.recording.tracing import NUMPY
from latticework.models.onnx import refused_operators
from latticework.models.pytorch.operators import CONVERTERS as ATEN
from latticework.models.pytorch.operators import aten_refused
from latticework.models.sklearn import table as sklearn_table

SOURCES = Path(lw.__file__).parent
MAPS = {
    "NumPy": unsupported.NAMES, "PyTorch": aten_refused.NAMES, "ONNX": refused_operators.NAMES,
    "scikit-learn": sklearn_table.NAMES,
}  # fmt: skip
SENTENCES = {
    **{f"{name}, {part}": text for name, remedy in REMEDIES.items() for part, text in (
        ("programs", remedy.for_programs), ("models", remedy.for_models), ("circuits", remedy.for_circuits))},
    **unsupported.FORMULAS,
    **{name: remedy.for_models for name, remedy in sklearn_table.REMEDIES.items()},
}  # fmt: skip
OF_PUBLIC = {"np.zeros", "np.full", "np.eye", "np.arange", "np.outer", "np.ones", "np.linspace", "np.vander", "np.pi",
             "np.interp", "np.linalg.pinv"}  # fmt: skip


def concepts_in_sources() -> set[str]:
    """Concepts that code looks up by their names: REMEDIES["order"]."""
    tables = ("REMEDIES", "CONCEPTS")
    return {
        node.slice.value
        for path in SOURCES.rglob("*.py") if "remedies" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
        and isinstance(node.value, ast.Name) and node.value.id in tables
    }  # fmt: skip


def test_every_concept_is_used_and_every_one_used_is_known() -> None:
    used = concepts_in_sources().union(*MAPS.values())
    assert len(REMEDIES) > 30 and used - set(REMEDIES) <= {"cond"} and set(REMEDIES) - used == set()


@pytest.mark.parametrize("library", MAPS)
def test_no_name_has_two_remedies(library: str) -> None:
    names = Counter(name for listed in MAPS[library].values() for name in listed.split())
    assert [name for name, count in names.items() if count > 1] == []
    if library == "NumPy":
        assert not names.keys() & unsupported.FORMULAS.keys()


def test_names_of_numpy_and_scipy_exist() -> None:
    special = pytest.importorskip("scipy.special")
    places = (np, np.linalg, np.fft, np.lib.stride_tricks, np.polynomial.polynomial, np.ndarray, special)
    names = [*" ".join(unsupported.NAMES.values()).split(), *unsupported.FORMULAS]
    of_older = {"trapz"} if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else set(names)
    assert {name for name in names if not any(hasattr(place, name) for place in places)} <= of_older
    functions = [getattr(place, name) for name in names for place in (np, np.fft) if hasattr(place, name)]
    assert [f for f in functions if f in NUMPY and f not in (np.conj, np.trace, np.diagonal)] == []  # their methods


def test_names_of_pytorch_exist_and_are_refused() -> None:
    torch = pytest.importorskip("torch")
    names = " ".join(aten_refused.NAMES.values()).split()
    assert len(names) > 80
    for name in names:
        operator, _, overload = name.partition(".")
        assert overload in getattr(torch.ops.aten, operator).overloads(), name
    assert not set(aten_refused.REMEDIES) & {converter.operator for converter in ATEN}


def test_names_of_onnx_exist_and_are_refused() -> None:
    onnx = pytest.importorskip("onnx")
    from latticework.models.client_rules.classes import CLASS_STEPS  # of ours, which several nodes become
    from latticework.models.onnx.operators.table import CONVERTERS

    assert len(refused_operators.REMEDIES) > 30
    for name in refused_operators.REMEDIES.keys() - CLASS_STEPS.keys():
        domain, _, operator = name.rpartition(".")
        assert domain == "com.microsoft" or onnx.defs.has(operator, domain), name
    assert not refused_operators.REMEDIES.keys() & {converter.operator for converter in CONVERTERS}


def test_names_of_sklearn_exist_and_are_refused() -> None:
    discovery = pytest.importorskip("sklearn.utils.discovery")
    known = dict(discovery.all_estimators())
    assert [name for name in sklearn_table.REMEDIES if name not in known] == []
    assert not sklearn_table.REMEDIES.keys() & sklearn_table.ESTIMATORS.keys()
    for name, text in SENTENCES.items():
        advised = re.search(r"\bfit ([^;)]*)", text)
        for kind in re.findall(r"\b[A-Z]\w*[A-Z]\w*", advised[1] if advised else ""):
            assert kind in sklearn_table.ESTIMATORS, (name, kind)


@pytest.mark.parametrize("name", SENTENCES)
def test_code_in_remedies_can_be_written(name: str) -> None:
    """Functions exist and take the options that are named; those of NumPy take secrets; pages exist."""
    text = SENTENCES[name]
    assert len(text) < 400, "beyond this nobody reads a message"
    for path in re.findall(r"\b(?:lw|np)(?:\.[a-zA-Z_]\w*)+", text):
        found: object = {"lw": lw, "np": np}[path[:2]]
        for part in path.split(".")[1:]:
            found = getattr(found, part)
        if path.startswith("np.") and path not in OF_PUBLIC:
            assert found in NUMPY, f"{path} does not take secrets"
    for function, option in re.findall(r"\blw\.(\w+)\([^()=]*\b(\w+)=\.\.\.", text):
        assert option in inspect.signature(getattr(lw, function)).parameters
    for page in re.findall(r"docs/\w+\.md", text):
        assert (Path(__file__).parents[3] / page).exists()
    if "scheme=" in text:
        assert re.findall(r'scheme="(\w+)"', text) == ["bfv"]


def test_a_sentence_of_the_table_is_written_once() -> None:
    """What other files say anew would drift."""
    table = Path(remedies.__file__)
    clauses = {
        clause
        for remedy in REMEDIES.values()
        for text in (remedy.why, remedy.outside, remedy.program, remedy.circuit)
        for clause in re.split(r"[:;] |, and |, or ", text)
        if len(clause) > 34
    }
    assert len(clauses) > 60
    for path in SOURCES.rglob("*.py"):
        if path != table:
            text = re.sub(r'"\s*\n\s*f?"', "", path.read_text())  # strings over several lines
            assert [clause for clause in clauses if clause in text] == [], path


def test_a_remedy_says_what_is_wrong_before_what_to_do() -> None:
    remedy = Remedy("it is secret", "return it", "compute", "select").add("or ask")
    assert remedy.for_programs == "it is secret: compute; or return it (or ask)"
    assert remedy.for_models == "it is secret: return it (or ask); in a program (lw.program), compute"
    assert remedy.for_circuits == "it is secret: select"
    assert Remedy("it is secret", "return it", circuit="").for_circuits == "it is secret: return it"
    assert all(remedy.why and remedy.outside for remedy in REMEDIES.values())
