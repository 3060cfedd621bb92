"""Constants of a plan that are encoded ahead of runs, in a file that servers of one machine share.

The file is never needed: a server without it encodes the same bytes, and one whose memory is too small for all of it
takes what spares most time a byte. It holds words of a backend as they are, so it is bound to the plan, the build of
the library, the backend and the instruction set (`cpp/exec/prepared_constants.hpp`).
"""

from __future__ import annotations

import os
from functools import cache, partial
from pathlib import Path

from latticework.errors import UserError
from latticework.plan.analysis.kept_constants import encodings, uses_of_constants
from latticework.plan.analysis.trip_counts import TripCounts
from latticework.plan.cost import CostModel
from latticework.plan.files.code_file import encode_code
from latticework.plan.files.serialise import plan_id
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.plan.schema.schema import Plan
from latticework.runtime.options import ServerPlace, open_context
from latticework.runtime.server.constant_sources import map_products, slot_vector
from latticework.values.extension import _core
from latticework.values.inputs.machine_memory import machine_bytes

WORKING_BYTES = 2**29  # of constants that stay in memory while a file is written


def prepare_constants(plan: Plan, path: str | Path, *, threads: int = 0) -> int:
    """Encode all constants of a plan and write them to a file, which replaces one that is there; return its bytes.

    Whole plaintexts are left out beyond what this machine has memory for, which no server of it could hold.

    raises  UserError for a plan that has none; OSError where there is no room, and then no file
    """
    _check_one_modulus(plan, path)
    if not plan.constants:
        raise UserError(f"program {plan.client.name} has no constants, so there is nothing to prepare")
    core_plan = _core.Plan(core_parameters(plan.chain), encode_code(plan))
    return _core.prepare(
        path,
        open_context(plan.chain, None, threads),
        core_plan,
        partial(slot_vector, plan),
        partial(map_products, plan),
        plan_id(plan),
        build_of_core(),
        WORKING_BYTES,
        uses_of_constants(plan, encodings(plan, TripCounts(plan), CostModel.load())),
        machine_bytes(),
    )


def _check_one_modulus(plan: Plan, path: str | Path) -> None:
    if plan.chain.has_wide_integers:
        raise UserError(
            f"program {plan.client.name}: prepared={os.fspath(path)!r} would hold constants modulo one plaintext "
            f"modulus, and integers= takes {len(plan.chain.plain_moduli)}: leave it out"
        )


def check_prepared(path: str | Path | None, plan: Plan, place: ServerPlace) -> None:
    """Refuse a file for a device, and for several plaintext moduli.

    raises  UserError
    """
    if path is not None:
        _check_one_modulus(plan, path)
    if path is not None and place.device is not None:
        raise UserError(
            f"program {plan.client.name}: prepared={os.fspath(path)!r} is for a server on the host, and "
            f"device={place.device.name!r} encodes by itself: leave it out"
        )


def open_prepared(
    path: str | Path, plan: Plan, context: _core.Context, budget_bytes: int = 1 << 62
) -> _core.PreparedConstants:
    """Constants that `prepare_constants` wrote, as many as the budget holds, in memory that processes share, every one
    verified.

    raises  ParameterMismatchError for those of another plan, build, backend or instruction set; FormatError for a file
            that is damaged or of another kind; SecurityError for one that another user may write
    """
    return _core.open_prepared(path, context, plan_id(plan), build_of_core(), budget_bytes)


@cache
def build_of_core() -> str:
    """A name of this build of the core, which another may have to encode otherwise."""
    return bytes(_core.blake3(Path(_core.__file__).read_bytes())).hex()[:16]
