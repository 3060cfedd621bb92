"""`accuracy`: how accurate a program is on data when it runs encrypted, and where it loses."""

from __future__ import annotations

import json as json_text
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from latticework.commands.array_files import read_arrays, read_values
from latticework.commands.command_files import prepare
from latticework.commands.command_output import CommandOutput, Outcome
from latticework.commands.compiling import compile_with, list_files, type_rows
from latticework.commands.named_words import read_limits
from latticework.commands.programs import load_program
from latticework.commands.table_files import is_table, read_table_file
from latticework.errors import TraceError, UserError
from latticework.frontend import Program
from latticework.report import report_ending
from latticework.values.inputs.reading_budget import ReadingLimits


def accuracy(
    talk: CommandOutput,
    program: str,
    rows: Mapping[str, Any],
    measuring: Mapping[str, Any],
    report: Path | None,
    force: bool,
    loading: Mapping[str, Any],
    keywords: Mapping[str, Any],
) -> Outcome:
    """Measure how accurate a program is on data, with polynomials, noise and encryption; see the table of commands."""
    data, labels = rows["data"], rows["labels"]
    if report is not None:
        report_ending(report, program)
        prepare(talk, report, force=force, inputs=list_files(program, keywords, data, labels))
    with talk.step("load the program"):
        found = load_program(program, **loading)
    if not isinstance(found, Program):
        raise TraceError(f"{program} is a circuit, whose functions are not approximated: it computes what is written")
    allowed = read_limits(loading["limits"])
    samples = type_rows(found, read_values(data, allowed))
    model = compile_with(talk, found, keywords, allowed)
    with talk.step("look at the data"):
        made = model.accuracy(samples, _read_labels(labels, allowed) if labels else None, **measuring)
    facts = {"program": model.plan.client.name, "report": None if report is None else str(report)}
    told = {**facts, "accuracy": json_text.loads(made.json())} if talk.json else facts
    if report is not None:
        made.save(report)
    return Outcome(told, () if report is None else (f"wrote {report}",), body=str(made))


def _read_labels(path: Path, limits: ReadingLimits) -> Any:
    """A label for each row: an array, or the only column of a table.

    raises  UserError for a table of several columns; as `read_arrays` and `read_table_file`
    """
    if not is_table(path):
        return read_arrays(path, limits)
    read = read_table_file(path, limits)
    if read.shape[1] != 1:
        raise UserError(f"{path} has the columns {', '.join(read.columns)}: give a table of labels alone")
    return np.array(np.asarray(read)[:, 0].tolist())
