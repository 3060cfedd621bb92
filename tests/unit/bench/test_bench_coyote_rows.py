"""Baselines of the Coyote suite give what the kernels give; its figures are set beside the published ones."""

import io
import json

import numpy as np
import pytest
from rich.console import Console

from latticework import bfv
from latticework.commands.benchmarks import suites
from latticework.errors import UserError

bench_suites = suites()  # puts the source tree on the path
from bench.coyote import suite  # noqa: E402
from bench.coyote import tuning as tuning_study  # noqa: E402
from bench.coyote.by_hand import ByHand  # noqa: E402
from bench.coyote.cases import TABLE_1, Case, Given, cases  # noqa: E402
from bench.coyote.exact_studies import alignment, optimum  # noqa: E402
from bench.coyote.graphs import ADD_CONSTANT, INPUT, MUL, NEG, SUB, graph  # noqa: E402
from bench.coyote.means import Means  # noqa: E402
from bench.coyote.measuring import How, flat, has_experts, in_turns, measure, scalar_code  # noqa: E402
from bench.coyote.outcomes import Outcome, rows_of  # noqa: E402
from bench.coyote.published import table2  # noqa: E402
from bench.coyote.scalar import ScalarCode  # noqa: E402
from bench.coyote.studies import effort  # noqa: E402
from bench.coyote.tables import COLUMNS, cells, markdown, table  # noqa: E402
from bench.coyote.tuning import TUNED  # noqa: E402
from latticework import _core  # noqa: E402

ALL = {case.name: case for case in cases()}
COUNTS = ("adds", "muls", "rotations", "blends", "masks", "mul_constants", "add_constants", "negs")


@pytest.fixture(scope="module")
def parameters():
    return bfv.Parameters(2**11, [49] * 3, p_bits=[49], plain_bits=20, insecure=True)


@pytest.mark.parametrize("name", ["dot.3.un", "conv.4.2.un", "dist.3.un", "sort[3]", "determinant", "hamming.4", "gx"])
def test_scalar_code_computes_the_kernel(name, parameters):
    case = ALL[name]
    code, inputs = ScalarCode(case, parameters), case.inputs(2)
    assert code.decrypt(code.run(code.encrypt(inputs))) == case.expected(inputs, parameters.plain_modulus)


@pytest.mark.parametrize("name", [name for name in ALL if has_experts(name)])
def test_code_by_hand_computes_the_kernel(name, parameters):
    case = ALL[name]
    code, inputs = ByHand(name, parameters), case.inputs(2)
    assert code.decrypt(code.run(code.encrypt(inputs))) == case.expected(inputs, parameters.plain_modulus)
    assert name.startswith("dist") or code.rotations > 0


def test_there_is_code_by_hand_for_the_kernels_of_table_2():
    assert {name.rpartition(".")[0] for name in ALL if has_experts(name)} == set(table2())


@pytest.mark.parametrize("name", ["dist.3.partially", "sort[3]", "sort[3].grouped.fully", "determinant", "hamming.4"])
def test_graphs_compute_the_kernel(name):
    case = ALL[name]
    built, inputs = graph(case, 1024), case.inputs(3)
    given = iter(np.concatenate([np.ravel(x) for x in inputs.values()]).tolist())
    constants = {"sort[3]": [1], "sort[3].grouped.fully": [1], "hamming.4": [2]}.get(name, [])
    values = []
    for code, left, right in zip(built.code, built.left, built.right, strict=True):
        if code == INPUT:
            values.append(next(given))
        elif code in (NEG, ADD_CONSTANT):
            values.append(-values[left] if code == NEG else values[left] + constants[right])
        else:
            a, b = values[left], values[right]
            values.append(a * b if code == MUL else a - b if code == SUB else a + b)
    assert [values[node] for node in built.outputs] == case.expected(inputs, 2**31)
    codes, counts = built.code, case.counts
    assert codes.count(MUL) == counts.muls
    assert len(codes) - codes.count(INPUT) - codes.count(NEG) == counts.muls + counts.adds


def found(case, moves, speedup=2.0, seconds=0.5, **other):
    counts = dict.fromkeys(COUNTS, 1) | {"rotations": moves, "blends": 0}
    return Outcome(
        case, counts, case.ciphertexts, case.slots, seconds, 0.001, 0.001, speedup / 1000, is_right=True,
        was_encrypted=True, **other,
    )  # fmt: skip


def test_rows_stand_beside_the_published_ones():
    rows = {row.metric: row for row in rows_of(found(ALL["dot.6.un"], 3), "normal")}
    moves, speedup = rows["rotations + blends"], rows["speed-up over scalar code"]
    assert (moves.ours, moves.reference, moves.meets) == (3, 5, True)
    assert (speedup.ours, speedup.reference, speedup.target, speedup.meets) == (2.0, 2.51, 2.51, False)
    alone = {row.metric: row for row in rows_of(found(ALL["mm.2.un"], 3), "normal")}
    assert alone["speed-up over scalar code"].target == 1.0  # none is published
    assert rows["compile"].target == 1.0 and rows["compile"].ratio == 318
    assert rows["client slots"].meets is True
    failed = Outcome(ALL["dot.6.un"], failure="no memory")
    (row,) = rows_of(failed, "normal")
    assert row.meets is False and row.note == "no memory"
    assert "no memory" in cells(failed) and len(cells(failed)) == len(COLUMNS)


def test_means_are_over_table_1():
    whole = [found(case, 0 if case.name == "dot.3.un" else 1) for case in ALL.values() if case.table == TABLE_1]
    rows = {row.metric: row for row in Means(whole).rows()}
    assert rows["rows slower than scalar code"].meets is True
    share = rows["rotations + blends, ours by published, geometric mean"]
    assert share.details["rows at zero"] == 1 and share.meets is True
    speedup = rows["speed-up over scalar code, 18 rows of table 3, geometric mean"]
    assert speedup.ours == pytest.approx(2.0) and speedup.meets is False
    assert speedup.reference == pytest.approx(2.27, abs=0.01)
    assert rows["compile, sum"].ours == pytest.approx(39 * 0.5)
    assert rows["rotations"].target == 70
    part = {row.metric: row for row in Means([*whole[1:], Outcome(whole[0].case, failure="?")]).rows()}
    assert part["compile, sum"].target is None and part["compile, sum"].note == "without conv.4.2.un"
    slow = {row.metric: row for row in Means([found(whole[0].case, 9, speedup=0.9)]).rows()}
    assert slow["rows slower than scalar code"].ours == 1
    assert list(Means([]).rows()) == []


def test_tables_have_a_line_for_each_case():
    outcomes = [found(ALL["dot.6.un"], 3), Outcome(ALL["dot.3.un"], failure="broken")]
    console = Console(file=io.StringIO(), width=200)
    console.print(table(outcomes, "title"))
    shown = console.file.getvalue()
    assert "dot.6.un" in shown and "2.51x" in shown and "broken" in shown
    assert markdown(outcomes).count("\n") == 3


def test_results_are_numbers_nearest_to_zero():
    assert flat((np.array(7), np.array([12, -12])), 13) == [-6, -1, 1]


def test_sides_take_turns():
    order = []
    results, times = in_turns([lambda: order.append("a") or 1, lambda: order.append("b") or 2], runs=2)
    assert results == [1, 2] and len(times) == 2
    assert "".join(order[:6]) == "ababab"


def test_one_failure_is_one_row(monkeypatch):
    monkeypatch.setattr("bench.coyote.measuring.compiled", lambda *_: 1 / 0)
    assert measure(ALL["dot.3.un"], How()).failure == "ZeroDivisionError: division by zero"


def test_effort_study_tells_cost_by_rounds(monkeypatch):
    monkeypatch.setattr("bench.coyote.studies.MOVES", (100, 500))
    monkeypatch.setattr("bench.coyote.studies.ROUNDS", 10)
    rows = list(effort([ALL["mm.2.un"]], How(), 2, str))
    assert [row.case for row in rows] == ["mm.2.un, 100 moves a round", "mm.2.un, 500 moves a round"]
    for row in rows:
        costs = list(row.details["cost by rounds"].values())
        assert costs == sorted(costs, reverse=True) and costs[-1] == row.ours


def test_cases_are_chosen_by_name_and_pattern():
    chosen = [name for name, case in ALL.items() if suite.is_chosen(case, "dot.3.*, sort[3]")]
    assert chosen == ["dot.3.un", "dot.3.partially", "dot.3.fully", "sort[3]"]
    assert sum(suite.is_chosen(case, "table 1") for case in ALL.values()) == 39


def test_unknown_options_are_refused():
    with pytest.raises(UserError, match="'quick' is none of fast, normal, max"):
        suite.coyote(effort="quick")
    with pytest.raises(UserError, match="names none of"):
        suite.coyote(effort="fast", algorithm="search", only="nothing", study="", seeds=1, runs=1, threads=1)


def test_reports_are_json(capsys):
    suite.show_all([found(ALL["dot.6.un"], 3)], How(), {}, json=True)
    content = json.loads(capsys.readouterr().out)
    assert content["suite"] == "coyote" and content["rows"]
    suite.show_all([found(ALL["dot.6.un"], 3)], How(), {}, json=False)
    assert "dot.6.un" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["dot.3.un", "sort[3]", "mm.2.fully", "box blur", "gx", "linear.64"])
def test_cases_compile_and_give_what_integers_give(name):
    outcome = measure(ALL[name], How(effort="fast", runs=0))
    assert outcome.failure is None and outcome.is_right
    assert outcome.moves <= ALL[name].published.rotations + ALL[name].published.blends
    assert outcome.ciphertexts <= ALL[name].ciphertexts and outcome.slots <= ALL[name].slots


@pytest.mark.parametrize(("name", "moves", "muls"), [("hamming.4 spelled", 2, 1), ("l2.4 spelled", 2, 1)])
def test_other_spellings_take_no_more(name, moves, muls):
    outcome = measure(ALL[name], How(effort="fast", runs=0))
    assert outcome.failure is None and outcome.is_right
    assert (outcome.moves, outcome.counts["muls"]) == (moves, muls)


def test_scalar_code_that_is_deeper_than_the_vector_code_takes_parameters_of_its_own():
    case = Case("power", "other", lambda x: [x[0] * x[0] * x[0] * x[0] * x[0]], {"x": Given((1,))})
    shallow = bfv.Parameters.choose(ring_degree=4096, plain_bits=20, depth=1)
    inputs = case.inputs(1)
    code, encrypted = scalar_code(case, shallow, inputs, How(threads=1))
    assert code.parameters is not shallow
    assert code.decrypt(code.run(encrypted)) == case.expected(inputs, code.modulus)
    simple = Case("sum", "other", lambda x: [x[0] + x[0]], {"x": Given((1,))})
    assert scalar_code(simple, shallow, inputs, How(threads=1))[0].parameters is shallow


def test_long_scalar_code_runs_once(monkeypatch):
    monkeypatch.setattr("bench.coyote.measuring.LONG_SECONDS", 0.0)
    ran = []
    _, times = in_turns([lambda: ran.append("vector"), lambda: ran.append("scalar")], runs=3)
    assert ran.count("scalar") == 1 and ran.count("vector") >= 4 and len(times) == 2


def test_scalar_products_take_the_fewest_rotations():
    pytest.importorskip("ortools")
    (row,) = optimum([ALL["dot.3.un"]], How(), 1, str)
    assert row.ours == row.reference == 2 and row.details["solver proved its placement"]


def test_exact_alignment_is_never_longer():
    pytest.importorskip("ortools")
    (row,) = alignment([ALL["conv.4.2.un"]], How(), 1, str)
    assert row.ours <= row.reference and row.details["proved to be the fewest"]


def test_every_constant_of_the_search_is_studied(monkeypatch):
    made = _core.lanes.SearchTuning()
    assert set(TUNED) == {name for name in dir(made) if not name.startswith("_")}
    monkeypatch.setitem(tuning_study.WORK, "fast", 1e4)
    first, *rows = tuning_study.tuning([ALL["dot.3.un"]], How("fast"), 1, lambda _: None)
    assert first.ours > 0 and len(rows) == len(TUNED) * len(tuning_study.FACTORS)
    assert {row.case.split(" = ")[0] for row in rows} == set(TUNED)
    assert all(row.ours > 0 for row in rows)
