"""Run a plan on slot vectors, without any ciphertext: the plan's oracle.

Levels, scales and degrees are checked first, values are checked
against the modulus that has to hold them, and noise can be drawn as modelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.plan.analysis.simulation import Item, OnValue, Simulation, Slots
from latticework.plan.analysis.simulation_bfv import BfvSimulation
from latticework.plan.instructions.register_kinds import CipherKind
from latticework.plan.parameters import step_noise as model
from latticework.plan.schema.schema import IndexInput, Plan
from latticework.values.chinese_remainders import from_residues, to_residues
from latticework.values.packing.slot_arrays import as_value

__all__ = ["OnValue", "simulate", "simulate_slots"]


def simulate(
    plan: Plan,
    inputs: Sequence[npt.ArrayLike | int],
    *,
    noise: np.random.Generator | None = None,
    public_key: bool = False,
    on_value: OnValue | None = None,
    into_bootstraps: bool = False,
    noise_factor: float = 1.0,
) -> list[npt.NDArray[Any]]:
    """Packed outputs of a plan, decoded to tensors: float64, or for BFV int64, exact modulo t, nearest to zero.

    inputs      a tensor per secret input, an int per index input, in order; or stacks of tensors (runs, ...) that are
                run side by side, and give stacks of outputs; rows of a batch go together
    noise       draw every step's noise from this generator; None: exact arithmetic, which that of BFV always is
    public_key  inputs are encrypted under the public key, which is noisier than under the secret key
    on_value    called with (register, value) for every ciphertext of basis Q, value of shape (slots,) or
                (runs, slots); (count, slots) or (runs, count, slots) where there are several vectors
    into_bootstraps  follow the code of bootstraps, as a check: each takes up to seconds, and is one step otherwise
    noise_factor  of all noise that is drawn
    raises      LevelError, ScaleError, ShapeError or IrError where the code breaks the rules of its instructions,
                RangeError where a value is too large for its modulus, or a trip count for its loop
    """
    if plan.chain.has_wide_integers:
        return _simulate_by_residues(plan, inputs)
    run: Simulation = (
        BfvSimulation(plan, on_value)
        if plan.chain.scheme == "bfv"
        else Simulation(plan, noise, on_value, into_bootstraps=into_bootstraps)
    )
    run.noise_factor = noise_factor
    fresh = model.public_encryption(plan.chain) if public_key else model.symmetric_encryption()
    arguments: list[Item] = []
    items: int | None = None
    for spec, value in zip(plan.client.inputs, inputs, strict=True):
        if isinstance(spec, IndexInput):
            arguments.append(int(value))  # type: ignore[arg-type]
        else:
            items = items if np.shape(value) == spec.shape else len(value)  # type: ignore[arg-type]
            packed: Slots = spec.pack_values(value).astype(run.dtype)
            arguments.append(run.noisy(packed[..., None, :] if spec.pack.count == 1 else packed, fresh, spec.scale))
    results = run.run(arguments)
    return [
        run.decode(spec.unpack_values(np.real(as_value(result)), items))  # type: ignore[arg-type]
        for spec, result in zip(plan.client.outputs, results, strict=True)
    ]


def _simulate_by_residues(plan: Plan, inputs: Sequence[npt.ArrayLike | int]) -> list[npt.NDArray[Any]]:
    """The outputs of a plan with several plaintext moduli: int64, or Python's integers where that may not hold them."""
    moduli = plan.chain.plain_moduli
    arrays = [np.asarray(value) for value in inputs]
    runs = [
        simulate(plan.modulo(number), [to_residues(array, modulus) for array in arrays])
        for number, modulus in enumerate(moduli)
    ]
    return [
        from_residues(residues, moduli, is_small=output.magnitude < 2.0**63)
        for output, residues in zip(plan.client.outputs, zip(*runs, strict=True), strict=True)
    ]


def simulate_slots(
    plan: Plan, inputs: Sequence[npt.ArrayLike], *, noise: np.random.Generator | None = None
) -> list[Slots]:
    """Slot vectors of a plan's outputs, complex where they are; inputs are slot vectors too, freshly encrypted, or
    arrays of them (count, slots).

    noise  draws a secret too, which makes some slots noisier than others at every step
    """
    run = Simulation(plan, noise, None)
    run.draws_secret = noise is not None
    run.dtype = np.complex128
    kinds = [plan.kind(r) for r in plan.blocks[0].arguments]
    cipher_kinds = [k for k in kinds if isinstance(k, CipherKind)]
    fresh = model.symmetric_encryption()
    items: list[Item] = [
        run.noisy(np.asarray(x, dtype=np.complex128).reshape(kind.count, kind.slots), fresh, kind.scale)
        for x, kind in zip(inputs, cipher_kinds, strict=True)
    ]
    return [as_value(np.asarray(value)) for value in run.run(items)]
