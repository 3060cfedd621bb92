"""Plans small enough to be counted by hand: three levels of one prime each, digits of two and one limbs."""

from dataclasses import replace

import numpy as np

from latticework.plan.instructions.executable import Instruction, PlanBlock, RegisterOperand
from latticework.plan.instructions.register_kinds import CipherKind, IndexKind, KeyKind, PlainKind
from latticework.plan.parameters import ModulusChain, Track
from latticework.plan.schema.schema import (
    Approximation,
    ClientSpec,
    IndexInput,
    Output,
    Plan,
    SecretInput,
    SourceLocation,
    TensorValue,
)
from latticework.values.packing.key_manifest import KeyManifest, KeySpec, KeyUse, galois_element
from latticework.values.packing.pack import GAP, REPEAT, PackDim, PackMap
from latticework.values.packing.packed_constants import Access, ConstRef, LoopNest

N = 1024
CHAIN = ModulusChain(
    ring_degree=N,
    primes=((1 << 40) - 87, (1 << 30) + 7, (1 << 30) + 9),
    special=((1 << 48) - 59,),
    digits=((0, 1), (2,)),
    tracks=(Track(((0,), (1,), (2,)), (2.0**30,) * 3),),
)
PACK = PackMap((5,), 16, (PackDim(REPEAT, 2), PackDim(0, 8)))
TOP, DEG2 = CipherKind(16, 0, 2, 2.0**30, 1, 0), CipherKind(16, 0, 2, 2.0**60, 2, 0)
SQUARED, DOWN = CipherKind(16, 0, 2, 2.0**60, 1, 0), CipherKind(16, 0, 1, 2.0**30, 1, 0)
PLAIN, INDEX, RELIN, GALOIS = PlainKind(16, 0, 1, 2.0**30, 0), IndexKind(), KeyKind(0), KeyKind(1)
KINDS = (TOP, DEG2, SQUARED, DOWN, PLAIN, INDEX, RELIN, GALOIS)
KEYS = (KeySpec("relin", 0, 0, 2), KeySpec("galois", galois_element(1, N), 0, 2))
CONSTANT = ConstRef(LoopNest((5,), PACK, Access((5,), ((1,),), (0,)), "w", Access((5,), ((1,),), (0,))))
LOCATIONS = (
    SourceLocation("program.py", 3, "h = lw.for_loop(3, body, x)"),
    SourceLocation("program.py", 4, "return h * w"),
)


def reads(*registers):
    return tuple(RegisterOperand(r) for r in registers)


def make_plan(registers, blocks, inputs=None, *, name="tiny", chain=CHAIN, tensors=("x", "h"), locations=LOCATIONS):
    """A plan with these register kinds and code; one secret input unless others are given."""
    given = (SecretInput("x", (5,), PACK, 2, 2.0**30, -1.0, 1.0),) if inputs is None else inputs
    yielded = blocks[0].code[-1].operands[0].register
    manifest = KeyManifest(
        tuple(KeyUse(k, 1 if k.kind == "galois" else None, 1) for k in KEYS), (30_000, 30_000), (131_072, 131_072),
        (148.0, 148.0), 26,
    )  # fmt: skip
    client = ClientSpec(
        name,
        chain,
        given,
        (Output("y", (5,), PACK, registers[yielded].level, 2.0**30, 1e-6, 2.0, 0.01),),
        manifest,
        12.0,
    )
    return Plan(
        client, KINDS, tuple(KINDS.index(kind) for kind in registers), tuple(blocks), KEYS, (CONSTANT,),
        {"w": np.arange(5.0)}, locations,
        tuple(TensorValue(i, t, 0, PACK, 0.0) for i, t in enumerate(tensors)), {},
        (Approximation("relu", 0, -2.0, 2.0, 15, 0.04, True),),
        tuple((t, str(PACK.shape), str(PACK)) for t in tensors),
    )  # fmt: skip


def loop_plan(**options):
    """Three turns of h + rotate(h, 1), then relinearized square, rescale, times a constant."""
    registers = (TOP, GALOIS, INDEX, TOP, INDEX, TOP, TOP, TOP, DEG2, RELIN, SQUARED, DOWN, PLAIN, DOWN)
    body = PlanBlock(
        (0,),
        (
            Instruction("key", 0, (), (1,), (1,)),
            Instruction("iconst", 0, (), (2,), (3,)),
            Instruction("for", 0, reads(2, 0), (3,), (1, 3)),
            Instruction("square", 1, reads(3), (8,)),
            Instruction("key", 1, (), (9,), (0,)),
            Instruction("relinearize", 1, reads(8, 9), (10,)),
            Instruction("mod_down", 1, reads(10), (11,)),
            Instruction("encode", 1, (), (12,), (0,)),
            Instruction("mul_plain", 1, reads(11, 12), (13,)),
            Instruction("yield", 1, reads(13), ()),
        ),
    )
    turn = PlanBlock(
        (4, 5),
        (
            Instruction("rotate", 0, reads(5, 1), (6,)),
            Instruction("add", 0, reads(6, 5), (7,)),
            Instruction("yield", 0, reads(7), ()),
        ),
    )
    return make_plan(registers, (body, turn), **options)


def counted_plan(limit):
    """`for n: h + h` with a run-time n."""
    registers = (TOP, INDEX, TOP, INDEX, TOP, TOP)
    body = PlanBlock(
        (0, 1),
        (
            Instruction("for", 0, reads(1, 0), (2,), (1, (1 << 63) - 1 if limit is None else limit)),
            Instruction("yield", 0, reads(2), ()),
        ),
    )
    turn = PlanBlock((3, 4), (Instruction("add", 0, reads(4, 4), (5,)), Instruction("yield", 0, reads(5), ())))
    inputs = (SecretInput("x", (5,), PACK, 2, 2.0**30, -1.0, 1.0), IndexInput("n", limit))
    return make_plan(registers, (body, turn), inputs)


def insecure(plan):
    """The same plan, marked as asked for with insecure=True."""
    return replace(plan, client=replace(plan.client, chain=replace(plan.chain, insecure=True)))


GAPPED = PackMap((3, 3), 64, (PackDim(GAP, 4), PackDim(0, 4), PackDim(1, 4)))
