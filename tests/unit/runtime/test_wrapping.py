"""Results of circuits on integers that may have wrapped around: no bound is stated for them, and for no others."""

import json
import warnings
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from typer.testing import CliRunner

import latticework as lw
from latticework.cli import app
from latticework.errors import FormatError, RangeError, RangeWarning
from latticework.plan.files.serialise import read_client, write_client
from latticework.report.build import build_client_report

QUICK = {"scheme": "bfv", "plain_bits": 17, "ring_degree": 4096, "insecure": True, "progress": False}


@lw.circuit
def mixed(a: lw.scalar(low=0, high=5000), b: lw.scalar(low=0, high=5000), c: lw.vector(3, low=-9, high=9)):
    square = a * b
    return {
        "product": square,
        "some": np.array([a + b, square, c[0] * c[1] - 1]),
        "back": square - (square - c[2]),
        "others": [c[1], a - 2 * b],
    }


def compiled(circuit, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RangeWarning)
        return lw.compile(circuit, **(QUICK | options))


def run(model, **values):
    client = model.client(threads=1)
    return client.decrypt(model.server(client.keygen().public(), threads=1)(client.encrypt(**values)))


@pytest.fixture(scope="module")
def model():
    return compiled(mixed)


VALUES = {"a": 4000, "b": 4000, "c": [3, -2, 7]}


@pytest.mark.parametrize("runs", [1, 3])
def test_what_may_wrap_has_no_bound_and_the_rest_is_exact(model, runs):
    """Values on the way may wrap freely: `back` is exact."""
    many = [{**VALUES, "a": VALUES["a"] - i} for i in range(runs)]
    stack = {name: [each[name] for each in many] for name in VALUES} if runs > 1 else VALUES
    want = [mixed(**each) for each in many]
    got = run(model, **stack)
    for name, value in got.items():
        exact = np.array([each[name] for each in want] if runs > 1 else want[0][name], dtype=np.int64)
        is_right = value.reveal() == exact
        assert (is_right | ~value.is_certain).all() and (is_right | (value.error_bounds == inf)).all()
        assert (value.error_bound == inf) == (name in ("product", "some")) == (not value.is_proved)
    assert got["some"].is_certain.tolist() == [[True, False, True]] * runs if runs > 1 else [True, False, True]
    assert not (got["product"].reveal() == [each["product"] for each in want]).any()
    assert f"{runs} of {3 * runs} numbers NOT CERTAIN" in got["some"].doubt() and not got["others"].doubt()
    assert "wraps around, and is wrong; compile with a larger plain_bits=" in got["product"].doubt()


def test_files_and_reports_tell_which(model):
    spec = model.plan.client
    assert read_client(write_client(spec)) == spec
    conditions = dict(spec.result_conditions())
    assert {name for name, held in conditions.items() if held} == {"product", "some"}
    for report in (model.report(), build_client_report(spec)):
        said = " ".join(report.text().split())
        assert "The error bound of product, some holds only where integers modulo 114689, -57344 to 57344, hold" in said
        outputs = json.loads(report.json())["outputs"]
        assert any(o["error_bound"] is None for o in outputs) and any(o["error_bound"] == 0 for o in outputs)
    broken = replace(spec, outputs=tuple(replace(o, wrapping=(o.shape[0],)) for o in spec.outputs))
    with pytest.raises(FormatError, match="what may wrap around is no part of output"):
        read_client(write_client(broken))


def test_the_command_marks_them(model, tmp_path):
    client = model.client(threads=1)
    keys = client.keygen()
    keys.save(tmp_path / "keys")
    client.save(tmp_path / "m.lwclient")
    model.server(keys.public(), threads=1)(client.encrypt(**VALUES)).save(tmp_path / "y.lwct")
    line = ["decrypt", *(str(tmp_path / name) for name in ("m.lwclient", "y.lwct")), "-k", str(tmp_path / "keys")]
    done = CliRunner().invoke(app, [*line, "--insecure"])
    assert (
        "product (NOT CERTAIN) =" in done.stdout and "NOT CERTAIN at [1]" in done.stdout and "back =\n7" in done.stdout
    )
    told = json.loads(CliRunner().invoke(app, [*line, "--insecure", "--json"]).stdout)
    outputs, said = told["outputs"], "\n".join(told["warnings"])
    assert outputs["product"]["error_bound"] is None and outputs["product"]["certain"] is False
    assert outputs["some"]["certain"] == [True, False, True] and outputs["back"]["error_bound"] == 0
    assert "product: NOT CERTAIN" in said and "--plain-bits" in said and "back" not in said


def test_an_undeclared_range_is_all_that_clients_accept():
    """Compiling warns of -1 to 1 alone, and clients take any residue."""

    @lw.circuit
    def undeclared(a: lw.scalar(), b: lw.scalar(), c: lw.scalar(low=-3, high=3)):
        return a * b, a, c * c, a + b

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = lw.compile(undeclared, **QUICK)
    product, itself, square, total = run(made, a=4000, b=4000, c=3)
    assert int(product.reveal()) != 16_000_000 and product.error_bound == inf and not product.is_certain
    assert total.error_bound == inf  # of 57344 + 57344
    for value, want in ((itself, 4000), (square, 9)):
        assert value.is_certain and value.error_bound == 0 and int(value.reveal()) == want
    (modular, *_) = run(compiled(undeclared, wraps=True), a=4000, b=4000, c=3)
    assert modular.is_certain and modular.error_bound == 0


def test_what_another_circuit_computed_counts_as_any_residue():
    """Nobody sees whether it lies in the range that is declared of it."""

    @lw.circuit
    def first(a: lw.vector(2, low=0, high=100)):
        return {"kept": a * 2, "wrapped": a * a * a}

    one = compiled(first, spare_levels=1)

    def second(result):
        lanes = one.lanes(result)

        @lw.circuit
        def combine(p: lw.vector(2, lanes=lanes, low=0, high=5), s: lw.scalar(low=-4, high=4)):
            return p * s, p + 0, s * s

        return [bool(conditions) for _, conditions in compiled(combine, like=one).plan.client.result_conditions()]

    assert second("kept") == [True, False, False]
    assert second("wrapped") == [True, True, False]


@pytest.mark.parametrize("compare", [lambda x: x == 7, lambda x: lw.select(x < 100, 1, 0), lambda x: x % 7])
def test_no_comparison_reads_a_number_that_may_wrap(compare):
    @lw.circuit
    def compared(a: lw.scalar(low=0, high=5000), b: lw.scalar(low=0, high=5000)):
        return compare(a * b)

    with pytest.raises(RangeError, match="declare narrower ranges"):
        lw.compile(compared, **QUICK)
