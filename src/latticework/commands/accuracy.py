"""`accuracy`: how accurate a program is on data when it runs encrypted, and where it loses."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from latticework.commands.arrays import read_arrays, read_values
from latticework.commands.compile_options import (
    AgreementShare,
    AllowInsecure,
    CalibrateFile,
    CostTableFile,
    Degree,
    ExampleFile,
    PrecisionBits,
    RingDegree,
    SecurityBits,
    Tolerance,
    WeightsFile,
)
from latticework.commands.files import Force, prepare
from latticework.commands.programs import Limits, PoolsOption, ProgramFile, Shapes, TrustFile, load_program
from latticework.commands.talk import Outcome, Talk, report_outcome
from latticework.compiler.compile import compile as compile_program
from latticework.errors import TraceError
from latticework.frontend import Program
from latticework.progress import ProgressBar
from latticework.report import report_ending
from latticework.user.reading import limits_of


@report_outcome
def accuracy(
    talk: Talk,
    program: ProgramFile,
    data: Annotated[Path, typer.Option(help=".npy or .npz with the rows to look at, apart from those of calibrate.")],
    labels: Annotated[Path | None, typer.Option(help=".npy with a label for each row of the data.")] = None,
    weights: WeightsFile = None,
    calibrate: CalibrateFile = None,
    example: ExampleFile = None,
    precision_bits: PrecisionBits = 12,
    degree: Degree = None,
    agreement: AgreementShare = None,
    tolerance: Tolerance = None,
    ring_degree: RingDegree = None,
    security_bits: SecurityBits = 128,
    insecure: AllowInsecure = False,
    cost_table: CostTableFile = None,
    encrypted: Annotated[int, typer.Option(help="Rows that a client and a server compute.")] = 8,
    simulated: Annotated[int, typer.Option(help="Rows with modelled noise, at most.")] = 1024,
    seed: Annotated[int, typer.Option(help="Of the modelled noise.")] = 0,
    trust_file: TrustFile = False,
    shape: Shapes = None,
    limit: Limits = None,
    pools: PoolsOption = "keep",
    report: Annotated[Path | None, typer.Option(help="Report to write: .html, .txt or .json.")] = None,
    force: Force = False,
) -> Outcome:
    """Say how accurate a program is on data, with polynomials, noise and encryption, and where it loses."""
    files = [file for file in (data, labels, weights, calibrate, example, cost_table) if file is not None]
    if report is not None:
        report_ending(report, program)
        prepare(talk, report, force=force, inputs=[Path(program.partition(":")[0]), *files])
    with talk.step("load the program"):
        allowed = limits_of(limit or [])
        found = load_program(program, trust=trust_file, shapes=shape, limits=allowed, pools=pools)
    if not isinstance(found, Program):
        raise TraceError(f"{program} is a circuit, whose functions are not approximated: it computes what is written")
    rows = read_values(data, allowed)
    with ProgressBar("compiling") as bar:
        model = compile_program(
            found,
            weights=read_arrays(weights, allowed) if weights else {},
            calibrate=read_values(calibrate, allowed) if calibrate else None,
            example=read_values(example, allowed) if example else None,
            precision_bits=precision_bits,
            degree=degree,
            agreement=agreement,
            tolerance=tolerance,
            ring_degree=ring_degree,
            security_bits=security_bits,
            insecure=insecure,
            cost_table=cost_table,
            on_event=talk.listener(bar),
            progress=False,
        )
    with talk.step("look at the data"):
        made = model.accuracy(
            rows, read_arrays(labels, allowed) if labels else None, encrypted, simulated=simulated, seed=seed
        )
    facts = {"program": model.plan.client.name, "report": None if report is None else str(report)}
    told = {**facts, "accuracy": json_text.loads(made.json())} if talk.json else facts
    if report is not None:
        made.save(report)
    return Outcome(told, () if report is None else (f"wrote {report}",), body=str(made))
