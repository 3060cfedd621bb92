"""Tables in .csv and .parquet files: read by column names, as the model takes them, and refused with their place."""

import csv

import numpy as np
import pytest

import latticework as lw
from latticework.commands.table_files import read_table_file, type_cells
from latticework.errors import ColumnsError, FormatError
from latticework.plan.client_steps import (
    Beside,
    Columns,
    Fill,
    Given,
    IsMissing,
    Labels,
    LookUp,
    Missing,
    Numbers,
    OwnerArray,
    OwnerStages,
    Piece,
    Prepared,
    Terms,
    TextAnalysis,
)
from latticework.values.inputs.column_names import in_order
from latticework.values.inputs.reading_budget import DEFAULTS, ReadingLimits

NAMES = ("age", "town", "paid", "note")
CODES = OwnerArray.of([0.0, 1.0])
CHAINS = (
    (Columns(-1, 4, (0,)), Fill(OwnerArray.of([30.0]))),
    (Columns(-1, 4, (1,)), Fill(None, ("01000",), Missing(("nan",))), LookUp(Labels.of(["01000", "2000"]), CODES)),
    (Columns(-1, 4, (2,)), LookUp(Labels.of([False, True]), CODES)),
    (Columns(-1, 4, (3,)), Terms(Labels.of(["good", "bad"]), TextAnalysis())),
    (Columns(-1, 4, (0, 2)), Fill(OwnerArray.of([30.0, 0.0])), Columns(-1, 2, (1,)), Numbers()),
    (Columns(-1, 4, (0,)), IsMissing()),
)
FIRST = (
    (Columns(-1, 4, (0,)),),
    (Columns(-1, 4, (2,)), Fill(OwnerArray.of([0.0]))),
    (Columns(-1, 4, (1,)), Fill(None, ("01000",))),
)
CHAINS = (
    *CHAINS,
    (Beside(4, FIRST), Beside(3, ((Columns(-1, 3, (2,)), LookUp(Labels.of(["01000"]), OwnerArray.of([7.0]), 8.0)),))),
)
STAGES = OwnerStages((Given("x", (1, 4), NAMES, True),), (Prepared("x", (Piece("x", (Beside(4, CHAINS),)),)),))
TEXT = 'note,age,town,paid,more\n"good, ""bad""\nand good",12.5,2000,True,1\nbad,,,False,\n'


def read(tmp_path, text, *, name="t.csv", encoding="utf-8", limits=DEFAULTS):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return type_cells(read_table_file(path, limits), STAGES, "x", NAMES)


def encoded(table):
    cells = np.asarray(in_order(table, NAMES, "x", is_part=True))
    return STAGES.before[0].pieces[0].steps[0].apply(cells)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_cells_are_what_the_steps_take(tmp_path, ending, encoding):
    found = encoded(read(tmp_path, TEXT.replace("\n", ending), encoding=encoding))
    assert found.tolist() == [[12.5, 1, 1, 2, 1, 1, 0, 8], [30, 0, 0, 0, 1, 0, 1, 7]]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "t.csv:1: 0 names"),
        ("age,town,paid,note\n", "no row below the header"),
        ("age;town;paid;note\n1;2;3;4\n", "separate cells by commas"),
        ("age,town,age,note\n1,2,3,4\n", "column 'age' stands twice"),
        ("age,,paid,note\n1,2,3,4\n", "column 1 has no name"),
        ("age,town,paid,note\n1,2000,True,a\n2,2000,True\n", "t.csv:3, row 1: 3 cells, and the header names 4"),
        ("age,town,paid,note\n1,2000,True,a,b\n", "t.csv:2, row 0: 5 cells"),
        ("age,town,paid,note\n1,2000,True,a\n\n2,2000,True,b\n", "t.csv:3: an empty line between rows"),
        ('age,town,paid,note\n"12,5",2000,True,a\n', "t.csv:2, row 0, column age: it is no number"),
        ("age,town,paid,note\n1_000,2000,True,a\n", "column age: it is no number"),
        ("age,town,paid,note\n1,2000,True,a\ninf,2000,True,a\n", "t.csv:3, row 1, column age: it is no number"),
        ("age,town,paid,note\n1,2000,yes,a\n", "column paid: it is no number"),
        ("age,town,paid,note\n1,NA,True,a\n", "column town: some programs take this text for a missing value"),
        ("age,town,paid,note\nnan,2000,True,a\n", "column age: some programs take this text for a missing value"),
        ('age,town,paid,note\n1,2000,True,"a\n', "t.csv:2: unexpected end of data"),
        ('age,town,paid,note\n1,2000,True,"a"b\n', "t.csv:2: ',' expected after"),
        (b"age,town,paid,note\n1,2000,True,\xe4\n", "byte 0xe4 is no text in UTF-8"),
        (b"age,town,paid,note\n1,2000,True,a\0b\n", "a zero byte|line contains NUL"),
        ("age,town,paid,note\n1,2000,True," + "a" * (1 << 21) + "\n", "field larger than field limit"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_refused_at_its_place(tmp_path, text, why):
    with pytest.raises(FormatError, match=why):
        read(tmp_path, text)
    assert csv.field_size_limit() == 131072  # as it was


def test_large_files_are_refused(tmp_path):
    rows = "age,town,paid,note\n" + "1,2000,True,a\n" * 200
    with pytest.raises(FormatError, match="more than the limit file_bytes"):
        read(tmp_path, rows, limits=ReadingLimits(file_bytes=1000))
    with pytest.raises(FormatError, match="take more than the limit memory_bytes"):
        read(tmp_path, rows, limits=ReadingLimits(memory_bytes=100))


def test_columns_that_are_missing_are_named(tmp_path):
    table = read(tmp_path, "age,town\n1,2000\n")
    with pytest.raises(ColumnsError, match="missing: paid, note"):
        in_order(table, NAMES, "x", is_part=True)


def test_a_column_of_texts_and_numbers_is_refused(tmp_path):
    chains = (*CHAINS, (Columns(-1, 4, (1,)), Numbers()))
    stages = OwnerStages(STAGES.given, (Prepared("x", (Piece("x", (Beside(4, chains),)),)),))
    path = tmp_path / "t.csv"
    path.write_text(TEXT)
    with pytest.raises(lw.UserError, match="column 1 is read as texts and as numbers"):
        type_cells(read_table_file(path, DEFAULTS), stages, "x", NAMES)


def test_parquet_has_types(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"note": ["good bad good", "bad"], "age": [12.5, None], "town": ["2000", None], "paid": [True, False]}
    table = arrow.table({**columns, "kind": arrow.array(["p", "q"]).dictionary_encode()})
    parquet.write_table(table, tmp_path / "t.parquet")
    found = encoded(read(tmp_path, (tmp_path / "t.parquet").read_bytes(), name="t.parquet"))
    assert found.tolist() == [[12.5, 1, 1, 2, 1, 1, 0, 8], [30, 0, 0, 0, 1, 0, 1, 7]]
    data = (tmp_path / "t.parquet").read_bytes()
    for damaged in (b"", data[:100], data[:-20] + bytes(20), data[:40] + b"\xff" * 40 + data[80:]):
        with pytest.raises(FormatError, match="Parquet file|damaged"):
            read(tmp_path, damaged, name="u.parquet")
    parquet.write_table(arrow.table({"age": [1.5] * 100_000}), tmp_path / "large.parquet")
    with pytest.raises(FormatError, match="more than the limit memory_bytes"):
        read(
            tmp_path,
            (tmp_path / "large.parquet").read_bytes(),
            name="v.parquet",
            limits=ReadingLimits(memory_bytes=1000),
        )
    days = arrow.table({"age": arrow.array([1, 2], arrow.date32())})
    parquet.write_table(days, tmp_path / "d.parquet")
    with pytest.raises(lw.UserError, match="column age: cells of type date32"):
        read(tmp_path, (tmp_path / "d.parquet").read_bytes(), name="d.parquet")
