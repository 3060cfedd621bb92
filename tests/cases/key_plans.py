"""Plans by chance whose code uses keys in every way: loops in loops, branches, calls, run-time integers, levels, tracks.

Only what decides about keys is real: registers hold ciphertexts of every level, and instructions read any of them.
"""

from dataclasses import replace

from tiny_plans import PACK, counted_plan, reads

from latticework.plan.instructions.executable import Instruction, PlanBlock
from latticework.plan.instructions.register_kinds import CipherKind, DigitsKind, IndexKind, KeyKind, PlainKind
from latticework.plan.parameters import ModulusChain, Track
from latticework.plan.schema.schema import IndexInput, SecretInput, SourceLocation
from latticework.values.packing.key_manifest import KeySpec, galois_element

N = 1024
CHAIN = ModulusChain(
    ring_degree=N,
    primes=tuple((1 << 40) + 2 * i + 1 for i in range(7)),
    special=((1 << 48) - 59, (1 << 48) - 57),
    digits=((0, 1), (2, 3), (4, 5, 6)),
    tracks=(
        Track(((0,), (1,), (2, 3), (4,), (5,)), (2.0**30,) * 5),
        Track(((0,), (4, 6)), (2.0**30,) * 2),
    ),
)
PLACES = [(0, level) for level in range(5)] + [(1, 0), (1, 1)]
KEYS = (
    KeySpec("relin", 0, 0, 4),
    *(KeySpec("galois", galois_element(steps, N), 0, 4) for steps in (1, 2, 3)),
    *(KeySpec("galois", galois_element(steps, N), 1, 1) for steps in (1, 7)),
    KeySpec("to_sparse", 0, 0, 0),
    KeySpec("to_dense", 0, 0, 3),
)
LOCATIONS = tuple(SourceLocation("program.py", line, f"line {line}") for line in range(1, 9))
CALLABLE = 2  # blocks that calls may name, each those after it


class PlanMaker:
    """Writes code of about so many instructions in a block, loops of at most so many turns.

    known  every branch is one that is known before the run
    """

    def __init__(self, rng, *, known=True, most_turns=4, most_code=4):
        self.rng, self.known, self.most_turns, self.most_code = rng, known, most_turns, most_code
        self.kinds, self.blocks = [], []
        self.x, self.n = self.register(CipherKind(16, 0, 4, 2.0**30, 1, 0)), self.register(IndexKind())
        self.values = {
            (kind, place, count): self.register(kind(16, *place, 2.0**30, 1, *([0] if kind is CipherKind else []), count=count))
            for kind in (CipherKind, DigitsKind) for place in PLACES for count in (1, 2)
        }  # fmt: skip
        self.plain = self.register(PlainKind(16, 0, 1, 2.0**30, 0))
        self.keys = [self.register(KeyKind(number)) for number in range(len(KEYS))]

    def plan(self):
        """A plan."""
        self.blocks = [None] * (1 + CALLABLE)
        for number in range(CALLABLE, 0, -1):
            self.blocks[number] = PlanBlock((), self.code(1, range(number + 1, 1 + CALLABLE), None))
        prelude = [
            Instruction("drop_level", 0, reads(self.x), (r,)) for r in (*self.values.values(), self.plain, *self.keys)
        ]
        self.blocks[0] = PlanBlock((self.x, self.n), (*prelude, *self.code(2, range(1, 1 + CALLABLE), None)))
        base = counted_plan(3)
        inputs = (SecretInput("x", (5,), PACK, 4, 2.0**30, -1.0, 1.0), IndexInput("n", self.most_turns))
        return replace(
            base, client=replace(base.client, chain=CHAIN, inputs=inputs), kinds=tuple(self.kinds),
            registers=tuple(range(len(self.kinds))), blocks=tuple(self.blocks), keys=KEYS, locations=LOCATIONS,
        )  # fmt: skip

    def register(self, kind):
        self.kinds.append(kind)
        return len(self.kinds) - 1

    def draw(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def code(self, depth, callable_blocks, counter):
        """Instructions of a block, its `yield` included."""
        made = []
        for _ in range(self.rng.integers(1, self.most_code + 1)):
            inner = self.rng.random() if depth else 1.0
            if inner < 0.25:
                self.loop(made, depth, callable_blocks)
            elif inner < 0.4:
                self.branch(made, depth, callable_blocks, counter)
            elif callable_blocks and self.rng.random() < 0.2:
                made.append(Instruction("call", self.line(), (), (), (self.draw(*callable_blocks),)))
            else:
                made.append(self.use())
        return (*made, Instruction("yield", 0, (), ()))

    def line(self):
        return int(self.rng.integers(len(LOCATIONS)))

    def block(self, arguments, code):
        self.blocks.append(PlanBlock(arguments, code))
        return len(self.blocks) - 1

    def integer(self, made, value):
        register = self.register(IndexKind())
        made.append(Instruction("iconst", 0, (), (register,), (int(value),)))
        return register

    def loop(self, made, depth, callable_blocks):
        counter = self.register(IndexKind())
        trips = (
            self.n
            if self.rng.random() < 0.3 and depth == 2
            else self.integer(made, self.rng.integers(self.most_turns + 1))
        )
        body = self.block((counter,), self.code(depth - 1, callable_blocks, counter))
        made.append(Instruction("for", self.line(), reads(trips), (), (body, self.most_turns)))

    def branch(self, made, depth, callable_blocks, counter):
        if counter is None or self.known:
            condition = self.integer(made, self.rng.integers(2))
        else:
            condition, bound = self.register(IndexKind()), self.integer(made, self.rng.integers(self.most_turns))
            made.append(Instruction("ilt", 0, reads(counter, bound), (condition,)))
        branches = [self.block((), self.code(depth - 1, callable_blocks, counter)) for _ in range(2)]
        made.append(Instruction("if", self.line(), reads(condition), (), tuple(branches)))

    def use(self):
        """An instruction that reads keys, of values of any level that these have."""
        op = self.draw(
            "rotate", "rotate", "relinearize", "key_product", "diag_sums", "diag_sums", "to_sparse", "mod_raise"
        )
        place, count = self.draw(*PLACES), int(self.rng.integers(1, 3))
        galois = self.keys[1:4] if place[0] == 0 else self.keys[4:6]
        cipher = self.values[CipherKind, place, count]
        if op == "rotate":
            return self.instruction(op, (cipher, self.draw(*galois)), cipher)
        if op == "relinearize":
            cipher = self.values[CipherKind, (0, place[1]), count]
            return self.instruction(op, (cipher, self.keys[0]), cipher)
        if op == "to_sparse":
            cipher = self.values[CipherKind, (0, 0), count]
            return self.instruction(op, (cipher, self.keys[6]), cipher)
        if op == "mod_raise":
            raised = self.values[CipherKind, (0, int(self.rng.integers(4))), count]
            return self.instruction(op, (self.values[CipherKind, (0, 0), count], self.keys[7]), raised, (1,))
        digits = self.values[DigitsKind, place, count]
        if op == "key_product":
            return self.instruction(op, (digits, self.draw(*galois)), cipher)
        used = self.rng.permutation(galois)[: self.rng.integers(1, len(galois) + 1)].tolist()
        terms = [(baby, 0) for baby in range(len(used) + 1)]
        immediate = (len(used), 1, *(number for term in terms for number in term))
        return self.instruction(op, (digits, *used, *[self.plain] * len(terms)), cipher, immediate)

    def instruction(self, op, operands, result, immediate=()):
        """Results are registers of their own, which nothing reads."""
        kind = self.kinds[result]
        return Instruction(op, self.line(), reads(*operands), (self.register(kind),), immediate)
