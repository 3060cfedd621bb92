"""HEIR's text of a program, lowered by heir-opt to OpenFHE's dialect, and read back by ours where we read that."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np

import latticework as lw
from bench.export.agreement import Failed, farthest
from bench.export.programs import Case
from bench.peers.environments import Peer, environment, variables
from bench.rows import Row
from latticework.errors import UnsupportedError, UserError
from latticework.model import check_inputs
from latticework.plan.analysis.simulate import simulate
from latticework.plan.export.lift_plan import lift_plan
from latticework.values.packing.slot_arrays import as_vectors

HEIR = Peer("heir", ("heir-py==2026.10.1",), ("3.11", "3.12", "3.13"), "heir", "")
NOT_READ = "operations that are not read"  # `lw.from_heir` of rotations that share their digits
NEAR = 1e-9
REAL = lw.Techniques(complex_packing=False)


def row(name: str, case: Case, folder: Path) -> Row:
    """Whether heir-opt lowers a program; and by how much the lowered text is off the plan, where ours reads it."""
    title, facts = f"heir, {name}", {"required": True, "better": "lower"}
    try:
        options = case.options if case.options.get("scheme") == "bfv" else {**case.options, "techniques": REAL}
        model = lw.compile(case.program, **options)
        model.export("heir", folder)
    except UnsupportedError as error:
        return Row(title, "lowered text off the plan by", "", None, note=f"refused: {error}")
    try:
        lowered = lower(folder)
        error, note = difference(model, case, folder, lowered)
    except Failed as error:
        return Row(title, "lowered text off the plan by", "", None, note=str(error), **facts)  # type: ignore[arg-type]
    return Row(title, "lowered text off the plan by", "", error, target=None if error is None else NEAR,
               checked=error is None or error <= NEAR, note=note)  # fmt: skip


def lower(folder: Path) -> Path:
    """heir-opt's text of what is in a folder, by the command that its README gives.

    raises  Failed
    """
    command = re.search(r"heir-opt (.*) program\.mlir", (folder / "README.md").read_text())
    assert command is not None
    program, lowered = environment(HEIR).with_name("heir-opt"), folder / "lowered.mlir"
    words = [str(program), *command[1].split(), str(folder / "program.mlir"), "-o", str(lowered)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=variables())
    if done.returncode:
        raise Failed((done.stderr.strip().splitlines() or ["nothing said"])[0])
    return lowered


def difference(model: lw.Model, case: Case, folder: Path, lowered: Path) -> tuple[float | None, str | None]:
    """How far the lowered text, run in the clear on slot vectors, is off the plan; None with why it was not read."""
    if model.plan.chain.plain_modulus:
        return None, "lowered; lw.from_heir reads CKKS"
    try:
        program = lw.from_heir(lowered)
    except UserError as error:
        if NOT_READ not in str(error):
            raise
        return None, "lowered; lw.from_heir does not read rotations that share digits"
    values, _ = check_inputs(model.plan.client, (), dict(case.inputs))
    inputs = zip(model.plan.client.secret_inputs, values, strict=True)
    vectors = [vector for spec, value in inputs for vector in as_vectors(spec.pack_values(value))]
    slots = lift_plan(model.plan).slots
    found = program(*(np.tile(vector, slots // len(vector)) for vector in vectors))
    arrays = list(found) if isinstance(found, tuple) else [found]
    ends = []
    with np.load(folder / "packing.npz") as places:
        for output in model.plan.client.outputs:
            joined = np.concatenate([arrays.pop(0) for _ in range(output.pack.count)])
            ends.append(joined[places[f"places of {output.name}, first"]])
    return farthest(ends, [np.reshape(array, -1) for array in simulate(model.plan, values)]), None
