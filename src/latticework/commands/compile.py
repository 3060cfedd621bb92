"""`compile`: a plan and a client file from a program."""

from __future__ import annotations

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
from latticework.progress import ProgressBar
from latticework.report import report_ending
from latticework.user.reading import limits_of


@report_outcome
def compile(
    talk: Talk,
    program: ProgramFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Plan to write; the client file beside it ends in .lwclient.")
    ] = Path("model.lwplan"),
    force: Force = False,
    weights: WeightsFile = None,
    calibrate: CalibrateFile = None,
    labels: Annotated[
        Path | None, typer.Option(help=".npy with a label for each row of calibrate, to score by.")
    ] = None,
    example: ExampleFile = None,
    precision_bits: PrecisionBits = 12,
    degree: Degree = None,
    agreement: AgreementShare = None,
    tolerance: Tolerance = None,
    ring_degree: RingDegree = None,
    security_bits: SecurityBits = 128,
    insecure: AllowInsecure = False,
    cost_table: CostTableFile = None,
    network: Annotated[str, typer.Option(help="lan, wan or bits per second: what sending costs.")] = "lan",
    key_price: Annotated[float, typer.Option(help="Seconds of a run that a gigabyte less of keys is worth.")] = 0.0,
    scheme: Annotated[str, typer.Option(help="ckks, or bfv for circuits on exact integers.")] = "ckks",
    plain_bits: Annotated[int, typer.Option(help="Of the plaintext modulus of BFV.")] = 20,
    wraps: Annotated[
        bool, typer.Option("--wraps", help="Results modulo t are meant: no warning of large ones.")
    ] = False,
    plain_modulus: Annotated[int | None, typer.Option(help="Of BFV itself: a prime.")] = None,
    margin: Annotated[
        float, typer.Option(help="Part of a range seen by which functions are approximated beyond it on each side.")
    ] = 0.1,
    bootstrap: Annotated[str, typer.Option(help="auto: where levels run out, or to be quicker; never.")] = "auto",
    bootstrap_set: Annotated[str | None, typer.Option(help="The bootstrapping set to compile for, by name.")] = None,
    batch: Annotated[
        str | None, typer.Option(help="Rows that one run computes side by side, or fill for all that fit.")
    ] = None,
    algorithm: Annotated[str, typer.Option(help="Of circuits: search, annealing, scalar or tensors.")] = "search",
    effort: Annotated[str, typer.Option(help="Of the search for lanes: fast, normal or max.")] = "normal",
    seed: Annotated[int, typer.Option(help="Of the search for lanes.")] = 0,
    scale_columns: Annotated[
        bool | None, typer.Option(help="Bring columns to their own ranges before encryption; of models by need.")
    ] = None,
    trust_file: TrustFile = False,
    shape: Shapes = None,
    limit: Limits = None,
    pools: PoolsOption = "keep",
    report: Annotated[Path | None, typer.Option(help="Report to write: .html, .txt or .json.")] = None,
) -> Outcome:
    """Compile a program or a circuit to the server's plan and, beside it, the client file (no weights)."""
    client_file = output.with_suffix(".lwclient")
    data = [file for file in (weights, calibrate, labels, example, cost_table) if file is not None]
    if report is not None:
        report_ending(report, program)
    outputs = [output, client_file, *([report] if report is not None else [])]
    prepare(talk, *outputs, force=force, inputs=[Path(program.partition(":")[0]), *data])
    with talk.step("load the program"):
        allowed = limits_of(limit or [])
        found = load_program(program, trust=trust_file, shapes=shape, limits=allowed, pools=pools)
    with ProgressBar("compiling") as bar:
        model = compile_program(
            found,
            weights=read_arrays(weights, allowed) if weights else {},
            calibrate=read_values(calibrate, allowed) if calibrate else None,
            labels=read_values(labels, allowed) if labels else None,
            example=read_values(example, allowed) if example else None,
            precision_bits=precision_bits,
            degree=degree,
            agreement=agreement,
            tolerance=tolerance,
            ring_degree=ring_degree,
            security_bits=security_bits,
            insecure=insecure,
            cost_table=cost_table,
            network=read_network(network),
            key_price=key_price,
            on_event=talk.listener(bar),
            progress=False,  # the bar is shown from the start
            scheme=scheme,
            plain_bits=plain_bits,
            plain_modulus=plain_modulus,
            wraps=wraps,
            scale_columns=scale_columns,
            margin=margin,
            bootstrap=bootstrap,
            bootstrap_set=bootstrap_set,
            batch=int(batch) if batch is not None and batch.isdecimal() else batch,
            algorithm=algorithm,
            effort=effort,
            seed=seed,
        )
    with talk.step("write the files"):
        model.save(output)
        model.client().save(client_file)
        if report is not None:
            model.report().save(report)
    chain = model.plan.chain
    facts = {
        "plan": str(output),
        "client": str(client_file),
        "report": None if report is None else str(report),
        "program": model.plan.client.name,
        "scheme": chain.scheme,
        "ring_degree": chain.ring_degree,
        "num_evaluation_keys": len(model.plan.keys),
        "rows": model.plan.client.rows,
        "insecure": chain.insecure,
    }
    wrote = [f"wrote {output} (for the server) and {client_file} (for the client)"]
    return Outcome(facts, (str(model), *wrote, *([f"wrote {report}"] if report is not None else [])))


def read_network(text: str) -> str | float:
    """A number where the text is one, else the text, which compiling then refuses or knows."""
    try:
        return float(text)
    except ValueError:
        return text
