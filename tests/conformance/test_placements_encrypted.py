"""Random operations on tensors that lie anyhow, in random placements: encrypted, run and decrypted they are NumPy's.

At insecure parameters of N = 2^11. Every operation has its turn, every conversion by any recipe that applies.
"""

import numpy as np
import pytest
from test_lowering import LOWERED, Fixed, lying_anyhow, masks, module_of

from latticework.compiler.assemble import to_plan
from latticework.compiler.layout_choice import slots_needed
from latticework.compiler.levels import program_depth
from latticework.compiler.pass_order import VECTOR_PASSES
from latticework.compiler.stage_results import TracedProgram, Vectors
from latticework.compiler.vector_levels import to_levels, to_primitives
from latticework.ir import run_passes
from latticework.plan.parameters import Need, build_chain
from latticework.plan.schema.placement_record import LayoutRecord
from latticework.runtime.client.client import Client
from latticework.runtime.server.server import Server
from latticework.tensor.layout import LayoutRules, assign_layouts
from latticework.tensor.ops.choices import choices
from latticework.tensor.ops.lower import lower_to_vectors

RING_DEGREE, SCALE_BITS, HEADROOM_BITS = 2048, 40, 16
CASES = 50
OPS = [op for op in LOWERED if op.name != "trivial"]


def random_case(op, rng):
    """One use of an operation: its module, its secret inputs, what NumPy says, and where all of it lies."""
    case = op.random_case(rng, 64)
    secret = masks(op, case)[int(rng.integers(len(masks(op, case))))]
    module = module_of(op, case, secret)
    slots = max(slots_needed(module) >> (0 if op.name == "prod" else int(rng.integers(0, 3))), 1)
    lying = {value: lying_anyhow(value.type.shape, slots, rng) for value in module.inputs}
    used = next(o for o in module.body.ops if o.name == op.spec.name)
    offered = list(choices(used, [lying.get(v) for v in used.operands], LayoutRules(slots)))
    placement = offered[int(rng.integers(len(offered)))]
    arrays = [array for array, hidden in zip(case.inputs, secret, strict=True) if hidden]
    return module, arrays, case.expression(*case.inputs), Fixed(lying, {used: placement}, rng), slots


def planned(module, arrays, decisions, slots):
    """The plan of a module whose layouts are decided."""
    placed = assign_layouts(module, decisions)
    lowered, tensors, positions = lower_to_vectors(placed)
    made = run_passes(lowered, VECTOR_PASSES)
    ends = placed.inputs, placed.body.terminator.operands
    packs = (tuple(v.type.layout.pack_map(v.type.shape) for v in values) for values in ends)
    why = LayoutRecord(0, 1e9, (), ())
    vectors = Vectors(placed, made, tensors, positions, program_depth(made), slots, *packs, why)
    need = Need(vectors.depth, slots, SCALE_BITS, HEADROOM_BITS)
    chain = build_chain(RING_DEGREE, need, 2, insecure=True)
    samples = [dict(zip(module.input_names, arrays, strict=True))]
    nothing = [0.0] * len(module.outputs)
    traced = TracedProgram(module, [], nothing, nothing)
    return to_plan("case", traced, vectors, to_primitives(to_levels(vectors), chain), samples, 12.0, set())


@pytest.mark.parametrize("seed", range(CASES))
def test_placements_encrypted_equal_numpy(seed):
    rng = np.random.default_rng(seed)
    op = OPS[seed % len(OPS)]
    module, arrays, expected, decisions, slots = random_case(op, rng)
    plan = planned(module, arrays, decisions, slots)
    client = Client(plan.client, threads=1, allow_insecure=True)
    server = Server(plan, client.keygen().public(), threads=1)
    found = client.decrypt(server(client.encrypt(*arrays)))["y"].reveal()
    scale = max(1.0, float(np.max(np.abs(expected))))
    ((_, placement),) = decisions.chosen.items()
    np.testing.assert_allclose(found, expected, atol=2e-4 * scale, err_msg=f"{op.name} by {placement}")
