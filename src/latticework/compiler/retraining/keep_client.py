"""Give a plan the client file of the model that it was compiled like, where that holds, and say what it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from latticework.compiler.retraining.old_model import OldModel
from latticework.compiler.retraining.same_client import find_differences, find_missing
from latticework.plan.files.serialise import interface_id
from latticework.plan.instructions.executable import Instruction, PlanBlock
from latticework.plan.instructions.load_constants import KEY
from latticework.plan.instructions.register_kinds import KeyKind
from latticework.plan.schema.kept_parts import KeptParts
from latticework.plan.schema.schema import Plan
from latticework.values.packing.key_manifest import KeySpec, serving_key


def keep_client(plan: Plan, old: OldModel, notes: tuple[str, ...] = ()) -> Plan:
    """The plan with the old client part, if all of that is true of it; in any case with a record of what is kept.

    notes  on what was relaxed for it
    """
    why = tuple(find_differences(old.client, plan.client))
    missing = len(find_missing(old.client, plan.client))
    kept = KeptParts(old.client.name, interface_id(old.client), not why, why, missing, len(plan.keys), notes)
    if why:
        return replace(plan, kept=kept)
    return replace(with_keys(plan, old.keys), client=old.client, kept=replace(kept, num_keys=len(old.keys)))


def with_keys(plan: Plan, keys: Sequence[KeySpec]) -> Plan:
    """The plan with other keys, that serve it, in the place of its own; used or not, they are in its manifest."""
    number = {old: serving_key(spec, keys, plan.chain.covers) for old, spec in enumerate(plan.keys)}
    kinds = [KeyKind(number[kind.key]) if isinstance(kind, KeyKind) else kind for kind in plan.kinds]
    unique = tuple(dict.fromkeys(kinds))

    def renumber(instruction: Instruction) -> Instruction:
        if instruction.op != KEY.name:
            return instruction
        return replace(instruction, immediate=(number[instruction.immediate[0]],))

    return replace(
        plan,
        keys=tuple(keys),
        kinds=unique,
        registers=tuple(unique.index(kinds[kind]) for kind in plan.registers),
        blocks=tuple(PlanBlock(block.arguments, tuple(map(renumber, block.code))) for block in plan.blocks),
    )
